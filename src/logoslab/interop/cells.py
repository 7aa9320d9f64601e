"""Cells of a result file as numbers. What is no number is refused by row, never dropped."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from logoslab.errors import SourceError
from logoslab.pack.trial_columns import is_missing

WORDS = {"true": 1.0, "yes": 1.0, "pass": 1.0, "passed": 1.0, "c": 1.0,
         "false": 0.0, "no": 0.0, "fail": 0.0, "failed": 0.0, "i": 0.0}  # fmt: skip
EMPTY = ("", "none", "null", "nan", "na", "n/a")


def numbers(cells: Sequence[Any], column: str, source: str, option: str) -> list[float | None]:
    """Finite numbers; None where the cell is empty. ``true`` and ``pass`` count as 1.

    Raises
    ------
    SourceError
        For a cell that is no finite number, and for words among numbers above 1.
    """
    try:
        found: list[float | None] = list(map(float, cells))
        if all(map(math.isfinite, found)) and not _is_odd(cells):  # type: ignore[arg-type]
            return found
    except (TypeError, ValueError, OverflowError):
        pass  # Words, empty cells or foreign text: one cell at a time, so the row can be named.
    found = [_number(cell, row, column, source, option) for row, cell in enumerate(cells, 1)]
    words = sum(_is_word(cell) for cell in cells)
    largest = max((v for v in found if v is not None), default=0.0)
    if words and largest > 1:
        raise SourceError(
            f"{column} of {source}",
            got=f"{words} word(s) such as true or pass, and numbers up to {largest:g}",
            allowed="one scale for the whole column",
            next_step="Write the words as numbers of that scale.",
        )
    return found


def _is_odd(cells: Sequence[Any]) -> bool:
    """Whether Python reads as numbers what may be none here: a bool, or digits with a bar."""
    kinds = set(map(type, cells))
    return bool in kinds or (kinds == {str} and "_" in "".join(cells))


def _number(cell: Any, row: int, column: str, source: str, option: str) -> float | None:
    if is_missing(cell):
        return None
    text = str(cell).strip().casefold()
    if text in EMPTY:
        return None
    try:
        number = WORDS[text] if text in WORDS else float(text.replace("_", "?"))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SourceError(
            f"{column} in row {row} of {source}",
            got=repr(cell),
            allowed="a finite number with a decimal point, true/false, pass/fail, or nothing",
            next_step=f"Correct the cells, or name another column with {option}.",
        )
    return number


def _is_word(cell: Any) -> bool:
    return isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().casefold() in WORDS)
