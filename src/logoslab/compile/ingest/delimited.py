"""CSV and TSV → one table artefact."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from logoslab.compile.ingest.bounds import MAX_ROWS, diagnostic, identifier, read_text
from logoslab.compile.ingest.grid import table
from logoslab.pack.base import digest_bytes
from logoslab.pack.source import Diagnostic, Provenance, SourceReading

DELIMITERS = (",", ";", "\t", "|")


class CsvAdapter:
    """Delimited text: the delimiter is the one that splits the first lines most evenly."""

    suffixes: tuple[str, ...] = (".csv", ".tsv")

    def read(self, path: Path) -> SourceReading:
        """One table named after the file."""
        name = path.name
        found = read_text(path)
        if isinstance(found, Diagnostic):
            return SourceReading(source=name, diagnostics=(found,))
        text, data, notes = found
        try:
            rows = _rows(text, detect_delimiter(text))
        except csv.Error as cause:
            broken = diagnostic(
                name, "bad_csv", f"{name}: {cause}", "Check quotes and line ends of the file."
            )
            return SourceReading(source=name, diagnostics=(*notes, broken))
        provenance = Provenance(source=name, content_digest=digest_bytes(data))
        made = table(identifier(path.stem, "table"), rows[0], rows[1:], provenance)
        if isinstance(made, Diagnostic):
            return SourceReading(source=name, diagnostics=(*notes, made))
        return SourceReading(source=name, artefacts=(made,), diagnostics=notes)


def detect_delimiter(text: str) -> str:
    """The delimiter under which the first lines have the same number (> 1) of cells.

    Ties go to more cells, then to the order comma, semicolon, tab, bar. One-column files get a
    comma.
    """

    def quality(delimiter: str) -> tuple[float, int]:
        try:
            rows = [r for r in _rows(text[:20_000], delimiter, limit=30) if r]
        except csv.Error:
            return 0.0, 0
        width = len(rows[0]) if rows else 0
        if width < 2:
            return 0.0, 0
        return sum(len(r) == width for r in rows) / len(rows), width

    return max(DELIMITERS, key=quality)


def _rows(text: str, delimiter: str, limit: int = MAX_ROWS + 2) -> list[list[str]]:
    """Rows up to a limit; ``table`` reports a file that goes beyond it. Never empty."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=False)
    rows = [row for row, _ in zip(reader, range(limit), strict=False)]
    while rows and not any(cell.strip() for cell in rows[0]):
        rows.pop(0)
    return rows or [[]]
