"""Bootstrap intervals for a mean of paired differences, by task or by cluster of tasks."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, stdtr

from logoslab.errors import EvidenceError
from logoslab.stats._check import Floats, choice, numbers, open_unit, positive, vector, whole

Method = Literal["percentile", "bca"]
# Resampled values held in memory at once.
CHUNK: Final = 4_000_000


class BootstrapResult(NamedTuple):
    """Mean difference, its interval, and a two-sided p-value for H0: mean = 0."""

    mean: float
    low: float
    high: float
    standard_error: float
    p_value: float


class Equivalence(NamedTuple):
    """One-sided p-values for "above the lower margin" and "below the upper margin"."""

    above: float
    below: float

    @property
    def p_value(self) -> float:
        """TOST p-value: both nulls must fall."""
        return max(self.above, self.below)


def paired_bootstrap(
    d: ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: ArrayLike | None = None,
    alpha: float = 0.05,
    draws: int = 10_000,
    method: Method = "percentile",
) -> BootstrapResult:
    """Resample tasks, or whole clusters of tasks, and read the spread of the mean difference.

    Null hypothesis of the p-value: the mean difference is 0. Fixed number of tasks; approximate.

    Parameters
    ----------
    d : array_like, shape (n,)
        One paired difference for each task.
    rng : numpy Generator
    clusters : array_like, shape (n,), optional
        Cluster of each task (repository, slice). Clusters are then drawn whole, because their
        tasks are not independent.
    alpha : float
        Miss probability, in (0, 1).
    draws : int, default 10,000
        Resamples.
    method : {"percentile", "bca"}
        BCa corrects bias and skew, with a jackknife over tasks or clusters in O(n).

    Returns
    -------
    BootstrapResult

    Raises
    ------
    EvidenceError
        On missing values or labels that do not pair with the differences.
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    p = min(1, 2·(1 + min(#{mean* <= 0}, #{mean* >= 0}))/(draws + 1)). Efron & Tibshirani 1993;
    cluster form: Field & Welsh 2007.
    """
    sums, sizes = _units(d, clusters)
    choice(method, ("percentile", "bca"), "method")
    tail = open_unit(alpha, "alpha") / 2.0
    means = np.sort(_resampled_means(sums, sizes, whole(draws, 1, "draws"), rng))
    mean = float(sums.sum() / sizes.sum())
    shares = np.array([tail, 1.0 - tail])
    if method == "bca":
        shares = _bca_shares(means, mean, sums, sizes, shares)
    low, high = _order_statistics(means, shares)
    beside = min(int((means <= 0).sum()), int((means >= 0).sum()))
    p_value = min(1.0, 2.0 * (1 + beside) / (draws + 1))
    return BootstrapResult(mean, low, high, float(means.std()), p_value)


def cluster_standard_error(d: ArrayLike, clusters: ArrayLike | None = None) -> float:
    """Standard error of the mean difference, robust to dependence inside clusters.

    √(G/(G−1)·Σ_g (Σ_{i in g} (d_i − mean))²)/n. With every task its own cluster this is the usual
    s/√n. Needs two clusters.
    """
    sums, sizes = _units(d, clusters)
    if len(sums) < 2:
        raise EvidenceError(
            "clusters", got=len(sums), allowed="two clusters or more", next_step="Add tasks."
        )
    residual = sums - sizes * sums.sum() / sizes.sum()
    groups = len(sums)
    return float(np.sqrt(groups / (groups - 1) * np.square(residual).sum()) / sizes.sum())


def equivalence(d: ArrayLike, margin: float, *, clusters: ArrayLike | None = None) -> Equivalence:
    """Two one-sided t tests of H0: mean <= −margin and H0: mean >= margin.

    `above` alone is the non-inferiority test with that margin. Degrees of freedom: clusters − 1.
    Schuirmann 1987.

    Parameters
    ----------
    d : array_like, shape (n,)
        Paired differences.
    margin : float
        Largest difference that does not matter, above 0.
    clusters : array_like, shape (n,), optional
        Cluster of each task.
    """
    positive(margin, "margin")
    sums, sizes = _units(d, clusters)
    error = cluster_standard_error(d, clusters)
    mean, freedom = float(sums.sum() / sizes.sum()), len(sums) - 1
    if error == 0.0:
        return Equivalence(float(mean <= -margin), float(mean >= margin))
    above = float(stdtr(freedom, -(mean + margin) / error))
    return Equivalence(above, float(stdtr(freedom, (mean - margin) / error)))


def non_inferiority(d: ArrayLike, margin: float, *, clusters: ArrayLike | None = None) -> float:
    """One-sided t test of H0: mean <= −margin; the first half of `equivalence`, arguments as there.

    For cost or latency, where less is better, pass base − candidate.
    """
    return equivalence(d, margin, clusters=clusters).above


def _units(d: ArrayLike, clusters: ArrayLike | None) -> tuple[Floats, Floats]:
    """Sum and number of the differences in each unit that is resampled."""
    values = vector(numbers(d, "d"), "d")
    if clusters is None:
        return values, np.ones(len(values))
    labels = np.asarray(clusters)
    if labels.shape != values.shape:
        raise EvidenceError(
            "clusters",
            got=f"shape {labels.shape}",
            allowed=f"shape {values.shape}",
            next_step="Give each difference its cluster.",
        )
    _, group = np.unique(labels, return_inverse=True)
    sums: Floats = np.bincount(group, weights=values).astype(np.float64)
    return sums, np.bincount(group).astype(np.float64)


def _resampled_means(sums: Floats, sizes: Floats, draws: int, rng: np.random.Generator) -> Floats:
    n, equal = len(sums), bool((sizes == sizes[0]).all())
    parts, step = [], max(1, CHUNK // n)
    for first in range(0, draws, step):
        drawn = rng.integers(0, n, (min(step, draws - first), n))
        total = n * sizes[0] if equal else sizes[drawn].sum(axis=1)
        parts.append(sums[drawn].sum(axis=1) / total)
    return np.concatenate(parts)


def _bca_shares(means: Floats, mean: float, sums: Floats, sizes: Floats, shares: Floats) -> Floats:
    below = (float((means < mean).sum()) + 0.5 * float((means == mean).sum())) / len(means)
    if not 0.0 < below < 1.0 or len(sums) < 2:
        return shares
    bias = float(ndtri(below))
    left_out = (sums.sum() - sums) / (sizes.sum() - sizes)
    gap = left_out.mean() - left_out
    spread = float(np.square(gap).sum())
    skew = float((gap**3).sum()) / (6.0 * spread**1.5) if spread > 0 else 0.0
    z = bias + ndtri(shares)
    return np.asarray(ndtr(bias + z / (1.0 - skew * z)))


def _order_statistics(ordered: Floats, shares: Floats) -> tuple[float, float]:
    """The values at rank ⌈share·draws⌉, from 1."""
    ranks = np.clip(np.ceil(shares * len(ordered) - 1e-9).astype(int), 1, len(ordered)) - 1
    return float(ordered[ranks[0]]), float(ordered[ranks[1]])
