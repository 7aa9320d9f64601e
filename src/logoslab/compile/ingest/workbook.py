"""XLSX → one table artefact a sheet; a matrix sheet is unpivoted to long form."""

from __future__ import annotations

import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from logoslab.compile.ingest.bounds import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_ROWS,
    diagnostic,
    identifier,
    read_bytes,
    unique,
)
from logoslab.compile.ingest.grid import table
from logoslab.pack.base import digest_bytes
from logoslab.pack.source import Artefact, Diagnostic, Provenance, SourceReading

CORNER = re.compile(r"^\s*(\w[\w ]*?)\s*(?:\\|/|×|\bby\b|\bx\b)\s*(\w[\w ]*?)\s*$")
"""The corner cell of a matrix: ``row key \\ column key``."""

# What the reader raises on files that are not workbooks; each was met in the fuzz test.
BROKEN = (
    zipfile.BadZipFile, zlib.error, ParseError, KeyError, ValueError, TypeError, AttributeError,
    IndexError, EOFError, OSError, NotImplementedError, RuntimeError, AssertionError,
)  # fmt: skip


class XlsxAdapter:
    """Workbooks, values only: formulas are read as the numbers that were saved with them."""

    suffixes: tuple[str, ...] = (".xlsx", ".xlsm")

    def read(self, path: Path) -> SourceReading:
        """One table a sheet, named ``<file>_<sheet>``."""
        name = path.name
        data = read_bytes(path)
        if isinstance(data, Diagnostic):
            return SourceReading(source=name, diagnostics=(data,))
        try:
            _refuse_bombs(data)
            with warnings.catch_warnings():  # about styles and extensions: no cell depends on them
                warnings.simplefilter("ignore", UserWarning)
                sheets = list(_sheets(data))
        except BROKEN as cause:
            broken = diagnostic(
                name,
                "bad_workbook",
                f"{name}: not a readable workbook ({type(cause).__name__})",
                "Open it in a spreadsheet program and save it again as .xlsx.",
            )
            return SourceReading(source=name, diagnostics=(broken,))
        made = list(_tables(path, sheets, digest_bytes(data)))
        return SourceReading(
            source=name,
            artefacts=tuple(m for m in made if isinstance(m, Artefact)),
            diagnostics=tuple(m for m in made if isinstance(m, Diagnostic)),
        )


def _refuse_bombs(data: bytes) -> None:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        if sum(item.file_size for item in archive.infolist()) > 10 * MAX_BYTES:
            raise ValueError("unpacks to too much")


def _sheets(data: bytes) -> Iterator[tuple[str, list[list[str | None]]]]:
    import openpyxl

    book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
    try:
        for sheet in book.worksheets:
            rows = sheet.iter_rows(max_row=MAX_ROWS + 3, max_col=MAX_COLUMNS + 1, values_only=True)
            yield sheet.title, [[_text(cell) for cell in row] for row in rows]
    finally:
        book.close()


def _text(cell: Any) -> str | None:
    if cell is None or cell == "":
        return None
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _tables(
    path: Path, sheets: list[tuple[str, list[list[str | None]]]], fingerprint: str
) -> Iterator[Artefact | Diagnostic]:
    taken: set[str] = set()
    for title, cells in sheets:
        rows = [_trim(row) for row in cells if any(cell is not None for cell in row)]
        name = unique(identifier(f"{path.stem}_{title}", "table"), taken)
        where = Provenance(
            source=path.name, content_digest=fingerprint, span=f"sheet {title[:100]!r}"
        )
        heading = identifier(rows[0][0] or "", "value") if rows and len(rows[0]) == 1 else ""
        body = rows[1:] if heading and len(rows) > 1 else rows
        corner = CORNER.match(body[0][0] or "") if body and body[0] else None
        if corner:
            value = heading or identifier(title, "value")
            header, body = _unpivot(body, corner[1], corner[2], value)
            yield table(name, header, body, where)
        else:
            width = max(map(len, body), default=0)  # cells are aligned: a short header has blanks
            header = [*body[0], *[None] * (width - len(body[0]))] if body else []
            yield table(name, header, body[1:], where)


def _unpivot(
    matrix: list[list[str | None]], row_key: str, column_key: str, value: str
) -> tuple[list[str | None], list[list[str | None]]]:
    """Long form: one row for each filled cell, row by row."""
    long: list[list[str | None]] = [
        [row[0], column, cell]
        for row in matrix[1:]
        for column, cell in zip(matrix[0][1:], row[1:], strict=False)
        if cell is not None
    ]
    return [row_key, column_key, value], long


def _trim(row: list[str | None]) -> list[str | None]:
    while row and row[-1] is None:
        row = row[:-1]
    return row
