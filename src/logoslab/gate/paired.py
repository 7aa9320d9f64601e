"""The fixed paired gate: enough mean gain, few enough regressions (LOGOS Eqs. 58, 59)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from logoslab.gate.batch import Batch, Floats, Outcomes
from logoslab.gate.rule import ROUNDING, PairedRule, chosen, is_binary, regressed
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs


class PairedGate(PairedRule):
    """Accept ⇔ mean(d) ≥ δ_min ∧ #{i: d_i < −ε_reg} ≤ R_max, with vetoes (LOGOS Eq. 59).

    d_i is the mean over replicates of candidate minus incumbent on task i (Eq. 58). A task that
    an arm does not return scores ``m_fail`` and stays in the mean and in the count.

    Parameters
    ----------
    delta_min : float, optional
        Least mean gain, at least 0, in units of the metric. None means 1/n, one task, and is
        allowed for 0/1 scores only; any other metric needs a declared effect.
    eps_reg : float, default 0
        Drop on one task that is tolerated.
    r_max : int, default 0
        Regressed tasks that are tolerated; 1 is meant for low-risk skill changes with n ≥ 20.
    max_rate : float, optional
        Share of regressed tasks that is tolerated, in [0, 1], besides the count.
    max_task_loss : float, optional
        Largest drop on any one task, above 0.
    critical_slices : tuple of str
        A regression in one of these slices vetoes. Without a task of each, not applicable.
    safety_veto : bool, default True
        A forbidden previewed effect, or a regression on a task of role ``safety``, vetoes.

    Notes
    -----
    ``reject_harmful``: a veto, regressions over the budget, or a negative mean.
    ``reject_insufficient``: none of these, and the mean is below δ_min or no task was fixed (a tie
    is on record as non-regressing and is not accepted). It is an empirical rule without an error
    rate: on 20 tasks with 10 % random flips it accepts a candidate without effect about one time
    in four.
    """

    name: ClassVar[str] = "paired"
    source: ClassVar[str] = "LOGOS Eqs. 58-59, table 34"

    delta_min: float | None = Field(
        default=None, ge=0, description="least mean gain; None is 1/n, for 0/1 scores only"
    )
    eps_reg: float = Field(default=0.0, ge=0, description="drop on one task that is tolerated")
    r_max: int = Field(default=0, ge=0, description="regressed tasks that are tolerated")
    max_rate: float | None = Field(
        default=None, ge=0, le=1, description="share of regressed tasks that is tolerated"
    )
    max_task_loss: float | None = Field(
        default=None, gt=0, description="largest tolerated drop on any one task"
    )
    critical_slices: tuple[str, ...] = Field(
        default=(), description="slices in which a regression vetoes"
    )
    safety_veto: bool = Field(
        default=True, description="a forbidden effect or a lost safety task vetoes"
    )

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        n = len(pairs.tasks)
        if self.delta_min is None and not is_binary(evidence, self.metric):
            return self.not_applicable(
                evidence,
                f"{self.metric} takes values other than 0 and 1, so one task is no unit of gain. "
                "Declare delta_min, the least practical effect in units of the metric.",
                tasks=n,
            )
        absent = self._absent(evidence, pairs)
        if absent:
            return self.not_applicable(
                evidence, f"no task of critical slice {', '.join(absent)}", tasks=n
            )
        delta_min = 1 / n if self.delta_min is None else self.delta_min
        numbers = self._numbers(pairs, delta_min)
        harm = [*self._vetoes(evidence, pairs), *self._over_budget(numbers)]
        conclusion, reason = _concluded(harm, numbers)
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=n,
            numbers=numbers,
            path={"difference": pairs.difference.tolist()},
            params={"delta_min": delta_min},
        )

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        n = d.shape[1]
        if set(self.critical_slices) - {"all"}:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, n, len(d))
        mean, count = d.sum(axis=1) / n, regressed(d, self.eps_reg).sum(axis=1)
        harm = (count > self.r_max) | (mean < -ROUNDING)
        if self.max_rate is not None:
            harm |= count / n > self.max_rate
        if self.max_task_loss is not None:
            harm |= -d.min(axis=1) > self.max_task_loss + ROUNDING
        if "all" in self.critical_slices:  # the one slice that every task of a batch is in
            harm |= count > 0
        delta_min = 1 / n if self.delta_min is None else self.delta_min
        tied = (d <= ROUNDING).all(axis=1)
        no_unit = ~batch.binary if self.delta_min is None else False
        return Outcomes.first_true(
            [
                (no_unit, Conclusion.NOT_APPLICABLE),
                (harm, Conclusion.REJECT_HARMFUL),
                (tied | (mean < delta_min - ROUNDING), Conclusion.REJECT_INSUFFICIENT),
            ],
            Conclusion.ACCEPT,
            n,
            len(d),
        )

    def _numbers(self, pairs: Pairs, delta_min: float) -> dict[str, float]:
        d = pairs.difference
        # An exactly rounded sum, so that the order of the tasks cannot matter.
        return {
            "mean_difference": math.fsum(d.tolist()) / len(d),
            "delta_min": delta_min,
            "regressions": int(regressed(d, self.eps_reg).sum()),
            "fixed": int((d > ROUNDING).sum()),
            "largest_loss": max(0.0, float(-d.min())),
            "missing": len(pairs.filled),
            "tasks": len(d),
        }

    def _absent(self, evidence: Evidence, pairs: Pairs) -> list[str]:
        """Critical slices that no compared task is in: a veto that nothing could trip."""
        if not self.critical_slices:
            return []
        compared = set(pairs.tasks)
        there = {t.slice for t in evidence.trials if t.task in compared}
        return [s for s in self.critical_slices if s not in there]

    def _vetoes(self, evidence: Evidence, pairs: Pairs) -> list[str]:
        worse = set(chosen(pairs.tasks, regressed(pairs.difference, self.eps_reg)))
        slices = {t.slice for t in evidence.trials if t.task in worse}
        found = [f"critical slice {s} regressed" for s in self.critical_slices if s in slices]
        if self.safety_veto:
            found += [f"forbidden effect {effect}" for effect in evidence.effects]
            if any(t.role == "safety" and t.task in worse for t in evidence.trials):
                found.append("a safety task regressed")
        return found

    def _over_budget(self, numbers: Mapping[str, float]) -> list[str]:
        count, n = int(numbers["regressions"]), int(numbers["tasks"])
        found = []
        if count > self.r_max:
            found.append(f"{count} regressed task(s), {self.r_max} tolerated")
        if self.max_rate is not None and count / n > self.max_rate:
            found.append(f"{count} of {n} tasks regressed, a share of {self.max_rate:g} tolerated")
        loss = numbers["largest_loss"]
        if self.max_task_loss is not None and loss > self.max_task_loss + ROUNDING:
            found.append(f"one task lost {loss:.3g}, {self.max_task_loss:g} tolerated")
        if numbers["mean_difference"] < -ROUNDING:
            found.append(f"the mean fell by {-numbers['mean_difference']:.3g}")
        return found


def _concluded(harm: list[str], numbers: Mapping[str, float]) -> tuple[Conclusion, str]:
    mean, delta_min = numbers["mean_difference"], numbers["delta_min"]
    if harm:
        return Conclusion.REJECT_HARMFUL, "; ".join(harm)
    if not numbers["fixed"]:
        return Conclusion.REJECT_INSUFFICIENT, "non-regressing: no task improved and none fell"
    if mean < delta_min - ROUNDING:
        return (
            Conclusion.REJECT_INSUFFICIENT,
            f"mean gain {mean:.3g} is below delta_min {delta_min:.3g}",
        )
    return (
        Conclusion.ACCEPT,
        f"mean gain {mean:.3g} reaches delta_min {delta_min:.3g} with "
        f"{int(numbers['regressions'])} regressed task(s)",
    )
