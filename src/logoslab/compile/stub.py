"""A loopback service that behaves as an OpenAPI document says. For probes, trials and tests.

It checks every body against the document, refuses unknown fields, and remembers what it
accepted, so that a test can ask what really reached the service.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self
from urllib.parse import unquote

from pydantic import JsonValue

from logoslab.compile.examples import NoExample, example
from logoslab.compile.ingest.openapi import OpenApiAdapter, Operation, operations, service_name
from logoslab.errors import SourceError
from logoslab.pack.base import Frozen
from logoslab.pack.schema import validator

MAX_BODY = 1_000_000
START_SECONDS = 10.0


class ServiceCall(Frozen):
    """One request that reached the service and how it was answered.

    ``replayed`` is True when the idempotency key was known and the stored answer was given again.
    """

    operation: str
    method: str
    path: str
    arguments: dict[str, str]
    body: JsonValue = None
    status: int
    key: str | None = None
    replayed: bool = False


class _Route(NamedTuple):
    pattern: re.Pattern[str]
    operation: Operation


class StubService:
    """``with StubService(document) as service: … service.url``.

    Attributes
    ----------
    name : str
        The service's name, as tool bindings use it.
    calls : list of ServiceCall
        Every request, in order of arrival.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.calls: list[ServiceCall] = []
        self._answered: dict[tuple[str, str, str], tuple[int, Any]] = {}
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self._port = 0
        self.switch(document)

    def switch(self, document: Mapping[str, Any]) -> None:
        """From the next request on, behave as this document says (drift). Calls are kept."""
        self.name = service_name(dict(document))
        self._routes = [
            _Route(_pattern(found.path), found)
            for found in operations(dict(document))
            if isinstance(found, Operation)
        ]
        self._answered.clear()

    @property
    def url(self) -> str:
        """The base URL, once started."""
        return f"http://127.0.0.1:{self._port}"

    def accepted(self, operation: str) -> dict[str, Any]:
        """Path arguments joined by ``/`` → the last body that this operation accepted."""
        return {
            "/".join(call.arguments.values()): call.body
            for call in self.calls
            if call.operation == operation and 200 <= call.status < 300
        }

    def clear(self) -> None:
        """Forget all calls."""
        self.calls.clear()
        self._answered.clear()

    def __enter__(self) -> Self:
        import uvicorn

        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.bind(("127.0.0.1", 0))
        self._port = listener.getsockname()[1]
        config = uvicorn.Config(self._app(), log_level="critical", lifespan="off", ws="none")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [listener]}, daemon=True
        )
        self._thread.start()
        patience = time.monotonic() + START_SECONDS
        while not self._server.started:
            if time.monotonic() > patience or not self._thread.is_alive():
                raise SourceError(
                    f"stub of service {self.name}",
                    got="a server that did not start",
                    allowed="a free loopback port",
                    next_step="Check that programs may listen on 127.0.0.1.",
                )
            time.sleep(0.005)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        if self._thread:
            self._thread.join(START_SECONDS)

    def _app(self) -> Any:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import JSONResponse
        from starlette.routing import Route

        async def answer(request: Request) -> JSONResponse:
            raw = b""
            async for chunk in request.stream():
                raw += chunk
                if len(raw) > MAX_BODY:
                    return JSONResponse({"error": "too_large"}, 413)
            key = request.headers.get("idempotency-key")
            status, body = self.answer(request.method, request.url.path, raw, key)
            return JSONResponse(body, status)

        methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]
        return Starlette(routes=[Route("/{path:path}", answer, methods=methods)])

    def answer(self, method: str, path: str, raw: bytes, key: str | None) -> tuple[int, Any]:
        """Status and JSON body for one request; the same idempotency key gets the same answer."""
        for route in self._routes:
            found = route.pattern.fullmatch(path)
            if found and route.operation.verb.upper() == method:
                break
        else:
            return 404, {"error": "not_found", "path": path}
        operation = route.operation
        names = re.findall(r"\{([^{}/]+)\}", operation.path)
        arguments = dict(zip(names, map(unquote, found.groups()), strict=True))
        again = (operation.name, path, key or "")
        body, broken = _json(raw)
        known = self._answered.get(again) if key else None
        status, reply = known or _respond(operation, arguments, body, broken)
        if key and status < 300:
            self._answered[again] = status, reply
        self.calls.append(
            ServiceCall(
                operation=operation.name,
                method=method,
                path=path,
                arguments=arguments,
                body=body,
                status=status,
                key=key,
                replayed=known is not None,
            )
        )
        return status, reply


def read_document(path: str | Path) -> dict[str, Any]:
    """The OpenAPI document of a file, checked as ingestion checks it.

    Raises
    ------
    SourceError
        When ingestion could not use it.
    """
    reading = OpenApiAdapter().read(Path(path))
    for artefact in reading.artefacts:
        if isinstance(artefact.document, dict):
            return dict(artefact.document)
    raise SourceError(
        f"API description {reading.source}",
        got="; ".join(d.message for d in reading.diagnostics),
        allowed="an OpenAPI 3 document with '#/' references only",
        next_step=reading.diagnostics[0].next_step,
    )


def _pattern(path: str) -> re.Pattern[str]:
    """The path with a group for each argument; groups are numbered, names may be anything."""
    parts = re.split(r"\{[^{}/]+\}", path)
    return re.compile("([^/]+)".join(re.escape(part) for part in parts))


def _json(raw: bytes) -> tuple[Any, bool]:
    try:
        return (json.loads(raw) if raw else None), False
    except (ValueError, RecursionError):
        return None, True


def _respond(
    operation: Operation, arguments: dict[str, str], body: Any, broken: bool
) -> tuple[int, Any]:
    if broken:
        return 400, {"error": "json"}
    schema = operation.body_schema
    if schema is not None:
        problem = _schema_error(schema, body)
        if problem:
            return 422, problem
    given = {**(body if isinstance(body, dict) else {}), **arguments}
    answer = operation.response_schema("200", "201", "202", "2XX", "default")
    try:
        return 200, example(answer, given) if answer is not None else {}
    except NoExample:
        return 501, {"error": "no_example"}


def _schema_error(schema: dict[str, Any], body: Any) -> dict[str, Any] | None:
    """What the service says about a body that does not fit: fields, and what it expects."""
    properties = schema.get("properties", {})
    fields = body if isinstance(body, dict) else {}
    missing = [name for name in schema.get("required", []) if name not in fields]
    unexpected = [name for name in fields if name not in properties]
    invalid = {
        ".".join(map(str, error.path)) or "body": error.message
        for error in validator(schema).iter_errors(body)
        if error.validator not in ("required", "additionalProperties")
    }
    if not (missing or unexpected or invalid):
        return None
    return {
        "error": "schema",
        "missing": missing,
        "unexpected": unexpected,
        "invalid": invalid,
        "expected": properties,
    }
