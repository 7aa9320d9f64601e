"""Paired tasks as a law, and admission rules as decision functions on what the law draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtr, ndtri

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.batch import Batch
from logoslab.gate.rule import Rule
from logoslab.pack.decision import Conclusion
from logoslab.stats import Decisions

Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, int], Floats]

LEVELS: Final = ndtr(np.linspace(-8.0, 8.0, 1 << 14))
"""Probabilities at which a Beta law is inverted: equal steps of a normal score, ends included."""


@dataclass(frozen=True)
class PairedTasks:
    """How the paired difference d = candidate − incumbent of one task is distributed.

    Give ``discordance`` for 0/1 scores or ``noise`` for scores in [0, 1], not both.

    Parameters
    ----------
    effect : float
        E[d], in units of the score.
    discordance : float, optional
        P(d ≠ 0) for one pair of runs, in (0, 1]: then P(fix) = (discordance + effect)/2 and
        P(break) = (discordance − effect)/2, so \\|effect\\| may not exceed it.
    noise : float, optional
        Standard deviation of d for one pair of runs, above 0. Then d follows the Beta law on
        [-1, 1] with this mean and deviation, which exists when noise² < 1 − effect². Its quantiles
        are interpolated between 16,384 exact ones.
    replicates : int, default 1
        Runs of each task and arm, B ≥ 1. They are independent given nothing but the law, so the
        mean over them has 1/B of the variance: all discordance is taken as run-to-run noise.
        Where the same tasks flip in every run, replicates buy less than this says.

    Raises
    ------
    InvalidValue
        On a value outside its domain or a combination that no law has.
    """

    effect: float
    discordance: float | None = None
    noise: float | None = None
    replicates: int = 1

    def __post_init__(self) -> None:
        if (self.discordance is None) == (self.noise is None):
            raise InvalidValue(
                "discordance and noise",
                got=f"discordance {self.discordance}, noise {self.noise}",
                allowed="exactly one of them",
                next_step="Give discordance for 0/1 scores, noise for any other score.",
            )
        if type(self.replicates) is not int or self.replicates < 1:
            raise InvalidValue(
                "replicates",
                got=self.replicates,
                allowed="a whole number of at least 1",
                next_step="State how often each task runs in each arm.",
            )
        if self.discordance is not None:
            self._check_discordance(self.discordance)
        if self.noise is not None:
            self._check_noise(self.noise)

    @property
    def largest_effect(self) -> float:
        """The largest effect that fits beside the discordance or the noise."""
        if self.discordance is not None:
            return self.discordance
        return 0.999 * math.sqrt(1 - (self.noise or 0.0) ** 2)

    @property
    def deviation(self) -> float:
        """Standard deviation of one task's mean difference over its replicates."""
        one = self.noise
        if self.discordance is not None:
            one = math.sqrt(max(self.discordance - self.effect**2, 0.0))
        return (one or 0.0) / math.sqrt(self.replicates)

    def at(self, effect: float) -> Self:
        """The same tasks under another effect."""
        return replace(self, effect=effect)

    def differences(self, uniform: Floats) -> Floats:
        """d from uniforms: shape (…, B) → (…), never falling when the effect of 0/1 scores rises.

        The same uniforms under two laws are common random numbers.
        """
        if self.discordance is not None:
            fixed = uniform < (self.discordance + self.effect) / 2
            broken = uniform >= 1 - (self.discordance - self.effect) / 2
            each = fixed.astype(np.float64) - broken
        else:
            each = np.interp(uniform, LEVELS, _quantiles(*self._beta()))
        return np.asarray(each.mean(axis=-1))

    def draw(self, n: int) -> Draw:
        """A sampler of n tasks for :func:`logoslab.stats.operating_characteristics`."""

        def sample(rng: np.random.Generator, runs: int) -> Floats:
            return self.differences(rng.random((runs, n, self.replicates)))

        return sample

    def _beta(self) -> tuple[float, float]:
        mean = (1 + self.effect) / 2
        size = mean * (1 - mean) / ((self.noise or 0.0) / 2) ** 2 - 1
        return mean * size, (1 - mean) * size

    def _check_discordance(self, share: float) -> None:
        if not 0 < share <= 1:
            raise InvalidValue(
                "discordance",
                got=share,
                allowed="a share in (0, 1]",
                next_step="Count the tasks of a pilot on which the two arms differ.",
            )
        if not abs(self.effect) <= share:
            raise InvalidValue(
                "effect",
                got=self.effect,
                allowed=f"at most the discordance {share:g} in size: effect = fixed − broken",
                next_step="Lower the effect, or raise the discordance.",
            )

    def _check_noise(self, noise: float) -> None:
        if not (noise > 0 and noise**2 < 1 - self.effect**2):
            raise InvalidValue(
                "noise",
                got=f"{noise} with effect {self.effect}",
                allowed="above 0, with noise² < 1 − effect²: differences lie in [-1, 1]",
                next_step="State the standard deviation of one paired difference.",
            )


@lru_cache(maxsize=64)
def _quantiles(a: float, b: float) -> Floats:
    """Quantiles of the Beta law on [-1, 1] at LEVELS: far faster than to invert every draw."""
    return np.asarray(2 * betaincinv(a, b, LEVELS) - 1)


def as_batch(d: Floats) -> Batch:
    """Paired differences as scores in [0, 1]: the better arm scores 1, the other 1 − \\|d\\|.

    A tie is a task that both arms solve. Rules on paired differences see nothing else.
    """
    return Batch(incumbent=1 - np.maximum(d, 0.0), candidate=1 - np.maximum(-d, 0.0))


def decider(rule: Rule) -> Callable[[Floats], Decisions]:
    """A rule as a decision function on paired differences of shape (runs, n).

    It raises :class:`EvidenceError` with the rule's own reason where the rule cannot judge.
    """

    def decide(d: Floats) -> Decisions:
        batch = as_batch(d)
        outcomes = rule.decide_many(batch)
        unjudged = np.flatnonzero(outcomes.conclusions == Conclusion.NOT_APPLICABLE.value)
        if unjudged.size:
            raise _cannot_judge(rule, rule.decide(batch.evidence(int(unjudged[0]))).reason)
        return Decisions(outcomes.accepted, outcomes.tasks.astype(np.float64))

    return decide


def check_plannable(rule: Rule, tasks: PairedTasks, n: int, rng: np.random.Generator) -> None:
    """Refuse a rule that needs more than paired scores, from one simulated candidate.

    Raises
    ------
    EvidenceError
        With the rule's own reason.
    """
    decision = rule.decide(as_batch(tasks.draw(n)(rng, 1)).evidence(0))
    if decision.conclusion is Conclusion.NOT_APPLICABLE:
        raise _cannot_judge(rule, decision.reason)


def tasks_needed(tasks: PairedTasks, error: float, power: float) -> int:
    """Tasks that a one-sided test of the mean needs, by the normal approximation.

    n = ((z_{1−error}·σ₀ + z_{power}·σ₁)/effect)², with σ₀ and σ₁ the deviation of one task's mean
    difference without and with the effect.
    """
    reach = -ndtri(error) * tasks.at(0.0).deviation + ndtri(power) * tasks.deviation
    return math.ceil((reach / tasks.effect) ** 2)


def effect_needed(tasks: PairedTasks, n: int, error: float, power: float) -> float:
    """Effect that the same test finds on n tasks, with σ₀ for both deviations: a little too large.

    See :func:`tasks_needed`. May exceed what the discordance allows.
    """
    return float((ndtri(power) - ndtri(error)) * tasks.at(0.0).deviation / math.sqrt(n))


def label_of(rule: Rule) -> str:
    """The rule's name with the parameters that differ from their defaults."""
    inside = ", ".join(f"{name}={value}" for name, value in rule.__repr_args__())
    return f"{rule.name}({inside})" if inside else rule.name


def several(given: Any) -> tuple[Any, ...]:
    """One value or several as a tuple."""
    return tuple(np.atleast_1d(given).tolist())


def whole_tasks(n: int | Sequence[int]) -> tuple[int, ...]:
    """Numbers of tasks, each at least 2."""
    sizes = several(n)
    wrong = [size for size in sizes if type(size) is not int or size < 2]
    if wrong or not sizes:
        raise InvalidValue(
            "n",
            got=wrong[0] if wrong else "none",
            allowed="whole numbers of tasks, at least 2",
            next_step="State one number of tasks or several.",
        )
    return sizes


def _cannot_judge(rule: Rule, reason: str) -> EvidenceError:
    return EvidenceError(
        f"rule {rule.name} on simulated paired tasks",
        got=reason,
        allowed="evidence that the rule can judge",
        next_step="Plan it with other parameters, or leave it out.",
    )
