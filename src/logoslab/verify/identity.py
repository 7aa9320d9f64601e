"""Identity of what measures: source of a class or function, and what it closes over."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from logoslab.errors import InvalidValue
from logoslab.pack.base import digest


def code_digest(thing: Callable[..., Any] | object) -> str:
    """Digest of a function, a class, or the class of an object, by its source.

    Code without a source that can be read counts by its name alone. Closed-over JSON values belong
    to a function; other closed-over values count by their type.
    """
    named = thing if inspect.isclass(thing) or inspect.isfunction(thing) else type(thing)
    bound = inspect.getclosurevars(thing).nonlocals if inspect.isfunction(thing) else {}
    return digest(
        {
            "name": f"{named.__module__}.{named.__qualname__}",
            "source": _source(named),
            "bound": {name: _plain(value) for name, value in sorted(bound.items())},
        }
    )


def _source(named: Any) -> str | None:
    try:
        return inspect.getsource(named)
    except (OSError, TypeError):
        return None


def _plain(value: Any) -> str:
    try:
        return digest(value)
    except InvalidValue:
        return f"{type(value).__module__}.{type(value).__qualname__}"
