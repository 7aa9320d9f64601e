"""The acting model judges itself, before or after its candidate is published."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from pydantic import Field

from logoslab.errors import EvidenceError
from logoslab.gate.batch import SATISFIED, Batch, Bools, Outcomes
from logoslab.gate.rule import ROUNDING, Rule, check_finite
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.needs import Needs


class SelfJudged(Rule):
    """Accept ⇔ the acting model calls its own candidate satisfactory, each time it was asked.

    The flag is metric ``satisfied`` of the candidate, 0 or 1; no answer counts as 0. No task is
    compared and no reference answer is read: a positive flag is the model's judgement, not
    correctness. No error rate.
    """

    name: ClassVar[str] = "self_judged"
    source: ClassVar[str] = "Autogenesis, feedback boundaries: self-assessed satisfaction"
    needs: ClassVar[Needs] = Needs(arms=("candidate",), binary=True)
    claim: ClassVar[str] = "The acting model's own opinion; it carries no error rate."

    metric: str = Field(default=SATISFIED, description="the acting model's own 0/1 verdict")

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row, from the flags of the batch."""
        if self.metric != SATISFIED:
            return super().decide_many(batch)
        if batch.satisfied is None:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        return self._from_flags(np.asarray(batch.satisfied, dtype=np.bool_))

    def _from_flags(self, flags: Bools) -> Outcomes:
        return Outcomes.first_true(
            [(flags, Conclusion.ACCEPT)], Conclusion.REJECT_INSUFFICIENT, 1, len(flags)
        )

    def _decide(self, evidence: Evidence) -> Decision:
        flags, tasks = self._flags(evidence)
        good = all(flags)
        words = "calls its candidate satisfactory" if good else "is not satisfied"
        return self._conclude(
            evidence,
            Conclusion.ACCEPT if good else Conclusion.REJECT_INSUFFICIENT,
            f"the acting model {words}: {sum(flags)} of {len(flags)} positive flag(s)",
            tasks=tasks,
            numbers={"satisfied": sum(flags) / len(flags)},
        )

    def _flags(self, evidence: Evidence) -> tuple[list[bool], int]:
        """The candidate's flags, and on how many tasks they were given."""
        mine = [t for t in evidence.trials if t.metric == self.metric and t.arm == "candidate"]
        return [t.value == 1 for t in mine], len({t.task for t in mine})


class CommitFirst(SelfJudged):
    """Accept whatever was proposed: it is published first and judged after. A negative control.

    The public code writes the candidate into the live registry and runs it; the model's flag then
    only ends the search early, and nothing is restored. The reason tells that later flag and, where
    both arms measured ``score``, what the published change did. No error rate.

    Parameters
    ----------
    score : str, default "score"
        Metric on which the later comparison is told.
    """

    name: ClassVar[str] = "commit_first"
    source: ClassVar[str] = "Autogenesis, public code: set_variables before _evaluate_solution"
    claim: ClassVar[str] = "Negative control: it publishes before any judgement."

    score: str = Field(default="score", description="metric on which the harm is told afterwards")

    def _from_flags(self, flags: Bools) -> Outcomes:
        return Outcomes.first_true([], Conclusion.ACCEPT, 1, len(flags))

    def _decide(self, evidence: Evidence) -> Decision:
        flags, tasks = self._flags(evidence)
        opinion = "satisfied" if all(flags) else "not satisfied"
        told, numbers = self._aftermath(evidence)
        return self._conclude(
            evidence,
            Conclusion.ACCEPT,
            f"published before it was judged; afterwards the acting model is {opinion}, and {told}",
            tasks=tasks,
            numbers={"satisfied": sum(flags) / len(flags), **numbers},
        )

    def _aftermath(self, evidence: Evidence) -> tuple[str, dict[str, float | None]]:
        check_finite(evidence, self.score)
        try:
            d = evidence.pairs(self.score).difference
        except EvidenceError:
            return f"no paired {self.score} says what it did", {"mean_difference": None}
        broken, mean = int((d < -ROUNDING).sum()), float(d.mean())
        told = f"{broken} of {len(d)} tasks got worse, mean {self.score} changed by {mean:+.3g}"
        return told, {"mean_difference": mean, "regressions": broken}
