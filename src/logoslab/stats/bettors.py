"""Single bettors: one predictable bet at a time, chosen from moments of the past alone.

A strategy receives `Past` and never the observation it bets on, so it cannot peek. The portfolio
in `eprocess` is the default elsewhere; single bettors serve comparison and confidence sequences.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import InvalidValue
from logoslab.stats._check import (
    Floats,
    choice,
    numbers,
    open_unit,
    stream_matrix,
    unit_values,
    vector,
)
from logoslab.stats.eprocess import Tail


class Past(NamedTuple):
    """What is known before observation t: t itself, and moments of observations 1..t−1.

    All are shrunk by one imaginary observation: mean (½ + Σ y_i)/t; variance
    (¼ + Σ (y_i − mean_i)²)/t with mean_i the shrunk mean after observation i; and spread
    (¼ + Σ (y_i − ȳ)²)/t with ȳ the plain mean.
    """

    t: Floats
    mean: Floats
    variance: Floats
    spread: Floats


Strategy = Callable[[Past, float], Floats]


def fixed_bet(size: float) -> Strategy:
    """The same bet every time."""
    return lambda past, m0: np.full_like(past.mean, size)


def plug_in_bet(alpha: float = 0.05) -> Strategy:
    """√(2·log(1/alpha)/(variance·t·log(1 + t))): the predictable plug-in of an optimal fixed bet.

    Waudby-Smith & Ramdas 2024, Eq. 15 with one-sided alpha.
    """
    weight = -2.0 * math.log(open_unit(alpha, "alpha"))
    return lambda past, m0: np.sqrt(weight / (past.variance * past.t * np.log1p(past.t)))


def agrapa_bet() -> Strategy:
    """(mean − m0)/(spread + (mean − m0)²): approximately growth-rate adaptive.

    Waudby-Smith & Ramdas 2024, section B.3.
    """

    def bet(past: Past, m0: float) -> Floats:
        excess = past.mean - m0
        return np.asarray(excess / (past.spread + excess * excess))

    return bet


def bettor_log_wealth(
    y: ArrayLike, m0: float, strategy: Strategy, *, c: float = 0.5, tail: Tail = "upper"
) -> Floats:
    """Log wealth of one bettor after every observation of one stream or of many.

    Null hypothesis: E[Y_t | past] <= m0 for every t (upper tail), or >= m0 (lower tail).

    K_t = Π(1 + λ_s(Y_s − m0)) with λ_s = clip(strategy(past_s, m0), 0, c/m0).

    Parameters
    ----------
    y : array_like, shape (n,) or (streams, n)
        Observations in [0, 1] in arrival order.
    m0 : float
        Mean under the null, in (0, 1).
    strategy : callable
        `fixed_bet(size)`, `plug_in_bet(alpha)`, `agrapa_bet()`, or any function of (Past, m0).
    c : float, default 0.5
        Largest share of the wealth at risk, in (0, 1).
    tail : {"upper", "lower"}
        "lower" runs on 1 − Y with 1 − m0.

    Returns
    -------
    ndarray, the shape of `y`

    Raises
    ------
    EvidenceError
        When a value is not a number in [0, 1].
    InvalidValue
        On a parameter outside its domain.
    """
    values = unit_values(y, "y")
    mean = _mirrored(m0, c, tail)
    rows = stream_matrix(values, "y")
    rows = 1.0 - rows if tail == "lower" else rows
    bets = np.clip(strategy(past_moments(rows), mean), 0.0, c / mean)
    return np.log1p(bets * (rows - mean)).cumsum(axis=1).reshape(values.shape)


def past_moments(rows: Floats) -> Past:
    """Shrunk moments before each observation, for rows of shape (streams, n)."""
    t = np.arange(1, rows.shape[1] + 1, dtype=np.float64)
    sums = _before(rows.cumsum(axis=1))
    mean = (0.5 + sums) / t
    after = (0.5 + sums + rows) / (t + 1)
    variance = (0.25 + _before(np.square(rows - after).cumsum(axis=1))) / t
    squares = _before(np.square(rows).cumsum(axis=1)) - sums * sums / np.maximum(t - 1, 1)
    spread = (0.25 + np.maximum(squares, 0.0)) / t
    return Past(np.broadcast_to(t, rows.shape), mean, variance, spread)


def _before(totals: Floats) -> Floats:
    """Running totals moved one step later, so that each stops before its own observation."""
    return np.concatenate([np.zeros((len(totals), 1)), totals[:, :-1]], axis=1)


class BettingProcess:
    """One bettor, one observation at a time; the streaming form of `bettor_log_wealth`.

    Null hypothesis, parameters and errors as there.
    """

    def __init__(
        self, m0: float, strategy: Strategy, *, c: float = 0.5, tail: Tail = "upper"
    ) -> None:
        self._mean, self._strategy, self._tail = _mirrored(m0, c, tail), strategy, tail
        self._cap = c / self._mean
        self._n, self._sum, self._squares, self._drift = 0, 0.0, 0.0, 0.0
        self._log_wealth, self._sup = 0.0, 0.0

    def update(self, y: float) -> Self:
        """Take one observation in [0, 1] and return the process."""
        value = float(unit_values([y], "y")[0])
        value = 1.0 - value if self._tail == "lower" else value
        bet = min(max(float(self._strategy(self._past(), self._mean)[0]), 0.0), self._cap)
        self._log_wealth += math.log1p(bet * (value - self._mean))
        self._sup = max(self._sup, self._log_wealth)
        self._n += 1
        self._sum += value
        self._squares += value * value
        self._drift += (value - (0.5 + self._sum) / (self._n + 1)) ** 2
        return self

    def _past(self) -> Past:
        t = self._n + 1
        around_mean = max(self._squares - self._sum**2 / max(self._n, 1), 0.0)
        moments = t, (0.5 + self._sum) / t, (0.25 + self._drift) / t, (0.25 + around_mean) / t
        return Past(*(np.array([float(x)]) for x in moments))

    @property
    def n(self) -> int:
        """Observations so far."""
        return self._n

    @property
    def log_wealth(self) -> float:
        """log K_n."""
        return self._log_wealth

    @property
    def p_value(self) -> float:
        """min(1, 1/sup K): a p-value at every stopping time."""
        return math.exp(-self._sup)


def hedged_log_wealth(
    upper: ArrayLike, lower: ArrayLike, *, how: Literal["average", "max"] = "average"
) -> Floats:
    """Two-sided log wealth log((K⁺ + K⁻)/2), or the smaller max(K⁺, K⁻)/2, from both tails.

    Null hypothesis: E[Y_t | past] = m0. Arrays of one shape.
    """
    choice(how, ("average", "max"), "how")
    up, down = numbers(upper, "upper"), numbers(lower, "lower")
    joined = np.logaddexp(up, down) if how == "average" else np.maximum(up, down)
    return np.asarray(joined - math.log(2.0))


def merge_product(log_e: ArrayLike) -> float:
    """Log of the product of e-values that are independent, or each valid given the earlier ones."""
    return float(vector(numbers(log_e, "log_e"), "log_e").sum())


def merge_average(log_e: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Log of the weighted average of e-values: an e-value under any dependence.

    Weights are non-negative, fixed in advance and sum to 1; equal by default. Vovk & Wang 2021.
    """
    logs = vector(numbers(log_e, "log_e"), "log_e")
    if weights is None:
        return float(np.logaddexp.reduce(logs) - math.log(len(logs)))
    shares = vector(unit_values(weights, "weights"), "weights")
    if shares.shape != logs.shape or abs(shares.sum() - 1.0) > 1e-9:
        raise InvalidValue(
            "weights",
            got=shares.tolist(),
            allowed=f"{len(logs)} shares that sum to 1",
            next_step="Fix one share for each e-value before looking.",
        )
    used = shares > 0
    return float(np.logaddexp.reduce(logs[used] + np.log(shares[used])))


def merge_minimum(log_e: ArrayLike) -> float:
    """Log of the smallest e-value: evidence that every one of several null hypotheses is false."""
    return float(vector(numbers(log_e, "log_e"), "log_e").min())


def _mirrored(m0: float, c: float, tail: str) -> float:
    open_unit(m0, "m0")
    open_unit(c, "c")
    choice(tail, ("upper", "lower"), "tail")
    return 1.0 - m0 if tail == "lower" else float(m0)
