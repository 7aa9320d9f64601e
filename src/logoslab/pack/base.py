"""Frozen values and their digests.

Every value in logoslab is a frozen Pydantic model. A digest is ``sha256:`` plus the hex SHA-256
of the value's canonical JSON (RFC 8785), so that equal values have equal digests on any machine.
"""

from __future__ import annotations

import hashlib
from typing import Any, Self

import rfc8785
from pydantic import BaseModel, ConfigDict, ValidationError

from logoslab.errors import InvalidValue

Json = Any
"""A JSON value: None, bool, number, string, list or mapping of these."""


def canonical_json(value: Json) -> bytes:
    """Canonical bytes of a JSON value (RFC 8785).

    Raises
    ------
    InvalidValue
        For NaN, infinities, integers beyond 2**53 or anything that is not JSON.
    """
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, TypeError, UnicodeEncodeError) as cause:
        raise InvalidValue(
            "canonical_json",
            got=value,
            allowed="JSON values with finite numbers and integers below 2**53",
            next_step="Convert the offending value to a string first.",
        ) from cause


def digest_bytes(data: bytes) -> str:
    """``sha256:<hex>`` of raw bytes."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def digest(value: Json) -> str:
    """``sha256:<hex>`` of a JSON value's canonical form."""
    return digest_bytes(canonical_json(value))


def first_error_of(error: ValidationError) -> str:
    """The first thing that is wrong, as ``a.b: message``; without a field the message alone."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"{where}: {first['msg']}" if where else first["msg"]


class Frozen(BaseModel):
    """A value: immutable, strict about unknown fields, digestible."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @property
    def digest(self) -> str:
        """Digest of the whole value."""
        return digest(self.model_dump(mode="json"))

    def replace(self, **changes: Json) -> Self:
        """A new value with some fields changed, validated again (``model_copy`` would not)."""
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_validate({**kept, **changes})
