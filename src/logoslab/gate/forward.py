"""The forward trial: did the failure come again in the next live sessions?"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from logoslab.gate.batch import RECURRENCE, Batch, Outcomes
from logoslab.gate.rule import ROUNDING, Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Arm, Evidence
from logoslab.pack.needs import Needs


class ForwardTrial(Rule):
    """Accept ⇔ over the first n sessions p̂ = 0 or p̂ ≤ p0 − δ_prom.

    p̂ is the share of the n live sessions after activation in which the failure came again, p0
    the share before: that of the incumbent's sessions where the evidence has any, else the
    parameter. A session with several values failed when any of them is 1. Null: the change has no
    effect and each session fails with probability q. With p0 = 1 the rule then accepts with
    probability 1 − qⁿ, and no protected case is looked at; it carries no error rate.

    Parameters
    ----------
    sessions : int, default 3
        n. Fewer are undecided, later ones are not read.
    delta_prom : float, default 0.05
        Least fall of the share, in (0, 1].
    p0 : float, default 1
        Share before activation when there is no history, in [0, 1].
    m_fail : float, default 1
        A session that returned nothing counts as failed.
    """

    name: ClassVar[str] = "forward_trial"
    source: ClassVar[str] = "Self-Healing Harness, Validate: forward trial; Algorithm 2"
    needs: ClassVar[Needs] = Needs(arms=("candidate",), binary=True)
    sequential: ClassVar[bool] = True
    claim: ClassVar[str] = (
        "Unmatched live sessions without a control and without protected cases; no error rate."
    )

    metric: str = Field(default=RECURRENCE, description="1 when the failure came again")
    m_fail: float = Field(default=1.0, description="value of a session that returned nothing")
    sessions: int = Field(default=3, ge=1, description="live sessions that are read")
    delta_prom: float = Field(default=0.05, gt=0, le=1, description="least fall of the share")
    p0: float = Field(default=1.0, ge=0, le=1, description="share before, without a history")

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row, from the recurrences of the batch."""
        if self.metric != RECURRENCE:
            return super().decide_many(batch)
        if batch.recurrence is None or not batch.recurrence.shape[1]:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        seen, n = batch.recurrence, self.sessions
        odd = ~((seen == 0) | (seen == 1)).all(axis=1)
        few = np.full(len(batch), seen.shape[1] < n)
        rate = seen[:, :n].mean(axis=1)
        return Outcomes.first_true(
            [
                (odd, Conclusion.NOT_APPLICABLE),
                (few, Conclusion.UNDECIDED),
                (self._fell(rate, self.p0), Conclusion.ACCEPT),
                (rate > self.p0 + ROUNDING, Conclusion.REJECT_HARMFUL),
            ],
            Conclusion.REJECT_INSUFFICIENT,
            np.where(odd, 0, min(n, seen.shape[1])),
            len(batch),
        )

    def _decide(self, evidence: Evidence) -> Decision:
        live, history = self._sessions(evidence, "candidate"), self._sessions(evidence, "incumbent")
        p0 = sum(history) / len(history) if history else self.p0
        seen = live[: self.sessions]
        rate = sum(seen) / len(seen)
        conclusion, reason = self._concluded(seen, rate, p0, bool(history))
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=len(seen),
            numbers={"rate": rate, "p0": p0, "sessions_left_out": len(live) - len(seen)},
            path={"recurred": seen},
        )

    def _sessions(self, evidence: Evidence, arm: Arm) -> list[float]:
        """1 for each session of an arm in which the failure came, in arrival order."""
        trials = [t for t in evidence.trials if t.metric == self.metric and t.arm == arm]
        came: dict[str, float] = {}
        for trial in sorted(trials, key=lambda t: (t.order, t.task)):
            value = self.m_fail if trial.value is None else trial.value
            came[trial.task] = max(value, came.get(trial.task, 0.0))
        return list(came.values())

    def _concluded(
        self, seen: list[float], rate: float, p0: float, has_history: bool
    ) -> tuple[Conclusion, str]:
        if len(seen) < self.sessions:
            return Conclusion.UNDECIDED, f"{len(seen)} of {self.sessions} live sessions seen"
        before = f"{p0:.3g} before" if has_history else f"p0 {p0:g}, without a history"
        came = f"the failure came again in {sum(seen):g} of {len(seen)} sessions against {before}"
        if self._fell(rate, p0):
            return Conclusion.ACCEPT, came
        if rate > p0 + ROUNDING:
            return Conclusion.REJECT_HARMFUL, f"{came}: more often"
        return Conclusion.REJECT_INSUFFICIENT, f"{came}: no fall by {self.delta_prom:g}"

    def _fell(self, rate: Any, p0: float) -> Any:
        """p̂ = 0 or p̂ ≤ p0 − δ_prom, of one rate or of an array of rates."""
        return (rate == 0) | (rate <= p0 - self.delta_prom + ROUNDING)
