"""Validation against JSON Schema that opens no file or address, whatever a ``$ref`` says."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from logoslab.errors import InvalidValue


def first_flaw(value: Any, schema: Any) -> str | None:
    """What is wrong with a value, most relevant first; None when it fits.

    Raises
    ------
    InvalidValue
        When the schema is not JSON Schema 2020-12, or refers to something outside itself.
    """
    from jsonschema.exceptions import SchemaError, best_match
    from referencing.exceptions import Unresolvable

    try:
        wrong = best_match(validator(schema).iter_errors(value))
    except (SchemaError, Unresolvable, RecursionError, TypeError) as cause:
        raise InvalidValue(
            "schema",
            got=getattr(cause, "message", None) or f"{type(cause).__name__}: {str(cause)[:150]}",
            allowed="JSON Schema 2020-12 whose references stay inside it and end",
            next_step="Correct the schema.",
        ) from cause
    return None if wrong is None else f"{wrong.json_path}: {wrong.message}"


def fits(value: Any, schema: Any) -> bool:
    """Whether a value is valid; a broken schema fits nothing."""
    try:
        return first_flaw(value, schema) is None
    except InvalidValue:
        return False


def validator(schema: Any) -> Any:
    """A validator of a checked schema; equal schemas share one."""
    return _validator(json.dumps(schema, sort_keys=True))


@lru_cache(maxsize=512)
def _validator(text: str) -> Any:
    from jsonschema import Draft202012Validator
    from referencing import Registry

    schema = json.loads(text)
    Draft202012Validator.check_schema(schema)
    # Without a registry of its own, the validator would fetch remote references.
    return Draft202012Validator(schema, registry=Registry())
