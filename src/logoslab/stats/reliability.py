"""Does it work every time? pass@k, pass^k, their decay over k, and the two levels of chance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import EvidenceError
from logoslab.stats._check import Floats, counts, numbers, open_unit, whole


class DecayCurve(NamedTuple):
    """Mean over tasks for k = 1..k_max with task-level bootstrap intervals; each of shape (k,)."""

    k: Floats
    mean: Floats
    low: Floats
    high: Floats


class VarianceComponents(NamedTuple):
    """Mean score, variance between tasks, mean variance between trials of a task, and the mean's
    standard error."""

    mean: float
    between_tasks: float
    within_tasks: float
    standard_error: float


def pass_at_k(successes: ArrayLike, trials: ArrayLike, k: int) -> Floats:
    """Unbiased chance that at least one of k trials succeeds: 1 − C(n−c, k)/C(n, k), per task.

    Parameters
    ----------
    successes, trials : array_like of whole numbers
        c and n of each task, 0 <= c <= n; broadcast together.
    k : int
        Trials that count, 1 <= k <= n.

    Returns
    -------
    ndarray
        One estimate for each task; average them over tasks.

    Raises
    ------
    EvidenceError
        When counts are not whole, c > n, or k > n for some task.

    Notes
    -----
    Chen et al. 2021, "Evaluating large language models trained on code", Eq. 1.
    """
    hits, n = _enough(successes, trials, k)
    result: Floats = (1.0 - _all_of(n - hits, n, k))[()]
    return result


def pass_hat_k(successes: ArrayLike, trials: ArrayLike, k: int) -> Floats:
    """Unbiased chance that all of k trials succeed (pass^k): C(c, k)/C(n, k), per task.

    Arguments, result and errors as in `pass_at_k`. Yao et al. 2024, tau-bench.
    """
    hits, n = _enough(successes, trials, k)
    result: Floats = _all_of(hits, n, k)[()]
    return result


def decay_curve(
    successes: ArrayLike,
    trials: ArrayLike,
    k_max: int,
    *,
    rng: np.random.Generator,
    alpha: float = 0.05,
    draws: int = 2_000,
) -> DecayCurve:
    """pass^k averaged over tasks for k = 1..k_max, with pointwise bootstrap intervals over tasks.

    Parameters
    ----------
    successes, trials : array_like, shape (tasks,)
    k_max : int
        Largest k, at most the fewest trials of a task.
    rng : numpy Generator
    alpha : float
        Miss probability of each interval, in (0, 1).
    draws : int
        Resamples of tasks.
    """
    ks = np.arange(1, whole(k_max, 1, "k_max") + 1)
    table = np.stack([np.atleast_1d(pass_hat_k(successes, trials, int(k))) for k in ks], axis=1)
    tail = open_unit(alpha, "alpha") / 2.0
    shape = (whole(draws, 1, "draws"), len(table))
    drawn = rng.integers(0, len(table), shape)
    means = np.stack([column[drawn].mean(axis=1) for column in table.T], axis=1)
    low, high = np.quantile(means, [tail, 1.0 - tail], axis=0)
    return DecayCurve(ks.astype(np.float64), table.mean(axis=0), low, high)


def variance_components(scores: ArrayLike) -> VarianceComponents:
    """Split the variance of a balanced (tasks, trials) table into tasks and trials.

    `between_tasks` is the moment estimate max(0, s²_means − within/trials). The standard error
    s_means/√tasks already contains both levels. Needs two tasks and two trials.
    """
    table = _table(scores)
    tasks, trials = table.shape
    means = table.mean(axis=1)
    within = float(table.var(axis=1, ddof=1).mean())
    spread = float(means.var(ddof=1))
    between = max(0.0, spread - within / trials)
    return VarianceComponents(float(means.mean()), between, within, float(np.sqrt(spread / tasks)))


def hierarchical_bootstrap(
    scores: ArrayLike,
    *,
    rng: np.random.Generator,
    alpha: float = 0.05,
    draws: int = 2_000,
) -> tuple[float, float, float]:
    """Mean and percentile interval when tasks are drawn first and trials inside each task second.

    Parameters
    ----------
    scores : array_like, shape (tasks, trials)
    rng : numpy Generator
    alpha, draws
        Miss probability and resamples.

    Returns
    -------
    (mean, low, high)
    """
    table = _table(scores)
    tasks, trials = table.shape
    tail = open_unit(alpha, "alpha") / 2.0
    means = np.empty(whole(draws, 1, "draws"))
    for draw in range(draws):
        chosen = rng.integers(0, tasks, (tasks, 1))
        picked = rng.integers(0, trials, (tasks, trials))
        means[draw] = table[chosen, picked].mean()
    low, high = np.quantile(means, [tail, 1.0 - tail])
    return float(table.mean()), float(low), float(high)


def _all_of(hits: Floats, n: Floats, k: int) -> Floats:
    """C(hits, k)/C(n, k) as a product of k ratios, 0 once the hits run out."""
    share = np.ones(hits.shape)
    for taken in range(k):
        share *= np.maximum(hits - taken, 0.0) / (n - taken)
    return share


def _enough(successes: ArrayLike, trials: ArrayLike, k: int) -> tuple[Floats, Floats]:
    hits, n = counts(successes, trials, "successes and trials")
    if (n < whole(k, 1, "k")).any():
        raise EvidenceError(
            "k",
            got=f"k={k} with a task of {int(n.min())} trials",
            allowed="k at most the number of trials of every task",
            next_step="Lower k or run more trials.",
        )
    return hits, n


def _table(scores: ArrayLike) -> Floats:
    table = numbers(scores, "scores")
    if table.ndim != 2 or min(table.shape) < 2:
        raise EvidenceError(
            "scores",
            got=f"shape {table.shape}",
            allowed="shape (tasks, trials) with two of each or more",
            next_step="Put one task in each row and one trial in each column.",
        )
    return table
