"""What the tests of this room share: the demo's paths, small documents, a built pack."""

from __future__ import annotations

import asyncio
import functools
import importlib.util
import sys
from collections.abc import Awaitable
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from logoslab.compile import DiagnosticPack, ProbeValidatedPack, build
from logoslab.pack.agent_pack import AgentPack

DEMO = Path(__file__).parents[2] / "data" / "security_exception"
SOURCES = tuple(
    DEMO / name
    for name in (
        "policy.md", "intake_form.md", "tickets.csv", "risk_matrix.xlsx", "exceptions_api_v1.yaml",
    )
)  # fmt: skip
T = TypeVar("T")


def run(work: Awaitable[T]) -> T:
    """Run one coroutine to its end."""

    async def wrapped() -> T:
        return await work

    return asyncio.run(wrapped())


def built(*paths: Path | str, brief: str = "Do the work.", **options: Any) -> Any:
    """What ``build`` makes of some files."""
    return run(build(paths, brief, **options))


@functools.cache
def demo() -> ProbeValidatedPack:
    """The demo's pack, built once."""
    made = built(*SOURCES, brief=(DEMO / "brief.md").read_text())
    assert isinstance(made, ProbeValidatedPack), made
    return made


def demo_pack() -> AgentPack:
    """The pack itself."""
    return demo().pack


@functools.cache
def generator() -> ModuleType:
    """The demo's generator script as a module."""
    spec = importlib.util.spec_from_file_location("demo_generate", DEMO / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["demo_generate"] = module
    spec.loader.exec_module(module)
    return module


def codes(made: ProbeValidatedPack | DiagnosticPack) -> list[str]:
    """The codes of a result's diagnostics."""
    return [d.code for d in made.diagnostics]


API = """openapi: 3.1.0
info: {title: Orders API, version: '1'}
servers: [{url: 'http://127.0.0.1'}]
paths:
  /orders/{order_id}/note:
    post:
      operationId: addNote
      parameters: [{name: order_id, in: path, required: true, schema: {type: string}}]
      requestBody:
        content:
          application/json:
            schema:
              type: object
              additionalProperties: false
              required: [stars]
              properties: {stars: {type: integer}, remark: {type: string}}
      responses:
        '200':
          description: stored
          content:
            application/json:
              schema:
                type: object
                required: [order_id]
                properties: {order_id: {type: string}}
"""
