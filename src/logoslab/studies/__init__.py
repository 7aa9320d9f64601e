"""Studies: what rules do over many candidates, before a gate runs and on releases that happened.

``ll.studies.histories``, ``ll.studies.surface`` and so on are the pages below; each loads when it
is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["arms", "designs", "frontier", "histories", "jobs", "planner", "plans", "streams",
           "summary", "surface", "table13", "tournament"]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in __all__:
        return import_module(f"logoslab.studies.{name}")
    raise AttributeError(f"module 'logoslab.studies' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
