"""tau-bench trajectories (task_id, trial, reward), and tau2's ``simulations``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logoslab.interop.table import Table

FIXED = {"task": "task_id", "score": "reward", "replicate": "trial"}


def fits(data: Any) -> bool:
    """Whether every record has task_id, trial and reward, or it is a tau2 result file."""
    if isinstance(data, Mapping):
        return isinstance(data.get("simulations"), list) and bool(data["simulations"])
    return (
        isinstance(data, list)
        and bool(data)
        and all(isinstance(r, Mapping) and r.keys() >= {*FIXED.values()} for r in data)
    )


def read(data: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> Table:
    """One row a trial. Messages stay unread; tau-bench states no cost of the agent.

    ``user_cost`` is what the simulated user cost, so it is not taken for the agent's.
    """
    if isinstance(data, Mapping):
        return _tau2(data["simulations"])
    columns = {name: [row[name] for row in data] for name in FIXED.values()}
    return Table("tau-bench trajectories", columns, fixed=FIXED)


def _tau2(simulations: Sequence[Mapping[str, Any]]) -> Table:
    columns: dict[str, list[Any]] = {
        name: [row.get(name) for row in simulations]
        for name in ("task_id", "trial", "agent_cost", "duration")
    }
    columns["reward"] = [(row.get("reward_info") or {}).get("reward") for row in simulations]
    return Table(
        "tau2-bench simulations", columns,
        fixed={**FIXED, "cost": "agent_cost", "latency": "duration"},
    )  # fmt: skip
