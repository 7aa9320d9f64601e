"""The adoption report: passing cases whose calls ran exactly the version to be kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from pydantic import Field

from logoslab.gate.batch import Batch, Outcomes
from logoslab.gate.rule import Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Trial
from logoslab.pack.needs import Needs

CONSUMER: Final = "consumer"
"""Metric of later work with the kept version: 1 when that work succeeded."""


class AdoptionReport(Rule):
    """Accept ⇔ at least one case, every case passes, and each cites calls of this very version.

    A case is a task that the candidate ran on the rule's metric, 0 or 1 (None is 0), with the
    executed calls that it cites and the version that ran; that version must be the evidence's
    candidate. A baseline on record is a trial of the incumbent. The acting agent chooses the
    cases and judges them: the rule checks provenance and consistency, not truth. No error rate.

    Parameters
    ----------
    consumer : bool, default False
        Also demand a later success with the version: a candidate trial of metric ``consumer``,
        value 1, of this version, later in order than every case. Without one: undecided.
    """

    name: ClassVar[str] = "adoption_report"
    source: ClassVar[str] = "AgentEvolver §3, table 2; appendix C.1"
    needs: ClassVar[Needs] = Needs(binary=True, calls=True, component=True)
    claim: ClassVar[str] = (
        "Checks that a report names executed calls of one version; it carries no error rate."
    )

    consumer: bool = Field(default=False, description="demand a later success with the version")

    def decide_many(self, batch: Batch) -> Outcomes:
        """Not applicable to any row: a batch holds no calls and no versions."""
        return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))

    def _decide(self, evidence: Evidence) -> Decision:
        mine = [t for t in evidence.trials if t.metric == self.metric]
        cases = [t for t in mine if t.arm == "candidate"]
        baseline = {t.task: t.value for t in mine if t.arm == "incumbent"}
        failed = [t for t in cases if t.value != 1]
        conclusion, reason = (
            _foreign(evidence, cases) or _failing(failed, baseline) or self._used(evidence, cases)
        )
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=len({t.task for t in cases}),
            numbers={
                "cases": len(cases),
                "failed": len(failed),
                "calls": len({call for t in cases for call in t.calls}),
                "baseline_cases": len(baseline),
            },
        )

    def _used(self, evidence: Evidence, cases: Sequence[Trial]) -> tuple[Conclusion, str]:
        passed = f"all {len(cases)} case(s) pass and cite calls of {evidence.candidate}"
        if not self.consumer:
            return Conclusion.ACCEPT, passed
        last = max(t.order for t in cases)
        later = [
            t.task
            for t in evidence.trials
            if t.metric == CONSUMER and t.arm == "candidate" and t.value == 1
            and t.component == evidence.candidate and t.order > last
        ]  # fmt: skip
        if later:
            return Conclusion.ACCEPT, f"{passed}; {later[0]} later succeeded with it"
        return Conclusion.UNDECIDED, f"{passed}; no later consumer has succeeded with it yet"


def _foreign(evidence: Evidence, cases: Sequence[Trial]) -> tuple[Conclusion, str] | None:
    other = [t for t in cases if t.component != evidence.candidate]
    if not other:
        return None
    ran = f"case {other[0].task} ran {other[0].component}, not {evidence.candidate}"
    return Conclusion.REJECT_INSUFFICIENT, f"the report is about another version: {ran}"


def _failing(
    failed: Sequence[Trial], baseline: dict[str, float | None]
) -> tuple[Conclusion, str] | None:
    if not failed:
        return None
    lost = [t for t in failed if baseline.get(t.task) == 1]
    if lost:
        return Conclusion.REJECT_HARMFUL, f"case {lost[0].task} fails and its baseline passed"
    return Conclusion.REJECT_INSUFFICIENT, f"{len(failed)} case(s) fail, {failed[0].task} first"
