"""Raw cells → table artefact. Shared by every tabular source."""

from __future__ import annotations

from collections.abc import Sequence

from logoslab.compile.ingest.bounds import (
    MAX_CELL,
    MAX_COLUMNS,
    MAX_ROWS,
    diagnostic,
    identifier,
    unique,
)
from logoslab.pack.source import Artefact, Diagnostic, Provenance

Grid = Sequence[Sequence[str | None]]


def table(
    name: str, header: Sequence[str | None], rows: Grid, provenance: Provenance
) -> Artefact | Diagnostic:
    """A table artefact; blank rows are dropped, short rows padded, stray cells refused.

    Column names become identifiers, because they will name arguments of tools.
    """
    width = len(header)
    kept = [row for row in rows if any((cell or "").strip() for cell in row)]
    problem = _problem(provenance.source, name, width, kept)
    if problem is not None:
        return problem
    taken: set[str] = set()
    columns = tuple(unique(identifier(cell or "", "column"), taken) for cell in header)
    cells = tuple(
        tuple(_cell(row[i] if i < len(row) else None) for i in range(width)) for row in kept
    )
    return Artefact(name=name, kind="table", columns=columns, rows=cells, provenance=provenance)


def _problem(source: str, name: str, width: int, rows: Grid) -> Diagnostic | None:
    if width > MAX_COLUMNS or len(rows) > MAX_ROWS:
        return diagnostic(
            source,
            "too_large",
            f"{source}: table {name} has {len(rows)} rows and {width} columns; "
            f"at most {MAX_ROWS} and {MAX_COLUMNS} are read",
            "Split the table, or keep the part that matters.",
        )
    if not width or not rows:
        return diagnostic(
            source,
            "empty_table",
            f"{source}: table {name} has no header or no rows",
            "Give a header line and at least one row.",
        )
    for number, row in enumerate(rows, start=1):
        if any((cell or "").strip() for cell in row[width:]):
            return diagnostic(
                source,
                "ragged_row",
                f"{source}: row {number} of table {name} has {len(row)} cells, not {width}",
                "Quote cells that contain the delimiter, or add the missing column name.",
            )
        if any(len(cell or "") > MAX_CELL for cell in row):
            return diagnostic(
                source,
                "too_large",
                f"{source}: row {number} of table {name} has a cell over {MAX_CELL} characters",
                "Shorten the cell, or move its text to a document.",
            )
    return None


def _cell(value: str | None) -> str | None:
    # Lone surrogates cannot be written as UTF-8, so they would break every digest later.
    text = (value or "").encode("utf-8", "replace").decode()
    return text if text.strip() else None
