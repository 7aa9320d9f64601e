"""References into earlier results: ``$inputs.x``, ``$phase.field``, ``$phase``, ``$output.x``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from logoslab.errors import PackError
from logoslab.pack.plan import Condition, ModelStep, Step

_REFERENCE = re.compile(r"^\$([a-z][a-z0-9_]*)((?:\.[A-Za-z0-9_]+)*)$")


def resolve(value: Any, known: Mapping[str, Any]) -> Any:
    """A value with every reference in it replaced; the type of what it refers to is kept.

    Parameters
    ----------
    value : JSON value
        A string is a reference when it is wholly of the form ``$name`` or ``$name.field…``;
        ``$$…`` is the literal ``$…``. Lists and mappings are searched inside.
    known : mapping
        ``inputs``, ``output`` and phase ids → results. A phase that did not run is None, and so
        is every field of it.

    Raises
    ------
    PackError
        When the name is unknown or the result has no such field.
    """
    if isinstance(value, dict):
        return {key: resolve(item, known) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [resolve(item, known) for item in value]
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if value.startswith("$$"):
        return value[1:]
    return _look_up(value, known)


def roots(value: Any) -> Iterator[str]:
    """The names that a value's references begin with, such as phase ids and ``inputs``.

    A string that begins with one ``$`` and is no reference comes whole: :func:`resolve` refuses
    it, so it must count as a name that nothing has.
    """
    if isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from roots(item)
    elif isinstance(value, str) and value.startswith("$") and not value.startswith("$$"):
        match = _REFERENCE.match(value)
        yield match[1] if match else value


def step_roots(step: Step, when: Condition | None) -> Iterator[str]:
    """The :func:`roots` of all that is resolved before or while a step runs under a condition."""
    values: list[Any] = [when.ref] if when else []
    if isinstance(step, ModelStep):
        values.append(step.text)
        values += [inner.arguments for inner in (step.check, step.solver) if inner]
    else:
        values.append(step.arguments)
    return roots(values)


def _look_up(reference: str, known: Mapping[str, Any]) -> Any:
    match = _REFERENCE.match(reference)
    if match is None or match[1] not in known:
        raise _unknown(reference, f"names {sorted(known)}")
    found = known[match[1]]
    for field in match[2].split(".")[1:]:
        if found is None:
            return None
        if not isinstance(found, Mapping) or field not in found:
            has = sorted(found) if isinstance(found, Mapping) else type(found).__name__
            raise _unknown(reference, f"a field of {has}")
        found = found[field]
    return found


def _unknown(reference: str, allowed: str) -> PackError:
    return PackError(
        "reference in execution_plan.json",
        got=reference,
        allowed=allowed,
        next_step="Correct the reference, or the tool or schema that should give the field.",
    )
