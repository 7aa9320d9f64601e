"""The signed-rank test as an admission rule."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from pydantic import Field

from logoslab.gate.batch import Batch, Floats, Outcomes
from logoslab.gate.peers import FIXED_SIZE, by_p_values
from logoslab.gate.repeats import repeated_rows, settled
from logoslab.gate.rule import PairedRule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.stats import mcnemar_exact, wilcoxon_signed_rank


class Wilcoxon(PairedRule):
    """Accept ⇔ the one-sided signed-rank test of the differences has p ≤ level.

    H0: the differences are symmetric about 0. Unchanged tasks are dropped, equal sizes share
    their rank, differences within rounding are equal. Exact for at most 16 changed tasks or
    changes of one size (0/1 scores), else the normal approximation. Valid for one
    look at a fixed n. Symmetry is the null, not the mean:
    many small gains pass even if rare large losses undo them.

    Parameters
    ----------
    level : float, default 0.05
        In (0, 1).
    """

    name: ClassVar[str] = "wilcoxon"
    source: ClassVar[str] = "Wilcoxon 1945"
    claim: ClassVar[str] = (
        f"{FIXED_SIZE} The null is symmetry about 0; beyond 16 changes of several sizes p is "
        "approximate."
    )

    level: float = Field(default=0.05, gt=0, lt=1, description="level of the test")

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        d = settled(pairs.difference)
        p, p_harm = _both_sides(d)
        outcome = by_p_values(np.array([p]), np.array([p_harm]), self.level, len(d))
        fixed, lost = int((d > 0).sum()), int((d < 0).sum())
        return self._conclude(
            evidence,
            Conclusion(outcome.conclusions[0]),
            f"signed ranks of {fixed} improved and {lost} regressed: p {p:.3g}",
            tasks=len(d),
            numbers={
                "p": p,
                "p_harm": p_harm,
                "mean_difference": math.fsum(d.tolist()) / len(d),
                "fixed": fixed,
                "regressions": lost,
            },
            path={"difference": pairs.difference.tolist()},
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        rows, which = repeated_rows(settled(d))
        p = np.array([_both_sides(row) for row in rows])[which]
        return by_p_values(p[:, 0], p[:, 1], self.level, d.shape[1])


def _both_sides(d: Floats) -> tuple[float, float]:
    """p-values for a gain and for a loss."""
    up, down = d[d > 0], -d[d < 0]
    if (
        len({*up.tolist(), *down.tolist()}) <= 1
    ):  # all of one size: the ranks say no more than signs
        counts = len(up), len(down)
        return (
            float(mcnemar_exact(*counts, alternative="greater")),
            float(mcnemar_exact(*counts, alternative="less")),
        )
    return (
        wilcoxon_signed_rank(d, alternative="greater"),
        wilcoxon_signed_rank(d, alternative="less"),
    )
