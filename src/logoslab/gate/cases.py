"""Replayed cases: captured sessions that were run again, and what changed on every metric."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from logoslab.gate.rule import ROUNDING, check_finite
from logoslab.pack.evidence import Arm, Evidence, Role, Trial

OUTCOME: Final = "outcome"
"""Metric of a direct verifier outcome: the most authoritative target, where it is measured."""
READ: Final = "read"
"""Metric of a candidate trial: 1 when the run read the change, 0 when it never did."""

REPLAYED: Final[tuple[Role, ...]] = ("failure", "protected")


class Case(NamedTuple):
    """One case: mean scores over replicates for each metric, before and under the change.

    ``read`` says whether a replay read the change; None when the evidence does not say.
    """

    name: str
    role: Role
    before: Mapping[str, float]
    after: Mapping[str, float]
    read: bool | None

    @property
    def delta(self) -> dict[str, float]:
        """Δ_j = after − before for each metric that both sides measured."""
        return {j: self.after[j] - self.before[j] for j in self.after if j in self.before}

    def target(self, declared: str | None, metric: str) -> str | None:
        """ĵ: the first measured one of outcome, the declared metric and the signature's."""
        measured = self.delta
        return next((j for j in (OUTCOME, declared, metric) if j in measured), None)


def replayed(
    evidence: Evidence,
    reference: Arm,
    *,
    m_fail: float,
    roles: tuple[Role, ...] = REPLAYED,
) -> list[Case]:
    """The cases of some roles in arrival order, against the trials of a reference arm.

    A run that returned nothing (None) scores ``m_fail``; a metric without a trial was not
    measured and is not compared. A reference that returned nothing is no baseline.

    Raises
    ------
    EvidenceError
        When a value of one of these trials is infinite or not a number.
    """
    groups: dict[tuple[str, Role], list[Trial]] = {}
    for trial in evidence.trials:
        if trial.arm in (reference, "candidate") and trial.role in roles:
            groups.setdefault((trial.task, trial.role), []).append(trial)
    for metric in {t.metric for trials in groups.values() for t in trials}:
        check_finite(evidence, metric)
    ordered = sorted(groups, key=lambda key: (min(t.order for t in groups[key]), *key))
    return [_case(*key, groups[key], reference, m_fail) for key in ordered]


def _case(name: str, role: Role, trials: list[Trial], reference: Arm, m_fail: float) -> Case:
    old = _by_metric(t for t in trials if t.arm == reference)
    new = _by_metric(t for t in trials if t.arm == "candidate")
    seen = new.pop(READ, None)
    old.pop(READ, None)
    return Case(
        name,
        role,
        {j: _mean(v, m_fail) for j, v in old.items() if any(x is not None for x in v)},
        {j: _mean(v, m_fail) for j, v in new.items()},
        None if seen is None else any(v is not None and v > 0 for v in seen),
    )


def _by_metric(trials: Iterable[Trial]) -> dict[str, list[float | None]]:
    values: dict[str, list[float | None]] = {}
    for trial in trials:
        values.setdefault(trial.metric, []).append(trial.value)
    return values


def _mean(values: list[float | None], m_fail: float) -> float:
    return math.fsum(m_fail if v is None else v for v in values) / len(values)


def first_of_each(roles: Iterable[str], max_failures: int, max_protected: int) -> list[int]:
    """Positions of the first failure and protected cases, as many as are replayed."""
    left = {"failure": max_failures, "protected": max_protected}
    chosen = []
    for i, role in enumerate(roles):
        if left.get(role, 0) > 0:
            left[role] -= 1
            chosen.append(i)
    return chosen


def gained(delta: float, margin: float) -> bool:
    """Δ ≥ margin, up to rounding."""
    return delta >= margin - ROUNDING


def dropped(delta: float, margin: float) -> bool:
    """Δ ≤ −margin, up to rounding: a drop of exactly the margin is one."""
    return delta <= -margin + ROUNDING
