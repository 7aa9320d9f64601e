"""Replay with a fresh control arm: the harness's later release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from logoslab.gate.batch import SCORE, Batch, Outcomes
from logoslab.gate.cases import Case, gained, replayed
from logoslab.gate.harness import TARGET_HELP
from logoslab.gate.rule import ROUNDING, Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.needs import Needs


class ReplayControlled(Rule):
    """Accept ⇔ fresh control and candidate runs show a mean gain and no case got worse.

    Cases are walked in arrival order and the first one that settles it decides: a case without
    both runs, whose two runs measured different metrics, or whose replay never read the change
    (metric ``read`` is 0) leaves it undecided, as does a protected case that no longer succeeds
    under control; a success that became a failure rejects, as does a drop of more than
    ``max_drop`` on any metric. Then the mean change over the unprotected cases and their metrics
    must reach ``min_gain``; below that the release keeps the proposal pending, so the conclusion
    is ``undecided``. Null: control and candidate are one agent; no error rate is stated.

    The release runs both arms of a case in alternating order; evidence does not show the order.
    It also accepts shorter guidance that is not worse; evidence has no length, so this is left out.

    Parameters
    ----------
    target : str, optional
        Metric that the change declares; success is read off ``outcome``, else this, else
        ``metric``.
    success_at : float, default 0.5
        A case succeeds when its target reaches this; mean over replicates.
    min_cases : int, default 3
        Distinct cases, at least.
    max_drop : float, default 0.02
        Tolerated drop on any metric of any case, at least 0.
    min_gain : float, default 0.05
        Least mean gain over unprotected cases, above 0.
    """

    name: ClassVar[str] = "replay_controlled"
    source: ClassVar[str] = "Self-Healing Harness, pandaprobe.reflect 0.6.0"
    needs: ClassVar[Needs] = Needs(arms=("control", "candidate"), roles=("failure", "protected"))
    sequential: ClassVar[bool] = True
    claim: ClassVar[str] = (
        "Empirical rule against a fresh control on a few cases; it carries no error rate."
    )

    target: str | None = Field(default=None, description=TARGET_HELP)
    success_at: float = Field(default=0.5, description="target value at which a case succeeds")
    min_cases: int = Field(default=3, ge=1, description="distinct cases, at least")
    max_drop: float = Field(default=0.02, ge=0, description="tolerated drop on any metric")
    min_gain: float = Field(default=0.05, gt=0, description="least mean gain, unprotected cases")

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row, from the cases of the batch."""
        if self.metric != SCORE:
            return super().decide_many(batch)
        if batch.cases is None or not {"failure", "protected"} <= set(batch.cases.roles):
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        protected = np.array(batch.cases.roles) == "protected"
        before, after = batch.cases.control.mean(axis=2), batch.cases.candidate.mean(axis=2)
        held, holds = self._succeeds(before), self._succeeds(after)
        unsettled = protected & ~held
        worse = (held & ~holds) | (after - before < -self.max_drop - ROUNDING)
        first = (unsettled | worse).argmax(axis=1)
        rows, few = np.arange(len(batch)), len(protected) < self.min_cases
        gain = (after - before)[:, ~protected].mean(axis=1)
        return Outcomes.first_true(
            [
                (unsettled[rows, first] | few, Conclusion.UNDECIDED),
                (worse[rows, first], Conclusion.REJECT_HARMFUL),
                (gain >= self.min_gain - ROUNDING, Conclusion.ACCEPT),
            ],
            Conclusion.UNDECIDED,
            len(protected),
            len(batch),
        )

    def _decide(self, evidence: Evidence) -> Decision:
        cases = replayed(evidence, "control", m_fail=self.m_fail)
        changes = [d for c in cases if c.role != "protected" for d in c.delta.values()]
        gain = math.fsum(changes) / len(changes) if changes else None
        conclusion, reason = self._walk(cases) or self._by_gain(gain, len(cases))
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=len(cases),
            numbers={
                "mean_gain": gain,
                "worst_change": min((d for c in cases for d in c.delta.values()), default=None),
                "protected_cases": sum(case.role == "protected" for case in cases),
            },
            path={"change": changes},
        )

    def _walk(self, cases: Sequence[Case]) -> tuple[Conclusion, str] | None:
        if len(cases) < self.min_cases:
            return Conclusion.UNDECIDED, f"{len(cases)} case(s), at least {self.min_cases} needed"
        verdicts = (self._unsettled(case) or self._worse(case) for case in cases)
        return next((verdict for verdict in verdicts if verdict), None)

    def _unsettled(self, case: Case) -> tuple[Conclusion, str] | None:
        target = case.target(self.target, self.metric)
        why = None
        if not case.delta or set(case.before) != set(case.after):
            why = "lacks a run of control or candidate, or its two runs measured different metrics"
        elif case.read is False:
            why = "was replayed without reading the change"
        elif target is None:
            why = "measured no target, so nothing says whether it succeeded"
        elif case.role == "protected" and not self._succeeds(case.before[target]):
            why = f"no longer succeeds under control: {target} {case.before[target]:.3g}"
        return (Conclusion.UNDECIDED, f"{case.role} case {case.name} {why}") if why else None

    def _worse(self, case: Case) -> tuple[Conclusion, str] | None:
        target = case.target(self.target, self.metric)
        where = f"of {case.role} case {case.name}"
        if target is not None:
            old, new = case.before[target], case.after[target]
            if self._succeeds(old) and not self._succeeds(new):
                turned = f"{target} {where} went from success {old:.3g} to failure {new:.3g}"
                return Conclusion.REJECT_HARMFUL, turned
        for metric, change in case.delta.items():
            if change < -self.max_drop - ROUNDING:
                fell = f"{metric} {where} fell by {-change:.3g}, {self.max_drop:g} tolerated"
                return Conclusion.REJECT_HARMFUL, fell
        return None

    def _by_gain(self, gain: float | None, cases: int) -> tuple[Conclusion, str]:
        if gain is not None and gained(gain, self.min_gain):
            reached = f"mean gain {gain:.3g} on unprotected cases reaches {self.min_gain:g}"
            return Conclusion.ACCEPT, f"{reached}; none of {cases} cases got worse"
        found = "no unprotected case" if gain is None else f"mean gain {gain:.3g}"
        return (
            Conclusion.UNDECIDED,
            f"{found} on unprotected cases, {self.min_gain:g} needed; the proposal stays pending",
        )

    def _succeeds(self, value: Any) -> Any:
        """Success of one value or of an array of values, up to rounding."""
        return value >= self.success_at - ROUNDING
