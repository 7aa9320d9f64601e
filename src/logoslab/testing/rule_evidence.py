"""Evidence and batches that have what an admission rule needs, and evidence that lacks one need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from logoslab.gate.batch import RECURRENCE, SCORE, Batch, Cases, Floats
from logoslab.pack.evidence import Arm, Evidence, Role, Trial
from logoslab.pack.needs import Needs

Scores = Callable[[int], tuple[float, float]]
"""Task number → value without the change and value with it; more is better."""

VERSION: Final = "candidate"


def half_fixed(i: int) -> tuple[float, float]:
    """0 → 1 on even tasks, 1 → 1 on odd ones."""
    return float(i % 2), 1.0


def mixed(i: int) -> tuple[float, float]:
    """Of twelve tasks six are fixed, one is lost and five stay."""
    return float(i % 3 == 0), float(i % 4 != 1)


def all_broken(i: int) -> tuple[float, float]:
    """1 → 0 on every task."""
    return 1.0, 0.0


def evidence_for(
    needs: Needs, metric: str = SCORE, *, scores: Scores = half_fixed, tasks: int = 60
) -> Evidence:
    """Evidence that has everything a rule needs, and states cost, latency, calls and version.

    Parameters
    ----------
    needs : Needs
    metric : str
        The rule's metric. Of ``recurrence`` less is better, so its values are 1 − score.
    scores : callable
        Values of each task; every arm but the candidate's has the value without the change.
    tasks : int
        Tasks in order of arrival; they take the needed roles in turn.
    """
    trials = [
        _trial(i, arm, name, replicate, needs.roles, scores)
        for i in range(tasks)
        for arm in needs.arms
        for name in (metric, *needs.metrics)
        for replicate in range(needs.replicates)
    ]
    return Evidence(trials=tuple(trials), candidate=VERSION, sampling="iid")


def _trial(
    i: int, arm: Arm, metric: str, replicate: int, roles: tuple[Role, ...], scores: Scores
) -> Trial:
    value = scores(i)[arm == "candidate"]
    return Trial(
        task=f"t{i:04d}",
        arm=arm,
        metric=metric,
        value=1.0 - value if metric == RECURRENCE else value,
        replicate=replicate,
        role=roles[i % len(roles)] if roles else "holdout",
        order=i,
        cost=1.0,
        latency=1.0,
        component=VERSION if arm == "candidate" else arm,
        calls=(f"call-{arm}-{i}-{replicate}",),
    )


def without_each_need(needs: Needs, metric: str = SCORE) -> dict[str, Evidence]:
    """For each need, evidence that lacks this need and has all others."""
    full = evidence_for(needs, metric)
    spare: Role = "safety" if "safety" not in needs.roles else "holdout"
    lacking = {f"arm {a}": _changed(full, "arm", a, arm="placebo") for a in needs.arms}
    lacking |= {f"role {r}": _changed(full, "role", r, role=spare) for r in needs.roles}
    lacking |= {f"metric {m}": _changed(full, "metric", m, metric="other") for m in needs.metrics}
    if needs.replicates > 1:
        once = tuple(t for t in full.trials if not t.replicate)
        lacking["replicates"] = full.replace(trials=once)
    for flag, blank in _STATED.items():
        if getattr(needs, flag):
            lacking[flag] = _changed(full, "arm", "candidate", **blank)
    return lacking


_STATED: Final[dict[str, dict[str, Any]]] = {
    "binary": {"value": 0.5},
    "bounded": {"value": 3.0},
    "cost": {"cost": None},
    "latency": {"latency": None},
    "calls": {"calls": ()},
    "component": {"component": None},
}


def _changed(full: Evidence, field: str, now: str, **changes: Any) -> Evidence:
    """The evidence with changes to the trials whose field is ``now``."""
    trials = (t.replace(**changes) if getattr(t, field) == now else t for t in full.trials)
    return full.replace(trials=tuple(trials))


def random_batch(
    rng: np.random.Generator, rows: int, tasks: int = 60, *, graded: bool = False
) -> Batch:
    """A batch with everything a batch can hold; its candidates range from harmful to good.

    Parameters
    ----------
    rng : numpy Generator
    rows, tasks : int
        Candidates and tasks.
    graded : bool
        Scores anywhere in [0, 1], instead of 0 and 1.
    """
    before = rng.uniform(0.2, 0.9, (rows, 1))
    after = np.clip(before + rng.normal(0.05, 0.2, (rows, 1)), 0.0, 1.0)

    def scores(rate: Floats, shape: tuple[int, ...]) -> Floats:
        level = rng.random(shape) < rate.reshape(-1, *[1] * (len(shape) - 1))
        return level * rng.random(shape) if graded else level.astype(np.float64)

    roles: tuple[Role, ...] = ("failure", "failure", "protected", "failure", "protected")
    cases = Cases(
        roles,
        captured=np.where(np.array(roles) == "failure", 0.0, scores(after, (rows, 5))),
        control=scores(before, (rows, 5, 2)),
        candidate=scores(after, (rows, 5, 2)),
    )
    # Many candidates change few tasks: those keep the incumbent's score.
    incumbent, fresh = scores(before, (rows, tasks)), scores(after, (rows, tasks))
    moved = rng.random((rows, tasks)) < rng.uniform(0.0, 1.0, (rows, 1))
    return Batch(
        incumbent,
        np.where(moved, fresh, incumbent),
        proxy=rng.normal(0.0, 0.1, rows).round(1),
        satisfied=rng.random(rows) < 0.5,
        recurrence=(rng.random((rows, 4)) < 0.3).astype(np.float64),
        cases=cases,
        sampling="iid",
    )
