"""The bytes of a result file, bounded, and the errors that every reader raises."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import zlib
from pathlib import Path
from typing import Any, Final

from logoslab.errors import SourceError

MAX_BYTES: Final = 200_000_000
GZIP: Final = b"\x1f\x8b"
KINDS: Final = (
    "CSV, TSV, Parquet, JSON, JSON lines, an Inspect log (.eval or .json), an MLflow evaluation "
    "table, a keep/discard log, a list of resolved tasks or tau-bench trajectories"
)


def bytes_of(file: Path) -> bytes:
    """A file's bytes, unpacked when they are gzip's, at most 200 MB of them."""
    try:
        if not file.is_file():
            raise unreadable(name_of(file), _instead(file), "Give the path of a result file.")
        with file.open("rb") as handle:
            packed = handle.read(2) == GZIP
            handle.seek(0)
            data = (gzip.GzipFile(fileobj=handle) if packed else handle).read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as cause:
        raise unreadable(name_of(file), str(cause)) from cause
    if len(data) > MAX_BYTES:
        raise unreadable(name_of(file), "more than 200 MB")
    return data


def _instead(file: Path) -> str:
    if not file.exists():
        return "no such file"
    return "a folder" if file.is_dir() else "a pipe or a device"


def name_of(file: Path) -> str:
    """A file's name as text; what is no UTF-8 in it becomes the replacement character."""
    return os.fsencode(file.name).decode("utf-8", "replace")


def text_of(data: bytes) -> str:
    """Text of a file in UTF-8, or in UTF-16 when its byte-order mark says so. Raises ValueError."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as cause:
        raise ValueError(f"no UTF-8 text at byte {cause.start}; save it as UTF-8") from cause


def json_of(text: str) -> Any:
    """One JSON value. A name that stands twice in one object is an error, not the last one."""
    return json.loads(text, object_pairs_hook=_object)


def lines_of(text: str) -> list[Any]:
    """JSON values, one a line. Raises ``ValueError`` with the number of the line."""
    found = []
    # Not splitlines: a score's text may hold other line separators than the file's own.
    for number, line in enumerate(text.split("\n"), 1):
        try:
            if line.strip():
                found.append(json_of(line))
        except ValueError as cause:
            raise ValueError(f"line {number}: {cause}") from cause
    return found


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        raise ValueError(f"{twice!r} stands twice in one object")
    return found


def unreadable(name: str, got: str, next_step: str | None = None) -> SourceError:
    """The error for a file that is none of the kinds that are read."""
    return SourceError(
        f"result file {name}",
        got=got,
        allowed=KINDS,
        next_step=next_step or "Export one row a task with its score.",
    )
