"""CSV and TSV, and the keep/discard logs that come as TSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice

from logoslab.interop import keep_discard
from logoslab.interop.table import Table, named

DELIMITERS = {",": "CSV", ";": "CSV with semicolons", "\t": "TSV", "|": "CSV with bars"}


def read(text: str) -> Table:
    """Rows under a header line; the separator is the one that header and first row agree on.

    Raises
    ------
    ValueError
        For two columns of one name, or a row that has more or fewer cells than the header.
    csv.Error
    """
    delimiter = max(DELIMITERS, key=lambda mark: _columns(text, mark))
    rows = list(_rows(text, delimiter))
    names = [name.strip() for name in rows[0]] if rows else []
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(names):
            raise ValueError(f"{len(row)} cells in row {number}, {len(names)} in the header")
    cells = list(zip(*rows[1:], strict=True)) or [()] * len(names)
    table = Table(DELIMITERS[delimiter], named(names, cells))
    return keep_discard.read(table) if keep_discard.fits(table) else table


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows that hold anything; a line of blanks alone is none."""
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return (row for row in rows if len(row) > 1 or (row and row[0].strip()))


def _columns(text: str, delimiter: str) -> tuple[bool, int]:
    """Whether header and first row agree on several cells, and how many the header has."""
    found = [len(row) for row in islice(_rows(text, delimiter), 2)] or [0]
    return found[0] == found[-1] > 1, found[0]
