"""Trials from the columns of a tidy table: each column is checked once, then rows are made."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count, repeat
from typing import TYPE_CHECKING, Any, get_args

from logoslab.errors import EvidenceError
from logoslab.pack.evidence import Arm, Role, Trial

if TYPE_CHECKING:
    import pandas as pd

Column = list[Any]
NEEDED = ("task", "value", "arm")
DEFAULTS = {name: field.default for name, field in Trial.model_fields.items() if name not in NEEDED}


def trials_of(
    frame: pd.DataFrame | Mapping[str, Sequence[Any]], names: Mapping[str, str]
) -> tuple[Trial, ...]:
    """The trials of a table; ``names`` says which column holds which field.

    Raises
    ------
    EvidenceError
        See :meth:`logoslab.pack.evidence.Evidence.from_frame`.
    """
    columns = {field: _column(frame, name) for field, name in names.items()
               if _wanted(frame, field, name)}  # fmt: skip
    rows = len(columns["task"])
    for field, column in columns.items():
        if not rows or len(column) != rows:
            raise _refused(names[field], f"{len(column)} rows, {rows} tasks", "one cell a row")
        columns[field] = CHECKED[field](names[field], column)
    columns.setdefault("order", _arrival(columns["task"]))
    keys = list(zip(columns["task"], columns["arm"],
                    columns.get("metric", repeat("score", rows)), strict=True))  # fmt: skip
    if "replicate" in columns:
        _refuse_twins(keys, columns["replicate"])
    else:
        columns["replicate"] = _numbered(keys)
    return _made(columns)


def _wanted(frame: Any, field: str, name: str) -> bool:
    """Whether the table has the column; an absent one that is needed or was named is refused."""
    if name in frame:
        return True
    if field in NEEDED or name != field:
        raise _refused(
            name, f"columns {', '.join(map(str, frame))}", f"a column with the {field} of each row"
        )
    return False


def _column(frame: Any, name: str) -> Column:
    column = frame[name]
    return list(column.tolist() if hasattr(column, "tolist") else column)


def _texts(name: str, column: Column) -> Column:
    texts = texts_of(column)
    if None in texts or "" in texts:
        row = next(n for n, cell in enumerate(texts) if not cell)
        raise _refused(name, f"nothing in row {row + 1}", "a name in every row")
    return texts


def texts_of(column: Column) -> list[str | None]:
    """Each cell as :func:`text`."""
    if set(map(type, column)) == {str}:
        return list(map(str.strip, column))
    return [text(cell) for cell in column]


def text(cell: Any) -> str | None:
    """A name as text; None for a missing one. A whole number reads the same as int and float."""
    if isinstance(cell, str):
        return cell.strip()
    if is_missing(cell):
        return None
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def is_missing(cell: Any) -> bool:
    """Whether a cell is None, NaN or pandas' NA or NaT, none of which equals itself."""
    return cell is None or type(cell).__name__ == "NAType" or cell != cell


def _one_of(kind: Any) -> Callable[[str, Column], Column]:
    allowed = get_args(kind)

    def check(name: str, column: Column) -> Column:
        foreign = set(column) - set(allowed)
        if foreign:
            raise _refused(name, ", ".join(sorted(map(repr, foreign))), ", ".join(allowed))
        return column

    return check


def _numbers(name: str, column: Column) -> Column:
    if set(map(type, column)) == {float} and all(map(math.isfinite, column)):
        return column
    try:
        numbers = [None if is_missing(cell) else float(cell) for cell in column]
    except (TypeError, ValueError) as cause:
        raise _refused(name, str(cause), "finite numbers, or None where nothing came") from cause
    endless = [n for n, number in enumerate(numbers) if number and math.isinf(number)]
    if endless:
        got = f"{numbers[endless[0]]} in row {endless[0] + 1}"
        raise _refused(name, got, "finite numbers, or None where nothing came")
    return numbers


def _counts(name: str, column: Column) -> Column:
    try:
        counts = [int(cell) for cell in column]
    except (TypeError, ValueError) as cause:
        raise _refused(name, str(cause), "whole numbers from 0") from cause
    if min(counts) < 0 or counts != column:
        raise _refused(name, "a negative number or a fraction", "whole numbers from 0")
    return counts


CHECKED: dict[str, Callable[[str, Column], Column]] = {
    "task": _texts, "arm": _one_of(Arm), "value": _numbers, "metric": _texts,
    "replicate": _counts, "role": _one_of(Role), "slice": _texts, "order": _counts,
    "cost": _numbers, "latency": _numbers,
}  # fmt: skip


def _arrival(tasks: Iterable[str]) -> Column:
    first: dict[str, int] = {}
    return [first.setdefault(task, len(first)) for task in tasks]


def _numbered(keys: list[tuple[str, str, str]]) -> Column:
    if len(set(keys)) == len(keys):
        return [0] * len(keys)
    seen: dict[tuple[str, str, str], count[int]] = {}
    return [next(seen.setdefault(key, count())) for key in keys]


def _refuse_twins(keys: list[tuple[str, str, str]], replicates: Column) -> None:
    full = list(zip(keys, replicates, strict=True))
    if len(set(full)) < len(full):
        ((task, arm, metric), number), times = Counter(full).most_common(1)[0]
        raise _refused(
            "trials",
            f"{metric} of task {task!r}, {arm}, replicate {number}, {times} times",
            "each trial once",
        )


def _made(columns: dict[str, Column]) -> tuple[Trial, ...]:
    """Rows as trials. Every column was checked, so each trial is restored as from a pickle."""
    fixed = {name: repeat(value) for name, value in DEFAULTS.items() if name not in columns}
    names, given, new = (*columns, *fixed), set(columns), Trial.__new__
    put = object.__setattr__  # What a trial's own __setstate__ does, without the detour.
    trials = []
    for cells in zip(*columns.values(), *fixed.values(), strict=False):
        trial = new(Trial)
        put(trial, "__dict__", dict(zip(names, cells, strict=True)))
        put(trial, "__pydantic_fields_set__", given)
        put(trial, "__pydantic_extra__", None)
        put(trial, "__pydantic_private__", None)
        trials.append(trial)
    return tuple(trials)


def _refused(which: str, got: object, allowed: str) -> EvidenceError:
    return EvidenceError(
        f"{which} of the evidence frame", got=got, allowed=allowed,
        next_step="Correct the column, or name another one.",
    )  # fmt: skip
