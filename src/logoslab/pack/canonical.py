"""Canonical JSON of long columns, the bytes that ``rfc8785`` makes, at the speed of C.

A column is a list of texts, of whole numbers or of floats (with None among them). Anything else
goes through ``rfc8785`` as it is.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, Final

from logoslab.pack.base import canonical_json

SAFE: Final = 2**53 - 1
"""The largest whole number that RFC 8785 writes."""


def column_bytes(values: Sequence[Any]) -> bytes:
    """Canonical JSON of a list, equal to ``canonical_json(list(values))``.

    Raises
    ------
    InvalidValue
        As :func:`logoslab.pack.base.canonical_json`.
    """
    kinds = set(map(type, values))
    if kinds == {str}:
        # For text, JSON's escapes are RFC 8785's; what UTF-8 cannot hold is refused below.
        try:
            return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
        except UnicodeEncodeError:
            return canonical_json(list(values))
    if kinds <= {float, int, type(None)}:
        # Equal numbers are written alike, also 1 and 1.0, and columns have few different ones.
        written = {value: _number(value) for value in set(values)}
        return b"[" + ",".join(map(written.__getitem__, values)).encode() + b"]"
    return canonical_json(list(values))


def _number(value: float | None) -> str:
    """One number. ``repr`` without an exponent is what ECMAScript prints, but for the ``.0``."""
    if value is None:
        return "null"
    text = repr(value)
    if type(value) is int and abs(value) <= SAFE:
        return text
    if type(value) is float and "e" not in text and math.isfinite(value):
        return "0" if value == 0 else text.removesuffix(".0")
    return canonical_json(value).decode()
