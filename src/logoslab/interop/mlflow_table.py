"""MLflow evaluation tables: ``eval_results_table.json``, names and rows apart ("split")."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from logoslab.interop.table import Table, named

SCORES = ("/score", "/value")


def fits(data: Any) -> bool:
    """Whether it is an object with ``columns`` and ``data``, both lists."""
    return (
        isinstance(data, Mapping)
        and isinstance(data.get("columns"), list)
        and isinstance(data.get("data"), list)
    )


def read(data: Mapping[str, Any]) -> Table:
    """The table; score columns are those named ``<metric>/score`` or ``<scorer>/value``.

    Inputs stand for the task, since request ids differ between runs.

    Raises
    ------
    ValueError
        When a row has more or fewer cells than there are names, or two names are the same.
    """
    names = [str(name) for name in data["columns"]]
    for number, row in enumerate(data["data"], 1):
        if not isinstance(row, list) or len(row) != len(names):
            raise ValueError(f"row {number} does not have {len(names)} cells")
    cells = list(zip(*data["data"], strict=True)) or [()] * len(names)
    columns = named(names, [[_plain(cell) for cell in column] for column in cells])
    task = next((name for name in ("inputs", "request") if name in columns), None)
    return Table(
        "MLflow evaluation table",
        columns,
        fixed={"task": task} if task else {},
        candidates=tuple(name for name in names if name.endswith(SCORES)),
    )


def _plain(cell: Any) -> Any:
    """Structured inputs as one text, so that equal ones name the same task."""
    return json.dumps(cell, sort_keys=True) if isinstance(cell, dict | list) else cell
