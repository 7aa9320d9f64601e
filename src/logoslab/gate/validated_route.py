"""The validated-route rule: direct inference stays unless the candidate route validates."""

from __future__ import annotations

import math
from typing import ClassVar

from pydantic import Field

from logoslab.gate.batch import Batch, Floats, Outcomes
from logoslab.gate.rule import ROUNDING, PairedRule, regressed
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs


class ValidatedRoute(PairedRule):
    """Accept ⇔ mean(d) ≥ gain margin ∧ share of regressed tasks ≤ cap, on a validation split.

    The incumbent is the direct route, the candidate the compiled team or cascade. The paper asks
    for a *declared* margin and cap and prints neither; the defaults here are ours: 0.02 is the
    smallest gain that its Table 12 selects, 0.1 the anytime gate's tolerated share. No error rate.

    Parameters
    ----------
    gain_margin : float, default 0.02
        Least mean gain, above 0, in units of the metric.
    regression_cap : float, default 0.1
        Tolerated share of regressed tasks, in [0, 1].
    eps_reg : float, default 0
        Drop on one task that is tolerated.
    """

    name: ClassVar[str] = "validated_route"
    source: ClassVar[str] = "LOGOS §4.2, validated-route rule, table 12"
    claim: ClassVar[str] = (
        "Selects a route on the validation split; deployed performance needs a disjoint report "
        "split. It carries no error rate."
    )

    gain_margin: float = Field(default=0.02, gt=0, description="least mean gain")
    regression_cap: float = Field(
        default=0.1, ge=0, le=1, description="tolerated share of regressed tasks"
    )
    eps_reg: float = Field(default=0.0, ge=0, description="drop on one task that is tolerated")

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        d = pairs.difference
        mean, lost = math.fsum(d.tolist()) / len(d), int(regressed(d, self.eps_reg).sum())
        conclusion, reason = self._concluded(mean, lost, len(d))
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=len(d),
            numbers={
                "mean_difference": mean,
                "regressions": lost,
                "regression_share": lost / len(d),
                "missing": len(pairs.filled),
            },
            path={"difference": d.tolist()},
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        mean, share = d.mean(axis=1), regressed(d, self.eps_reg).mean(axis=1)
        return Outcomes.first_true(
            [
                (share > self.regression_cap + ROUNDING, Conclusion.REJECT_HARMFUL),
                (mean < -ROUNDING, Conclusion.REJECT_HARMFUL),
                (mean >= self.gain_margin - ROUNDING, Conclusion.ACCEPT),
            ],
            Conclusion.REJECT_INSUFFICIENT,
            d.shape[1],
            len(d),
        )

    def _concluded(self, mean: float, lost: int, n: int) -> tuple[Conclusion, str]:
        if lost / n > self.regression_cap + ROUNDING:
            over = f"{lost} of {n} tasks regressed, a share of {self.regression_cap:g} tolerated"
            return Conclusion.REJECT_HARMFUL, f"the direct route stays: {over}"
        if mean < -ROUNDING:
            return (
                Conclusion.REJECT_HARMFUL,
                f"the direct route stays: the mean fell by {-mean:.3g}",
            )
        if mean < self.gain_margin - ROUNDING:
            short = f"mean gain {mean:.3g} is below the margin {self.gain_margin:g}"
            return Conclusion.REJECT_INSUFFICIENT, f"the direct route stays: {short}"
        clear = f"mean gain {mean:.3g} clears {self.gain_margin:g} with {lost} regressed task(s)"
        return Conclusion.ACCEPT, f"the candidate route is selected: {clear}"
