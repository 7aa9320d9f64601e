"""Replay against the captured score: target only, the paper's rule, and its narrowed release."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from logoslab.gate.batch import SCORE, Batch, Bools, Floats, Outcomes
from logoslab.gate.cases import OUTCOME, Case, dropped, first_of_each, gained, replayed
from logoslab.gate.rule import ROUNDING, Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.needs import Needs

TARGET_HELP = "metric that the change declares as its target; a measured outcome goes before it"

INCONCLUSIVE = (
    "inconclusive: no failure case gave a score to compare; replay again, at most three attempts "
    "in all, then hold a forward trial"
)


class CapturedReplay(Rule):
    """A replayed failure case improves on its target, judged against the captured score.

    Δ_j is the replayed minus the captured score of a case on metric j; more is better on every
    metric. The target ĵ of a case is the first one that both sides measured of ``outcome``, the
    declared ``target`` and the rule's ``metric`` (that of the signature which captured the case).
    Evidence that never measured the rule's metric on one side is not applicable.

    Parameters
    ----------
    target : str, optional
        Metric that the change declares.
    delta_prom : float, default 0.05
        Least gain on the target of one failure case, above 0.
    max_failures, max_protected : int, default 3 and 2
        Cases that are read, the first ones in arrival order; the caller chooses that order and
        the failure cases of the signature. Those beyond are counted in ``cases_left_out``.
    """

    needs: ClassVar[Needs] = Needs(arms=("captured", "candidate"), roles=("failure",))
    sequential: ClassVar[bool] = True
    claim: ClassVar[str] = (
        "Empirical rule on a few replayed cases; it carries no error rate. A case that was "
        "captured because it scored low scores higher on the next run without any effect."
    )

    target: str | None = Field(default=None, description=TARGET_HELP)
    delta_prom: float = Field(
        default=0.05, gt=0, description="least gain on the target of one failure case"
    )
    max_failures: int = Field(default=3, ge=1, description="failure cases that are read")
    max_protected: int = Field(default=2, ge=0, description="protected cases that are read")

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row, from the cases of the batch."""
        if self.metric != SCORE:
            return super().decide_many(batch)
        if batch.cases is None or "failure" not in batch.cases.roles:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        roles = np.array(batch.cases.roles)
        chosen = first_of_each(batch.cases.roles, self.max_failures, self.max_protected)
        delta = (batch.cases.candidate.mean(axis=2) - batch.cases.captured)[:, chosen]
        best = delta[:, roles[chosen] == "failure"].max(axis=1)
        return Outcomes.first_true(
            [
                (self._harmed(delta), Conclusion.REJECT_HARMFUL),
                (best >= self.delta_prom - ROUNDING, Conclusion.ACCEPT),
            ],
            Conclusion.REJECT_INSUFFICIENT,
            len(chosen),
            len(batch),
        )

    def _decide(self, evidence: Evidence) -> Decision:
        cases = replayed(evidence, "captured", m_fail=self.m_fail)
        roles = [case.role for case in cases]
        chosen = [cases[i] for i in first_of_each(roles, self.max_failures, self.max_protected)]
        scored = [case for case in chosen if case.delta and self._counts(case)]
        gains = {
            case.name: (target, case.delta[target])
            for case in scored
            if case.role == "failure"
            and (target := case.target(self.target, self.metric)) is not None
        }
        conclusion, reason = self._concluded(scored, gains)
        return self._conclude(
            evidence,
            conclusion,
            reason + self._silence(scored),
            tasks=len(chosen),
            numbers={
                "best_gain": max((gain for _, gain in gains.values()), default=None),
                "worst_change": min((d for c in scored for d in c.delta.values()), default=None),
                "failure_cases": len(gains),
                "protected_cases": sum(case.role == "protected" for case in scored),
                "inconclusive_cases": len(chosen) - len(scored),
                "cases_left_out": len(cases) - len(chosen),
            },
            path={"target_gain": [gain for _, gain in gains.values()]},
        )

    def _concluded(
        self, scored: Sequence[Case], gains: Mapping[str, tuple[str, float]]
    ) -> tuple[Conclusion, str]:
        harm = [words for case in scored for words in self._harm(case)]
        if harm:
            more = f", and {len(harm) - 1} more such drop(s)" if len(harm) > 1 else ""
            return Conclusion.REJECT_HARMFUL, harm[0] + more
        if not gains:
            return Conclusion.UNDECIDED, INCONCLUSIVE
        name = max(gains, key=lambda case: gains[case][1])
        metric, gain = gains[name]
        moved = f"{metric} of failure case {name} changed by {gain:+.3g}"
        if gained(gain, self.delta_prom):
            return (
                Conclusion.ACCEPT,
                f"{moved}, at least delta_prom {self.delta_prom:g}; {self._no_veto(scored)}",
            )
        return (
            Conclusion.REJECT_INSUFFICIENT,
            f"no failure case improved by delta_prom {self.delta_prom:g}: at best, {moved}",
        )

    def _counts(self, case: Case) -> bool:
        """Whether this replay is evidence about the change."""
        return True

    def _silence(self, scored: Sequence[Case]) -> str:
        """What the evidence does not say and the rule would read."""
        return ""

    @abstractmethod
    def _harm(self, case: Case) -> list[str]:
        """What vetoes in one case, in words."""

    @abstractmethod
    def _harmed(self, delta: Floats) -> Bools:
        """Which rows have a vetoing Δ, from shape (K, cases)."""

    @abstractmethod
    def _no_veto(self, scored: Sequence[Case]) -> str:
        """What stands beside an accepted gain."""


class TargetOnly(CapturedReplay):
    """Accept ⇔ some failure case gains δ_prom on its target against the captured score.

    Nothing vetoes: it is the retention rule that the harness paper warns against, for it keeps
    what repairs its own failure and breaks other cases. No error rate.
    """

    name: ClassVar[str] = "target_only"
    source: ClassVar[str] = "Self-Healing Harness, RQ2: target-only retention"

    def _harm(self, case: Case) -> list[str]:
        return []

    def _harmed(self, delta: Floats) -> Bools:
        return np.zeros(len(delta), dtype=np.bool_)

    def _no_veto(self, scored: Sequence[Case]) -> str:
        return "this rule looks at nothing else"


class _Vetoed(CapturedReplay):
    """A captured replay in which a drop of ``delta_reg`` vetoes, before any gain is looked at."""

    delta_reg: float = Field(default=0.05, gt=0, description="drop on one metric that vetoes")

    def _harm(self, case: Case) -> list[str]:
        return [
            f"{j} of {case.role} case {case.name} changed by {d:+.3g}, a drop of at least "
            f"delta_reg {self.delta_reg:g}"
            for j, d in case.delta.items()
            if dropped(d, self.delta_reg) and self._may_veto(case, j)
        ]

    def _harmed(self, delta: Floats) -> Bools:
        return np.asarray((delta <= -self.delta_reg + ROUNDING).any(axis=1), dtype=np.bool_)

    def _no_veto(self, scored: Sequence[Case]) -> str:
        return f"no vetoing drop of {self.delta_reg:g} on any of {len(scored)} case(s)"

    @abstractmethod
    def _may_veto(self, case: Case, metric: str) -> bool:
        """Whether a drop of this metric on this case counts against the change."""


class ReplayCaptured(_Vetoed):
    """Accept ⇔ ∃ failure case Δ_ĵ ≥ δ_prom ∧ ∀ case ∀ metric Δ_j > −δ_reg: the paper's gate.

    Non-regression goes first. The reference is the *captured* score, so that regression to the
    mean alone promotes: a case that fails with probability q is captured when it has failed, and
    a change without any effect passes its replay with probability 1 − q. No error rate.

    Parameters
    ----------
    delta_reg : float, default 0.05
        Drop on one metric of one case that vetoes, above 0.
    target, delta_prom, max_failures, max_protected
        See :class:`CapturedReplay`.
    """

    name: ClassVar[str] = "replay_captured"
    source: ClassVar[str] = "Self-Healing Harness, Validate: the admission test; Algorithm 2"

    def _may_veto(self, case: Case, metric: str) -> bool:
        return True


class ReplayNarrowed(_Vetoed):
    """As replay_captured, but on failure cases only outcome and target metrics veto.

    On a failure case the metrics that veto are ``outcome``, the declared ``target`` and the
    rule's ``metric``; on a protected case every metric does. A replay that never read the change
    is inconclusive: the candidate's trials of the case say so by metric ``read`` (1 it was read,
    0 it was not). Without that metric a replay counts as it is, and the reason says so.
    No error rate; the captured reference is as in :class:`ReplayCaptured`.

    Parameters
    ----------
    delta_reg : float, default 0.05
        Drop on one metric of one case that vetoes, above 0.
    target, delta_prom, max_failures, max_protected
        See :class:`CapturedReplay`.
    """

    name: ClassVar[str] = "replay_narrowed"
    source: ClassVar[str] = "Self-Healing Harness, public release 0.9.0: narrowed retirement"

    def _may_veto(self, case: Case, metric: str) -> bool:
        return case.role == "protected" or metric in (OUTCOME, self.target, self.metric)

    def _counts(self, case: Case) -> bool:
        return case.read is not False

    def _silence(self, scored: Sequence[Case]) -> str:
        silent = sum(case.read is None for case in scored)
        return f" (the evidence does not say whether {silent} replay(s) read it)" if silent else ""
