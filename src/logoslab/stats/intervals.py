"""Intervals for a rate from a fixed number of trials: Wilson, Clopper-Pearson and kl bounds."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri, xlogy

from logoslab.stats._check import Floats, counts, numbers, open_unit, unit_values, within

# Halvings of [0, 1] until the bracket is narrower than float64 resolves next to 1.
HALVINGS: Final = 60
# Rounding error of the divergence below; the bracket moves outwards by it, so it stays a bound.
ROUNDING: Final = 4 * float(np.finfo(np.float64).eps)


class Bounds(NamedTuple):
    """Lower and upper ends: arrays of one shape, numpy scalars for a single interval."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, low: Floats, high: Floats) -> Bounds:
        """Bounds whose zero-dimensional ends have become scalars."""
        return cls(low[()], high[()])


def wilson(k: ArrayLike, n: ArrayLike, alpha: float = 0.05) -> Bounds:
    """Wilson score interval for a rate, two-sided, level about 1 − alpha.

    Model: k of n independent trials with one success rate. Fixed n, so not valid under peeking.

    Parameters
    ----------
    k, n : array_like of whole numbers
        Successes and trials, 0 <= k <= n, n >= 1; broadcast together.
    alpha : float
        Miss probability, in (0, 1).

    Returns
    -------
    Bounds
        Ends in [0, 1], shape of the broadcast counts.

    Raises
    ------
    EvidenceError
        When counts are not whole or k is not in 0..n.
    InvalidValue
        When alpha is not in (0, 1).

    Notes
    -----
    (p̂ + z²/2n ∓ z·√(p̂(1−p̂)/n + z²/4n²))/(1 + z²/n). Wilson 1927.
    """
    hits, trials = counts(k, n, "wilson")
    z = -float(ndtri(open_unit(alpha, "alpha") / 2.0))
    misses, squared = trials - hits, z * z
    root = z * np.sqrt(hits * misses / trials + squared / 4.0)
    # Each end from its own stable form: the plain formula cancels next to 0 and 1.
    low = hits * hits / trials / (hits + squared / 2.0 + root)
    high = 1.0 - misses * misses / trials / (misses + squared / 2.0 + root)
    return Bounds.of(low, high)


def clopper_pearson(k: ArrayLike, n: ArrayLike, alpha: float = 0.05) -> Bounds:
    """Exact interval for a rate: misses it with probability at most alpha/2 on each side.

    Arguments, results and errors as in `wilson`. Ends are beta quantiles at alpha/2; the lower end
    is 0 when k = 0 and the upper end is 1 when k = n. Clopper & Pearson 1934.
    """
    hits, trials = counts(k, n, "clopper_pearson")
    tail = open_unit(alpha, "alpha") / 2.0
    low, high = np.zeros(hits.shape), np.ones(hits.shape)
    some, lost = hits > 0, hits < trials
    low[some] = betaincinv(hits[some], (trials - hits)[some] + 1.0, tail)
    # By symmetry, 1 − the lower end for the misses: small tails keep their digits.
    high[lost] = 1.0 - betaincinv((trials - hits)[lost], hits[lost] + 1.0, tail)
    return Bounds.of(low, high)


def kl_ucb(mean: ArrayLike, n: ArrayLike, delta: float) -> Floats:
    """Upper confidence bound max{q >= mean: n·kl(mean‖q) <= log(1/delta)}.

    Model: n independent observations in [0, 1] with one mean; P(true mean > bound) <= delta.

    Parameters
    ----------
    mean : array_like
        Observed means, in [0, 1].
    n : array_like
        Observations behind each mean, at least 1; broadcasts with `mean`.
    delta : float
        Miss probability, in (0, 1).

    Returns
    -------
    ndarray
        The outer end of the last bracket, so rounding never makes it too small.

    Raises
    ------
    EvidenceError
        When a mean is not in [0, 1] or n is below 1.
    InvalidValue
        When delta is not in (0, 1).

    Notes
    -----
    LOGOS Eq. 97; kl is the divergence between Bernoulli laws, in nats. Garivier & Cappé 2011.
    """
    p, budget = _budget(mean, n, delta)
    return _scalar(_outermost(p, budget, np.ones_like(p)))


def kl_lcb(mean: ArrayLike, n: ArrayLike, delta: float) -> Floats:
    """Lower confidence bound min{q <= mean: n·kl(mean‖q) <= log(1/delta)}; see `kl_ucb`."""
    p, budget = _budget(mean, n, delta)
    return _scalar(_outermost(p, budget, np.zeros_like(p)))


def _budget(mean: ArrayLike, n: ArrayLike, delta: float) -> tuple[Floats, Floats]:
    p, size = np.broadcast_arrays(unit_values(mean, "mean"), numbers(n, "n"))
    if (size < 1).any():
        within(size, 1.0, np.inf, "n")
    return np.array(p), -np.log(open_unit(delta, "delta")) / size


def _outermost(p: Floats, budget: Floats, end: Floats) -> Floats:
    """Between p, which keeps the budget, and `end`: the nearest point found to break it."""
    inside, outside = p.copy(), end.copy()
    for _ in range(HALVINGS):
        middle = 0.5 * (inside + outside)
        keeps = _divergence(p, middle) <= budget + ROUNDING
        inside, outside = np.where(keeps, middle, inside), np.where(keeps, outside, middle)
    return outside


def _scalar(values: Floats) -> Floats:
    result: Floats = values[()]
    return result


def _divergence(p: Floats, q: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(xlogy(p, p / q) + xlogy(1.0 - p, (1.0 - p) / (1.0 - q)))
