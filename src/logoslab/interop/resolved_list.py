"""Leaderboard files: which tasks were resolved, with or without the others, and a headline.

Three published forms: SWE-bench experiments (``{"resolved": [ids], "no_generation": [ids]}``), a
SWE-bench report (``{"resolved_ids": [...], "unresolved_ids": [...], "resolved_instances": n}``),
and an entry of the leaderboard's own file (``{"resolved": 52.8, "per_instance_details": {id:
{"resolved": true, "cost": 0.3}}}``). A bare list of ids is read as the resolved ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logoslab.interop.table import Headline, Table, of_records

DETAILS = ("per_instance_details", "details")
RESOLVED = ("resolved_ids", "resolved")
# A report counts a task among its submitted ones and again by what came of it.
OTHERS = (
    "unresolved_ids", "unresolved", "empty_patch_ids", "error_ids", "incomplete_ids",
    "submitted_ids", "completed_ids", "no_generation", "no_logs", "failed", "all_ids",
)  # fmt: skip
SHARES = ("resolved_pct", "resolved_percent", "resolved_rate", "resolved", "score", "accuracy")
COUNTS = ("resolved_instances", "resolved_count", "n_resolved")
TOTALS = ("total_instances", "total", "n_tasks")


def fits(data: Any) -> bool:
    """Whether it is an object with details by task, or a list of resolved tasks."""
    if isinstance(data, list):
        return bool(data) and all(isinstance(task, str) for task in data)
    return isinstance(data, Mapping) and bool(_details(data) or _listed(data) is not None)


def read(data: Mapping[str, Any] | list[str]) -> Table:
    """One row a task. A task that such a list leaves out was not resolved.

    Raises
    ------
    ValueError
        When a task stands twice in the list of resolved ones, or among the unresolved ones too, no
        task is listed at all, or a count of tasks is not that of the lists.
    """
    if isinstance(data, list):
        data = {"resolved": data}
    if details := _details(data):
        rows = [
            {"task": task, **(row if isinstance(row, Mapping) else {"resolved": row})}
            for task, row in details.items()
        ]
        known = {"score": "resolved"} if any("resolved" in row for row in rows) else {}
        return Table(
            "leaderboard entry with details", of_records(rows), fixed={"task": "task", **known},
            headline=_headline(data, len(rows)),
        )  # fmt: skip
    return _of_list(data, [str(task) for task in _listed(data) or ()])


def _of_list(data: Mapping[str, Any], resolved: list[str]) -> Table:
    for name in ("unresolved_ids", "unresolved"):
        both = set(resolved) & {str(task) for task in _names(data.get(name))}
        if both:
            raise ValueError(f"{min(both)!r} is both resolved and unresolved")
    if len(set(resolved)) < len(resolved):
        raise ValueError(f"{max(resolved, key=resolved.count)!r} stands twice among the resolved")
    others = {str(task): None for name in OTHERS for task in _names(data.get(name))}
    values = {**dict.fromkeys(others, 0.0), **dict.fromkeys(resolved, 1.0)}
    if not values:
        raise ValueError("no task resolved and no other task listed")
    total = next((int(data[n]) for n in TOTALS if _is_number(data.get(n))), None)
    whole = total == len(values) or "unresolved_ids" in data or "unresolved" in data
    if total is not None and total < len(values):
        raise ValueError(f"{len(values)} tasks are listed and {total} are said to be all")
    if total is None and not whole:
        _refuse_another_count(data, len(resolved))
    return Table(
        "list of resolved tasks",
        {"task": list(values), "resolved": list(values.values())},
        fixed={"task": "task", "score": "resolved"},
        headline=_headline(data, total or len(values)),
        total=total,
        unlisted=None if whole else 0.0,
        notes=() if whole else (
            "only resolved tasks are listed: a task of the other file that is not here counts as "
            "not resolved, and a task that neither lists is not in n",
        ),
    )  # fmt: skip


def _refuse_another_count(data: Mapping[str, Any], resolved: int) -> None:
    """Refuse a count of resolved tasks that is not the length of their list."""
    for name in COUNTS:
        if _is_number(data.get(name)) and data[name] != resolved:
            raise ValueError(f"{resolved} resolved task(s) listed, {name} is {data[name]}")


def _headline(data: Mapping[str, Any], total: int) -> Headline | None:
    for name in COUNTS:
        if _is_number(data.get(name)):
            return Headline(data[name] / total, f"{name} {data[name]} of {total}")
    for name in SHARES:
        if _is_number(data.get(name)):
            return Headline(float(data[name]), name)
    return None


def _details(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = [data[n] for n in DETAILS if isinstance(data.get(n), Mapping) and data[n]]
    return found[0] if found else None


def _listed(data: Mapping[str, Any]) -> Sequence[Any] | None:
    found = [data[n] for n in RESOLVED if isinstance(data.get(n), list)]
    return found[0] if found else None


def _names(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
