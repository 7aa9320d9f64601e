"""Rules that look after every task: the sequential probability ratio test and a bet on pairs."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar, Final, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from logoslab.gate.batch import Batch, Floats, Outcomes
from logoslab.gate.rule import ROUNDING, PairedRule
from logoslab.gate.streams import drawn, first_task
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.needs import Needs

# One imagined task with the largest variance that differences in [-1, 1] can have: without it the
# first few ties have no variance and decide at once.
PRIOR_VARIANCE: Final = 1.0


class _TwoBounds(PairedRule):
    """Two running logs, for and against the candidate; the first at its bound decides."""

    sequential: ClassVar[bool] = True
    logs: ClassVar[tuple[str, str]]
    """Names of the two logs on record."""

    @abstractmethod
    def _logs(self, d: Floats) -> tuple[Floats, Floats]:
        """Both logs after every task, each of the shape of ``d``, (K, n)."""

    @property
    @abstractmethod
    def _bounds(self) -> tuple[float, float]:
        """What the two logs must reach."""

    @property
    def _against(self) -> Conclusion:
        return Conclusion.REJECT_HARMFUL

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        d = drawn(evidence, pairs)
        logs = self._logs(d[None])
        outcome = self._stopped(logs)
        conclusion, tasks = Conclusion(outcome.conclusions[0]), int(outcome.tasks[0])
        path = {name: log[0, :tasks].tolist() for name, log in zip(self.logs, logs, strict=True)}
        last = {name: values[-1] if values else 0.0 for name, values in path.items()}
        bounds = dict(zip((f"bound_{name}" for name in self.logs), self._bounds, strict=True))
        used = d[:tasks].tolist()
        return self._conclude(
            evidence,
            conclusion,
            self._reason(conclusion, last, evidence),
            tasks=tasks,
            numbers={
                **last,
                **bounds,
                "mean_difference": math.fsum(used) / tasks if tasks else None,
                "fixed": sum(x > ROUNDING for x in used),
                "regressions": sum(x < -ROUNDING for x in used),
                "tasks_available": len(d),
            },
            path={**path, "difference": used},
        )  # fmt: skip

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        return self._stopped(self._logs(d))

    def _stopped(self, logs: tuple[Floats, Floats]) -> Outcomes:
        up, down = (first_task(log >= b) for log, b in zip(logs, self._bounds, strict=True))
        rows, n = logs[0].shape
        stop = np.minimum(up, down)
        return Outcomes.first_true(
            [(stop > n, Conclusion.UNDECIDED), (up == stop, Conclusion.ACCEPT)],
            self._against,
            np.minimum(stop, n),
            rows,
        )

    def _reason(self, conclusion: Conclusion, last: dict[str, float], evidence: Evidence) -> str:
        if conclusion is Conclusion.UNDECIDED:
            done = "the tasks ran out before the evidence decided"
            return done if evidence.complete else "not decided yet"
        side = 0 if conclusion is Conclusion.ACCEPT else 1
        name = self.logs[side]
        return f"{name} {last[name]:.3g} reached its bound {self._bounds[side]:.3g}"


class Sprt(_TwoBounds):
    """Generalised sequential probability ratio test of the mean difference (Gaussian form).

    LLR_t = t·(μ1 − μ0)·(mean_t − (μ0 + μ1)/2)/var_t. Accept (H1: mean = μ1) once LLR ≥
    log((1−β)/α); reject (H0: mean = μ0) once LLR ≤ log(β/(1−α)). Chess-engine testing asks one of
    two questions, each with its own bounds:

    ``gain``: is it better? μ0 = 0, μ1 = 0.1 by default; H0 is ``reject_insufficient``.
    ``non_regression``: is a simplification harmless? μ0 = −0.1, μ1 = 0; H0 is ``reject_harmful``,
    and a candidate without any effect is accepted with probability near 1 − β, as asked.

    Parameters
    ----------
    purpose : str, default "gain"
    h0, h1 : float, optional
        μ0 < μ1, mean differences in [-1, 1]; None is the default of the purpose.
    alpha : float, default 0.05
        Wanted probability of acceptance at mean μ0, in (0, 0.5).
    beta : float, default 0.05
        Wanted probability of rejection at mean μ1, in (0, 0.5).

    Notes
    -----
    var_t is the variance so far, with one imagined task of variance 1. The errors are Wald's and
    hold approximately, for many tasks and small h1. Measured on identical 0/1 arms with alpha .05
    and up to 2,000 tasks: at most .058 with h1 = .1, .083 with h1 = .3, where the variance around
    a lucky mean is too small; .11 where rare large losses balance many small gains. Running out
    of tasks is ``undecided`` and accepts nothing. Stopping by hand elsewhere breaks both errors.
    """

    name: ClassVar[str] = "sprt"
    source: ClassVar[str] = "Wald 1945; GSPRT of chess-engine testing (fishtest)"
    needs: ClassVar[Needs] = Needs(bounded=True)
    claim: ClassVar[str] = (
        "Errors alpha at mean h0 and beta at mean h1 hold approximately (Wald; estimated "
        "variance), for independent tasks and stopping at the bounds only."
    )
    logs: ClassVar[tuple[str, str]] = ("llr_h1", "llr_h0")

    purpose: Literal["gain", "non_regression"] = Field(
        default="gain", description="which question is asked"
    )
    h0: float | None = Field(
        default=None, ge=-1, le=1, description="mean under H0; None is 0, or -0.1"
    )
    h1: float | None = Field(
        default=None, ge=-1, le=1, description="mean under H1; None is 0.1, or 0"
    )
    alpha: float = Field(default=0.05, gt=0, lt=0.5, description="false acceptance at mean h0")
    beta: float = Field(default=0.05, gt=0, lt=0.5, description="false rejection at mean h1")

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = self.means
        if not low < high:
            raise ValueError("h0 below h1")
        return self

    @property
    def means(self) -> tuple[float, float]:
        """μ0 and μ1."""
        low, high = (0.0, 0.1) if self.purpose == "gain" else (-0.1, 0.0)
        return low if self.h0 is None else self.h0, high if self.h1 is None else self.h1

    @property
    def _against(self) -> Conclusion:
        gain = self.purpose == "gain"
        return Conclusion.REJECT_INSUFFICIENT if gain else Conclusion.REJECT_HARMFUL

    @property
    def _bounds(self) -> tuple[float, float]:
        a, b = self.alpha, self.beta
        return math.log((1 - b) / a), math.log((1 - a) / b)

    def _logs(self, d: Floats) -> tuple[Floats, Floats]:
        low, high = self.means
        t = np.arange(1, d.shape[1] + 1)
        total = d.cumsum(axis=1)
        spread = (d * d).cumsum(axis=1) - total * total / t
        variance = (np.maximum(spread, 0.0) + PRIOR_VARIANCE) / (t + 1)
        llr = (high - low) * (total - t * (low + high) / 2) / variance
        return llr, -llr


class EValuePairs(_TwoBounds):
    """Bet on each discordant pair that the candidate wins it; accept at wealth ≥ 1/level.

    H0: given the past, a task that changes is as likely lost as gained. Wealth grows by 1 + bet
    for a gain and 1 − bet for a loss; ties leave it alone. The same bet on losses says
    ``reject_harmful``. Only signs count: many small gains pass even if rare large losses undo them.

    Parameters
    ----------
    bet : float, default 0.5
        Share of the wealth that is staked, in (0, 1).
    level : float, default 0.05
        In (0, 1).
    """

    name: ClassVar[str] = "e_value_pairs"
    source: ClassVar[str] = "Ville 1939; per-candidate e-value gates of agent harnesses"
    claim: ClassVar[str] = (
        "Level holds at every stopping time for one candidate on fresh tasks; it starts anew for "
        "the next candidate."
    )
    logs: ClassVar[tuple[str, str]] = ("log_wealth", "log_wealth_harm")

    bet: float = Field(default=0.5, gt=0, lt=1, description="share of the wealth at stake")
    level: float = Field(default=0.05, gt=0, lt=1, description="level of acceptance")

    @property
    def _bounds(self) -> tuple[float, float]:
        return -math.log(self.level), -math.log(self.level)

    def _logs(self, d: Floats) -> tuple[Floats, Floats]:
        up = (d > ROUNDING).cumsum(axis=1)
        down = (d < -ROUNDING).cumsum(axis=1)
        won, lost = math.log1p(self.bet), math.log1p(-self.bet)
        return up * won + down * lost, down * won + up * lost
