"""Sources → readings (LOGOS Eq. 26). One file a kind of source; unreadable material becomes
diagnostics, never an exception."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from logoslab.compile.ingest.bounds import diagnostic
from logoslab.compile.ingest.delimited import CsvAdapter
from logoslab.compile.ingest.markdown import MarkdownAdapter
from logoslab.compile.ingest.openapi import OpenApiAdapter
from logoslab.compile.ingest.workbook import XlsxAdapter
from logoslab.pack.source import SourceReading
from logoslab.ports import SourceAdapter

__all__ = ["ADAPTERS", "ingest"]

ADAPTERS: tuple[SourceAdapter, ...] = (
    MarkdownAdapter(),
    CsvAdapter(),
    XlsxAdapter(),
    OpenApiAdapter(),
)


def ingest(
    paths: Iterable[str | Path], adapters: Iterable[SourceAdapter] = ADAPTERS
) -> list[SourceReading]:
    """Read every source, in the given order.

    Parameters
    ----------
    paths : iterable of path
        Files. A folder, a missing file or an unknown kind gives a reading with a diagnostic.

    Returns
    -------
    list of SourceReading
        One per path. Bad material never raises.
    """
    by_suffix = {suffix: adapter for adapter in adapters for suffix in adapter.suffixes}
    return [_read(Path(path), by_suffix) for path in paths]


def _read(path: Path, by_suffix: dict[str, SourceAdapter]) -> SourceReading:
    adapter = by_suffix.get(path.suffix.lower())
    if adapter is not None:
        return adapter.read(path)
    if not path.exists():
        absent = diagnostic(
            path.name,
            "missing",
            f"{path.name} does not exist",
            "Correct the path; relative paths begin in the present folder.",
        )
        return SourceReading(source=path.name, diagnostics=(absent,))
    refusal = diagnostic(
        path.name,
        "unknown_kind",
        f"{path.name}: files ending in {path.suffix or 'nothing'!r} cannot be read",
        f"Convert it to one of {', '.join(sorted(by_suffix))}.",
    )
    return SourceReading(source=path.name, diagnostics=(refusal,))
