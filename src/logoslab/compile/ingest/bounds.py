"""Read a file within bounds, or say why not. Every adapter starts here."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from logoslab.pack.source import Diagnostic

MAX_BYTES = 20_000_000
MAX_CHARACTERS = 4_000_000
MAX_ROWS = 100_000
MAX_COLUMNS = 200
MAX_CELL = 20_000

NOTES = frozenset(
    {
        "cell_unknown", "cyclic_ref", "effect_lowered", "empty_table", "encoding_guessed",
        "example_ignored", "operation_skipped",
    }
)  # fmt: skip
"""Codes that inform: a part was left out or guessed. Any other code means that a source could not
be used as asked."""


def diagnostic(source: str, code: str, message: str, next_step: str) -> Diagnostic:
    """A diagnostic whose text is bounded: parts of it come from the file."""
    return Diagnostic(source=source, code=code, message=message[:500], next_step=next_step)


def is_note(found: Diagnostic) -> bool:
    """Whether the pack is still what was asked for."""
    return found.code in NOTES


def read_bytes(path: Path) -> bytes | Diagnostic:
    """The file's bytes, or why they cannot be had."""
    name = path.name
    try:
        if not path.is_file():
            return diagnostic(name, "missing", f"{name}: no such file", "Correct the path.")
        size = path.stat().st_size
        if size > MAX_BYTES:
            return diagnostic(
                name,
                "too_large",
                f"{name}: {size} bytes; at most {MAX_BYTES} are read",
                "Split the file, or keep the part that matters.",
            )
        data = path.read_bytes()
    except (OSError, ValueError) as cause:  # ValueError: a NUL in the path
        return diagnostic(
            name, "unreadable", f"{name}: {type(cause).__name__}", "Check the file's permissions."
        )
    if not data.strip():
        return diagnostic(name, "empty", f"{name}: nothing in it", "Give a file with content.")
    return data


def decode(data: bytes, name: str) -> tuple[str, tuple[Diagnostic, ...]] | Diagnostic:
    """Text from bytes: UTF-8 (with or without mark), UTF-16 with mark, else Windows-1252.

    The last is a guess and is reported as one. Bytes with NUL or many control characters are not
    text.
    """
    notes: tuple[Diagnostic, ...] = ()
    marked = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    try:
        text = data.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError as cause:
        if b"\0" in data or _control_share(data) > 0.02:
            return _binary(name)
        text = data.decode("cp1252", errors="replace")
        notes = (
            diagnostic(
                name,
                "encoding_guessed",
                f"{name}: byte {cause.start} is not UTF-8; read as Windows-1252",
                "Save it as UTF-8 if accented letters look wrong.",
            ),
        )
    if "\0" in text:
        return _binary(name)
    if len(text) > MAX_CHARACTERS:
        return diagnostic(
            name,
            "too_large",
            f"{name}: {len(text)} characters; at most {MAX_CHARACTERS} are read",
            "Split the file, or keep the part that matters.",
        )
    return text.replace("\r\n", "\n").replace("\r", "\n"), notes


def read_text(path: Path) -> tuple[str, bytes, tuple[Diagnostic, ...]] | Diagnostic:
    """Text, bytes and notes of a file, or why it cannot be read."""
    data = read_bytes(path)
    if isinstance(data, Diagnostic):
        return data
    decoded = decode(data, path.name)
    if isinstance(decoded, Diagnostic):
        return decoded
    return decoded[0], data, decoded[1]


def identifier(text: str, fallback: str = "item") -> str:
    """A lower-case name of letters, digits and underscores that starts with a letter."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    name = re.sub(r"[^a-z0-9]+", "_", plain).strip("_")[:48].strip("_")
    if not name:
        return fallback
    return name if name[0].isalpha() else f"{fallback}_{name}"[:48]


def unique(name: str, taken: set[str]) -> str:
    """``name``, or ``name_2``, ``name_3``…; the result is added to ``taken``."""
    free, n = name, 1
    while free in taken:
        n += 1
        free = f"{name}_{n}"
    taken.add(free)
    return free


def _binary(name: str) -> Diagnostic:
    return diagnostic(
        name,
        "binary",
        f"{name}: binary data where text was expected",
        "Export it as text, or give it the ending of its real kind.",
    )


def _control_share(data: bytes) -> float:
    control = sum(1 for b in data if b < 32 and b not in (9, 10, 12, 13))
    return control / len(data)
