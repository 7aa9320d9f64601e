"""Small replayed cases for the gate tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from logoslab.pack.evidence import Arm, Evidence, Role, Trial

Scores = Mapping[str, float | None]


def case(
    name: str,
    before: Scores,
    after: Scores,
    *,
    role: Role = "failure",
    reference: Arm = "captured",
    order: int = 0,
) -> list[Trial]:
    """One case: scores by metric of the reference arm and of the candidate."""
    return [
        Trial(task=name, arm=arm, metric=metric, value=value, role=role, order=order)
        for arm, scores in ((reference, before), ("candidate", after))
        for metric, value in scores.items()
    ]


def corpus(*cases: Sequence[Trial]) -> Evidence:
    """Evidence of cases in this order of arrival."""
    trials = [t.replace(order=i) for i, trials in enumerate(cases) for t in trials]
    return Evidence(trials=tuple(trials))
