"""Pass-set containment: keep every test that passed, and pass more (LOGOS Eq. 105)."""

from __future__ import annotations

from typing import ClassVar

from logoslab.gate.batch import Batch, Floats, Outcomes
from logoslab.gate.rule import ROUNDING, PairedRule, chosen
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.needs import Needs


class PassSet(PairedRule):
    """Accept ⇔ pass(c) ⊇ pass(c0) and pass(c) is larger: no test lost, one or more fixed.

    A test is in the pass set when it scores 1 in every replicate; one that was not returned scores
    ``m_fail``. Meant for the tests of one tool (LOGOS Eq. 105). No error rate: without any effect
    one flaky test that rose accepts, and one that fell rejects.
    """

    name: ClassVar[str] = "pass_set"
    source: ClassVar[str] = "LOGOS Eq. 105"
    needs: ClassVar[Needs] = Needs(binary=True)

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        old, new = pairs.incumbent >= 1 - ROUNDING, pairs.candidate >= 1 - ROUNDING
        lost, fixed = chosen(pairs.tasks, old & ~new), chosen(pairs.tasks, new & ~old)
        if lost:
            conclusion, reason = Conclusion.REJECT_HARMFUL, f"{len(lost)} test(s) lost: {lost[0]}"
        elif fixed:
            conclusion, reason = Conclusion.ACCEPT, f"{len(fixed)} test(s) more: {fixed[0]}"
        else:
            conclusion, reason = Conclusion.REJECT_INSUFFICIENT, "the same tests pass"
        return self._conclude(
            evidence,
            conclusion,
            f"{reason}; {int(new.sum())} of {len(new)} pass, {int(old.sum())} before",
            tasks=len(new),
            numbers={
                "passed_before": int(old.sum()),
                "passed": int(new.sum()),
                "fixed": len(fixed),
                "regressions": len(lost),
                "missing": len(pairs.filled),
            },
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        return Outcomes.first_true(
            [
                ((d < 0).any(axis=1), Conclusion.REJECT_HARMFUL),
                ((d > 0).any(axis=1), Conclusion.ACCEPT),
            ],
            Conclusion.REJECT_INSUFFICIENT,
            d.shape[1],
            len(d),
        )
