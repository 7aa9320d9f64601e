"""One valid value of a JSON schema, small and deterministic; checked before it is handed out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from logoslab.pack.schema import fits

FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "someone@example.org",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "uri": "https://example.org/",
    "ipv4": "192.0.2.1",
}
MAX_DEPTH = 12


class NoExample(ValueError):
    """No value could be made that fits the schema."""


def example(schema: object, given: Mapping[str, Any] | None = None) -> Any:
    """A value that fits, with ``given`` properties used where they are named and fit.

    Raises
    ------
    NoExample
        When what was made does not fit (a pattern, ``not``, contradictory bounds…).
    """
    value = _make(schema, given or {}, 0)
    if not fits(value, schema):
        raise NoExample(f"no example for {str(schema)[:200]}")
    return value


def _make(schema: Any, given: Mapping[str, Any], depth: int) -> Any:
    if not isinstance(schema, dict) or depth > MAX_DEPTH:
        return None
    for source in ("const", "example", "default"):
        if source in schema:
            return schema[source]
    for several in ("enum", "examples"):
        if isinstance(schema.get(several), list) and schema[several]:
            return schema[several][0]
    if isinstance(schema.get("allOf"), list):
        return _merged(schema, given, depth)
    for choice in ("oneOf", "anyOf"):
        if isinstance(schema.get(choice), list) and schema[choice]:
            return _make(schema[choice][0], given, depth + 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object" or "properties" in schema:
        return _object(schema, given, depth)
    if kind == "array":
        least = schema.get("minItems", 0)
        count = min(least, 20) if isinstance(least, int) else 0
        return [_make(schema.get("items"), given, depth + 1) for _ in range(count)]
    return _scalar(kind, schema)


def _object(schema: dict[str, Any], given: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """Required properties, and optional ones whose value is given."""
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    needed = [str(name) for name in required] if isinstance(required, list) else []
    value = {}
    for name in dict.fromkeys([*needed, *properties]):
        part = properties.get(name, {})
        if name in given and fits(given[name], part):
            value[name] = given[name]
        elif name in needed:
            value[name] = _make(part, given, depth + 1)
    return value


def _merged(schema: dict[str, Any], given: Mapping[str, Any], depth: int) -> Any:
    parts = [_make(part, given, depth + 1) for part in schema["allOf"]]
    rest = {key: value for key, value in schema.items() if key != "allOf"}
    parts += [_make(rest, given, depth + 1)] if rest.get("properties") else []
    if all(isinstance(part, dict) for part in parts):
        return {key: value for part in parts for key, value in part.items()}
    return next((part for part in parts if part is not None), None)


def _scalar(kind: Any, schema: dict[str, Any]) -> Any:
    if kind in ("integer", "number"):
        low, high = schema.get("minimum"), schema.get("maximum")
        return low if low is not None else min(1, high) if isinstance(high, int | float) else 1
    if kind == "boolean":
        return True
    if kind == "null":
        return None
    if schema.get("format") in FORMATS:
        return FORMATS[schema["format"]]
    if isinstance(schema.get("pattern"), str):
        return _matching(schema["pattern"])
    least = schema.get("minLength", 0)
    return "example".ljust(min(least, 500) if isinstance(least, int) else 0, "x")


def _matching(pattern: str) -> str:
    """A short text for the common part of patterns: literals, classes, groups and counts.

    What it cannot read it leaves out; ``example`` checks the outcome.
    """
    text, i = "", 0
    body = re.sub(r"\(\?:|[()^$]", "", re.sub(r"\((\?:)?([^()|]*)\|[^()]*\)", r"(\2)", pattern))
    while i < len(body):
        part = ATOM.match(body, i)
        if part is None:
            return text
        i = part.end()
        least = 1 if part["count"] in (None, "", "+") else 0
        least = int(part["least"]) if part["least"] else least
        text += _character(part["atom"]) * min(least, 200)
    return text


def _character(atom: str) -> str:
    if atom.startswith("["):
        inside = atom[1:-1].replace("\\d", "0").replace("\\w", "a").lstrip("^")
        return "a" if atom.startswith("[^") else inside.lstrip("\\")[:1]
    if atom.startswith("\\"):
        return {"d": "1", "w": "a", "s": " "}.get(atom[1], atom[1])
    return "a" if atom == "." else atom


ATOM = re.compile(
    r"(?P<atom>\[[^\]]+\]|\\.|[^\\\[\]{}*+?|])(?P<count>[*+?]|\{(?P<least>\d+)(?:,\d*)?\})?"
)
