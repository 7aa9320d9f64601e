"""Simple admission rules for comparison. None of them may promote anything."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from pydantic import Field

from logoslab.gate.batch import Batch, Floats, Outcomes
from logoslab.gate.rule import ROUNDING, PairedRule
from logoslab.gate.streams import drawn
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.needs import Needs
from logoslab.stats import mcnemar_exact

FIXED_SIZE = "Level holds for one test of one candidate at a sample size fixed in advance."


class AcceptAll(PairedRule):
    """Accept everything that ran: the negative control of every comparison."""

    name: ClassVar[str] = "accept_all"
    source: ClassVar[str] = "negative control"

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        return self._conclude(
            evidence,
            Conclusion.ACCEPT,
            "this rule accepts everything",
            tasks=len(pairs.tasks),
            path={"difference": pairs.difference.tolist()},
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        return Outcomes.first_true([], Conclusion.ACCEPT, d.shape[1], len(d))


class MeanImproves(PairedRule):
    """Accept ⇔ mean(d) > 0, or ≥ 0 when ``strict`` is False: the usual keep-if-better loop.

    Under no effect it accepts about half of the candidates that change anything.
    """

    name: ClassVar[str] = "mean_improves"
    source: ClassVar[str] = "keep-if-better loops of prompt and workflow optimisers"

    strict: bool = Field(default=True, description="a tie is not an improvement")

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        d = pairs.difference.tolist()
        mean = math.fsum(d) / len(d)
        good = mean > ROUNDING if self.strict else mean >= -ROUNDING
        return self._conclude(
            evidence,
            Conclusion.ACCEPT if good else _rejected(mean),
            f"mean difference {mean:.3g}",
            tasks=len(d),
            numbers={"mean_difference": mean},
            path={"difference": d},
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        mean = d.mean(axis=1)
        good = mean > ROUNDING if self.strict else mean >= -ROUNDING
        return _by_sign(good, mean, d.shape[1])


class MinibatchSum(PairedRule):
    """Accept ⇔ the summed score of the first ``size`` tasks rises: a reflective optimiser's step.

    At size 3 and success rate .5 it accepts a third (.34) of the candidates without any effect.

    Parameters
    ----------
    size : int, default 3
        Tasks of the minibatch, in the order of arrival.
    """

    name: ClassVar[str] = "minibatch_sum"
    source: ClassVar[str] = "GEPA (Agrawal et al. 2025), default acceptance"
    sequential: ClassVar[bool] = True

    size: int = Field(default=3, ge=1, description="tasks of the minibatch")

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        d = drawn(evidence, pairs)[: self.size].tolist()
        if len(d) < self.size:
            return self.not_applicable(
                evidence, f"{len(d)} tasks; the minibatch needs {self.size}", tasks=len(d)
            )
        total = math.fsum(d)
        return self._conclude(
            evidence,
            Conclusion.ACCEPT if total > ROUNDING else _rejected(total),
            f"the sum over the first {self.size} tasks changes by {total:.3g}",
            tasks=self.size,
            numbers={"sum_difference": total, "mean_difference": total / self.size},
            path={"difference": d},
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        if d.shape[1] < self.size:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, d.shape[1], len(d))
        total = d[:, : self.size].sum(axis=1)
        return _by_sign(total > ROUNDING, total, self.size)


class McNemar(PairedRule):
    """Exact one-sided McNemar test on 0/1 scores: P(Bin(b+c, ½) ≥ b) ≤ level.

    b tasks are fixed and c regress; ties do not count. Valid for one look at a fixed n.

    Parameters
    ----------
    level : float, default 0.05
        In (0, 1).
    """

    name: ClassVar[str] = "mcnemar"
    source: ClassVar[str] = "McNemar 1947, exact form"
    needs: ClassVar[Needs] = Needs(binary=True)
    claim: ClassVar[str] = FIXED_SIZE

    level: float = Field(default=0.05, gt=0, lt=1, description="level of the test")

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        values = np.concatenate([pairs.incumbent, pairs.candidate])
        if not np.isin(values, (0.0, 1.0)).all():
            return self.not_applicable(
                evidence,
                "the test needs one 0/1 score for each task and arm",
                tasks=len(pairs.tasks),
            )
        fixed, lost = int((pairs.difference > 0).sum()), int((pairs.difference < 0).sum())
        p, p_harm = (
            float(mcnemar_exact(fixed, lost, alternative=side)) for side in ("greater", "less")
        )
        outcome = by_p_values(np.array([p]), np.array([p_harm]), self.level, len(values) // 2)
        return self._conclude(
            evidence,
            Conclusion(outcome.conclusions[0]),
            f"{fixed} fixed and {lost} regressed: p {p:.3g}",
            tasks=len(pairs.tasks),
            numbers={"p": p, "p_harm": p_harm, "fixed": fixed, "regressions": lost},
            path={"difference": pairs.difference.tolist()},
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        fixed, lost = (d > 0).sum(axis=1), (d < 0).sum(axis=1)
        p = mcnemar_exact(fixed, lost, alternative="greater")
        p_harm = mcnemar_exact(fixed, lost, alternative="less")
        return by_p_values(p, p_harm, self.level, d.shape[1])


def by_p_values(p: Floats, p_harm: Floats, level: float, tasks: int) -> Outcomes:
    """Accept at p ≤ level, harmful at p_harm ≤ level, else insufficient; up to rounding."""
    return Outcomes.first_true(
        [
            (p <= level + ROUNDING, Conclusion.ACCEPT),
            (p_harm <= level + ROUNDING, Conclusion.REJECT_HARMFUL),
        ],
        Conclusion.REJECT_INSUFFICIENT,
        tasks,
        len(p),
    )


def _rejected(gain: float) -> Conclusion:
    return Conclusion.REJECT_HARMFUL if gain < -ROUNDING else Conclusion.REJECT_INSUFFICIENT


def _by_sign(good: np.ndarray[tuple[int], np.dtype[np.bool_]], gain: Floats, n: int) -> Outcomes:
    return Outcomes.first_true(
        [(good, Conclusion.ACCEPT), (gain < -ROUNDING, Conclusion.REJECT_HARMFUL)],
        Conclusion.REJECT_INSUFFICIENT,
        n,
        len(gain),
    )
