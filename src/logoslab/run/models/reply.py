"""What a model may answer: bounds put into a schema before decoding, the check after it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from logoslab.errors import ModelReplyInvalid
from logoslab.pack.schema import first_flaw

MAX_TEXT, MAX_ITEMS, MAX_NUMBER = 120, 16, 10**9
# A string that already says how it ends needs no bound; adding one can make it unsatisfiable.
_ENDS_ITSELF = {"maxLength", "enum", "const", "pattern", "format"}
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.S)


def bounded(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """The same schema with an end to every string, number, array and object.

    A small model under an open schema writes until it is cut off, so every branch gets a bound
    where the author gave none: 120 characters, 16 items, numbers within ±10⁹, no further
    properties. Stated bounds are kept.
    """
    return {key: _bounded_part(key, value) for key, value in _with_bounds(schema).items()}


def parse_reply(
    text: str, schema: Mapping[str, JsonValue] | None, finish_reason: str | None, model: str
) -> Any:
    """The reply's JSON, valid under ``schema``; None when no schema was asked for.

    Raises
    ------
    ModelReplyInvalid
        When the reply was cut off, is not JSON or breaks the schema.
    InvalidValue
        When ``schema`` itself is not a JSON schema.
    """
    if finish_reason != "stop":
        raise ModelReplyInvalid(
            f"reply of {model}",
            got=f"finish reason {finish_reason!r} after {text!r}",
            allowed="a complete answer (finish reason 'stop')",
            next_step="Raise max_tokens, or shorten what the schema asks for.",
        )
    if schema is None:
        return None
    data = _json(text, model)
    problem = first_flaw(data, schema)
    if problem:
        raise ModelReplyInvalid(
            f"reply of {model}",
            got=f"{problem} in {text!r}",
            allowed="JSON that satisfies the requested schema",
            next_step="Simplify the schema, add an example to the skill, or use another stage.",
        )
    return data


def _json(text: str, model: str) -> Any:
    fenced = _FENCE.match(text)
    try:
        return json.loads(fenced[1] if fenced else text)
    except json.JSONDecodeError as cause:
        raise ModelReplyInvalid(
            f"reply of {model}",
            got=text,
            allowed="one JSON value and nothing else",
            next_step="Ask again, or use a model that supports constrained output.",
        ) from cause


def _with_bounds(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    kind, result = schema.get("type"), dict(schema)
    if kind == "string" and not _ENDS_ITSELF & set(schema):
        result["maxLength"] = MAX_TEXT
    if kind in {"integer", "number"} and not {"enum", "const"} & set(schema):
        if not {"minimum", "exclusiveMinimum"} & set(schema):
            result["minimum"] = -MAX_NUMBER
        if not {"maximum", "exclusiveMaximum"} & set(schema):
            result["maximum"] = MAX_NUMBER
    if kind == "array":
        result.setdefault("maxItems", MAX_ITEMS)
    if kind == "object" and "properties" in schema:
        result.setdefault("additionalProperties", False)
    return result


def _bounded_part(key: str, value: JsonValue) -> JsonValue:
    """Descend into the keywords that hold schemas; every other keyword stays as it is."""
    if key in {"properties", "$defs", "definitions"} and isinstance(value, dict):
        return {name: bounded(s) if isinstance(s, dict) else s for name, s in value.items()}
    if key in {"anyOf", "oneOf", "allOf", "prefixItems"} and isinstance(value, list):
        return [bounded(s) if isinstance(s, dict) else s for s in value]
    if key in {"items", "additionalProperties"} and isinstance(value, dict):
        return bounded(value)
    return value
