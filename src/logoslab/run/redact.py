"""Keep secrets out of everything recorded."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

HIDDEN = "[redacted]"
_LOOKS_SECRET = re.compile(
    r"(^|_)(API_?KEY|KEY|PASS|PAT|CREDENTIALS?|CANARY|DSN|WEBHOOK)(_|$)"
    r"|TOKEN|SECRET|PASSWORD|PASSWD|_PWD(_|$)",
    re.I,
)
_HOLDS_LOGIN = re.compile(r"://[^/\s:@]*:[^/\s@]+@")  # A URL with a password in it.
# Shorter values are words like "true" that would hide half of a trace.
_MIN_LENGTH = 8


def secrets_in_environment(environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """Values of environment variables that look like credentials by name or form, longest first."""
    found = os.environ if environ is None else environ
    values = {
        v
        for k, v in found.items()
        if (_LOOKS_SECRET.search(k) or _HOLDS_LOGIN.search(v)) and len(v) >= _MIN_LENGTH
    }
    return tuple(sorted(values, key=lambda v: (-len(v), v)))


def redact(value: Any, secrets: tuple[str, ...]) -> Any:
    """The same JSON value with every occurrence of a secret replaced, in keys as well."""
    if not secrets:
        return value
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, Mapping):
        return {redact(k, secrets): redact(v, secrets) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [redact(v, secrets) for v in value]
    return value
