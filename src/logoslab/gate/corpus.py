"""The corpus guard: no captured case may have dropped under the active rules."""

from __future__ import annotations

from typing import ClassVar, get_args

import numpy as np
from pydantic import Field

from logoslab.gate.batch import SCORE, Batch, Outcomes
from logoslab.gate.cases import Case, dropped, replayed
from logoslab.gate.rule import ROUNDING, Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Role
from logoslab.pack.needs import Needs


class CorpusGuard(Rule):
    """Accept ⇔ every captured case, replayed, dropped by less than δ_reg on every metric.

    An improvement elsewhere offsets nothing. ``accept`` means that the corpus holds, not that
    anything got better: a change without effect passes. A captured case that was not replayed
    leaves it undecided, for the guard reads the whole corpus; a metric that was captured and not
    measured again is counted in ``not_measured_again``. No error rate.

    Parameters
    ----------
    delta_reg : float, default 0.05
        Drop on one metric of one case that fails the corpus, above 0.
    """

    name: ClassVar[str] = "corpus_guard"
    source: ClassVar[str] = "Self-Healing Harness, Regression Guard for Behavioral Drift"
    needs: ClassVar[Needs] = Needs(arms=("captured", "candidate"))
    claim: ClassVar[str] = (
        "Bounds the observed drop on the captured cases alone; it shows no gain and carries no "
        "error rate."
    )

    delta_reg: float = Field(default=0.05, gt=0, description="drop that fails the corpus")

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row, from the cases of the batch."""
        if self.metric != SCORE:
            return super().decide_many(batch)
        if batch.cases is None or not batch.cases.roles:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        delta = batch.cases.candidate.mean(axis=2) - batch.cases.captured
        fell = np.asarray((delta <= -self.delta_reg + ROUNDING).any(axis=1), dtype=np.bool_)
        return Outcomes.first_true(
            [(fell, Conclusion.REJECT_HARMFUL)],
            Conclusion.ACCEPT,
            delta.shape[1],
            len(batch),
        )

    def _decide(self, evidence: Evidence) -> Decision:
        everything = replayed(evidence, "captured", m_fail=self.m_fail, roles=get_args(Role))
        cases = [case for case in everything if case.before]
        conclusion, reason = self._concluded(cases)
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=len(cases),
            numbers={
                "worst_change": min((d for c in cases for d in c.delta.values()), default=None),
                "not_measured_again": sum(len(c.before) - len(c.delta) for c in cases),
            },
        )

    def _concluded(self, cases: list[Case]) -> tuple[Conclusion, str]:
        fell = [
            (change, f"{metric} of case {case.name} changed by {change:+.3g}")
            for case in cases
            for metric, change in case.delta.items()
            if dropped(change, self.delta_reg)
        ]
        if fell:
            limit = f"{self.delta_reg:g} fails the corpus ({len(fell)} such drop(s))"
            return Conclusion.REJECT_HARMFUL, f"{min(fell)[1]}; a drop of {limit}"
        missing = [case.name for case in cases if not case.delta]
        if missing or not cases:
            which = (
                f"{len(missing)} captured case(s) were not replayed, {missing[0]} first"
                if (missing)
                else "no captured case has a score"
            )
            return Conclusion.UNDECIDED, f"{which}; the guard reads the whole corpus"
        return (
            Conclusion.ACCEPT,
            f"none of {len(cases)} captured case(s) dropped by {self.delta_reg:g} on any metric",
        )
