"""Fixed-sample comparison of two arms on the same tasks.

Every test here holds for a number of tasks fixed in advance. Looking again as tasks arrive
inflates its error; use `AdoptionStreams` for that.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, ndtr

from logoslab.errors import EvidenceError
from logoslab.stats._check import (
    Floats,
    choice,
    numbers,
    open_unit,
    same_shape,
    vector,
    whole,
    within,
)

Alternative = Literal["two-sided", "greater", "less"]
# Up to this many non-zero differences all sign patterns are enumerated.
ENUMERATED: Final = 16


class Flips(NamedTuple):
    """Pass/fail changes between two arms: gained (fail → pass) and lost (pass → fail)."""

    gained: int
    lost: int
    both_pass: int
    both_fail: int


def paired_difference(base: ArrayLike, candidate: ArrayLike) -> Floats:
    """candidate − base, task by task, shape (n,); also for cost or latency, where less is better.

    Raises
    ------
    EvidenceError
        When the arms do not pair up or a value is missing.
    """
    before, after = vector(numbers(base, "base"), "base"), numbers(candidate, "candidate")
    same_shape(before, after, "base and candidate")
    return after - before


def flips(base: ArrayLike, candidate: ArrayLike) -> Flips:
    """Count the four pass/fail outcomes of paired tasks; values must be 0 or 1."""
    before, after = vector(numbers(base, "base"), "base"), numbers(candidate, "candidate")
    same_shape(before, after, "base and candidate")
    if not np.isin(np.concatenate([before, after]), (0.0, 1.0)).all():
        raise EvidenceError(
            "base and candidate",
            got="scores other than 0 and 1",
            allowed="pass/fail values 0 or 1",
            next_step="Use paired_difference for graded scores.",
        )
    joint = 2 * before.astype(int) + after.astype(int)
    both_fail, gained, lost, both_pass = np.bincount(joint, minlength=4).tolist()
    return Flips(gained, lost, both_pass, both_fail)


def mcnemar_exact(
    gained: ArrayLike,
    lost: ArrayLike,
    *,
    mid_p: bool = False,
    alternative: Alternative = "two-sided",
) -> Floats:
    """Exact test of H0: a discordant task is as likely gained as lost.

    Parameters
    ----------
    gained, lost : array_like of whole numbers
        Discordant counts; broadcast together.
    mid_p : bool, default False
        Count half of the observed outcome's probability: less conservative, not exact.
    alternative : {"two-sided", "greater", "less"}
        "greater" asks whether more tasks were gained than lost.

    Returns
    -------
    ndarray
        p-values; a binomial(gained + lost, ½) tail, doubled and capped at 1 for two sides.

    Notes
    -----
    McNemar 1947; mid-p: Fagerland, Lydersen & Laake 2013.
    """
    up, down = np.broadcast_arrays(numbers(gained, "gained"), numbers(lost, "lost"))
    for which, counted in (("gained", up), ("lost", down)):
        if (counted < 0).any() or (counted % 1 != 0).any():
            raise EvidenceError(
                which,
                got=counted.tolist(),
                allowed="whole numbers from 0",
                next_step="Count the discordant tasks.",
            )
    choice(alternative, ("two-sided", "greater", "less"), "alternative")
    side = {"two-sided": np.minimum(up, down), "greater": down, "less": up}[alternative]
    total = (up + down).astype(np.int64)
    tail = bdtr(side, total, 0.5)
    observed = tail - np.where(side > 0, bdtr(np.maximum(side - 1, 0), total, 0.5), 0.0)
    tail = tail - 0.5 * observed if mid_p else tail
    p = np.minimum(2.0 * tail, 1.0) if alternative == "two-sided" else tail
    result: Floats = np.asarray(p, dtype=np.float64)[()]
    return result


def sign_flip(
    d: ArrayLike,
    *,
    alternative: Alternative = "two-sided",
    draws: int = 10_000,
    rng: np.random.Generator | None = None,
) -> float:
    """Permutation test of H0: each difference is symmetric about 0.

    With at most 16 non-zero differences every sign pattern is enumerated and the p-value is
    exact. Otherwise `draws` random patterns are used, `rng` is required, and the observed pattern
    counts once, so the p-value stays valid.

    Parameters
    ----------
    d : array_like, shape (n,)
        Paired differences.
    alternative : {"two-sided", "greater", "less"}
    draws : int
        Random sign patterns.
    rng : numpy Generator, optional

    Returns
    -------
    float
        Share of sign patterns whose sum is at least as extreme as the observed one.

    Raises
    ------
    EvidenceError
        When `rng` is missing but needed, or a difference is not a number.
    """
    values = vector(numbers(d, "d"), "d")
    choice(alternative, ("two-sided", "greater", "less"), "alternative")
    moved = values[values != 0]
    if len(moved) <= ENUMERATED:
        sums = _all_sign_sums(moved)
    else:
        signs = _generator(rng).integers(0, 2, (whole(draws, 1, "draws"), len(moved))) * 2.0 - 1.0
        sums = np.concatenate([signs @ moved, [moved.sum()]])
    # Sums of one set in another order differ by rounding; a tie must count as extreme.
    slack = 1e-12 * max(1.0, float(np.abs(moved).sum()))
    seen = float(moved.sum())
    extreme = {
        "two-sided": np.abs(sums) >= abs(seen) - slack,
        "greater": sums >= seen - slack,
        "less": sums <= seen + slack,
    }[alternative]
    return float(extreme.mean())


def wilcoxon_signed_rank(d: ArrayLike, *, alternative: Alternative = "two-sided") -> float:
    """Signed-rank test of H0: differences are symmetric about 0; zeros dropped, ties averaged.

    Exact by enumeration for at most 16 non-zero differences, else the normal approximation with
    tie and continuity corrections. Wilcoxon 1945.
    """
    values = vector(numbers(d, "d"), "d")
    choice(alternative, ("two-sided", "greater", "less"), "alternative")
    moved = values[values != 0]
    ranks = _average_ranks(np.abs(moved))
    if len(moved) <= ENUMERATED:
        return sign_flip(np.sign(moved) * ranks if len(moved) else [0.0], alternative=alternative)
    total = float((np.sign(moved) * ranks).sum())
    deviation = float(np.sqrt(np.square(ranks).sum()))
    # The sum of signed ranks moves in steps of 2, so half a step is 1.
    if alternative == "two-sided":
        return min(1.0, 2.0 * float(ndtr(-max(abs(total) - 1.0, 0.0) / deviation)))
    direction = 1.0 if alternative == "greater" else -1.0
    return float(ndtr(-(direction * total - 1.0) / deviation))


def holm(p: ArrayLike) -> Floats:
    """Holm-adjusted p-values, shape (n,): family-wise error under any dependence. Holm 1979."""
    values, order = _sorted_p(p)
    n = len(values)
    stepped = np.maximum.accumulate(values[order] * np.arange(n, 0, -1))
    return _unsorted(np.minimum(stepped, 1.0), order)


def benjamini_hochberg(p: ArrayLike) -> Floats:
    """BH-adjusted p-values, shape (n,): false discovery rate under independence or positive
    dependence. Benjamini & Hochberg 1995."""
    values, order = _sorted_p(p)
    n = len(values)
    scaled = values[order] * n / np.arange(1, n + 1)
    return _unsorted(np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0), order)


def e_benjamini_hochberg(
    e: ArrayLike, alpha: float = 0.05
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """e-BH rejections, shape (n,): false discovery rate under any dependence. Wang & Ramdas 2022.

    Rejects the k largest e-values for the largest k whose k-th e-value is at least n/(k·alpha).
    """
    values = vector(within(e, 0.0, np.inf, "e"), "e")
    order = np.argsort(-values, kind="stable")
    rank = np.arange(1, len(values) + 1)
    fits = np.flatnonzero(values[order] * rank * open_unit(alpha, "alpha") >= len(values))
    rejected = np.zeros(len(values), dtype=np.bool_)
    rejected[order[: fits[-1] + 1 if len(fits) else 0]] = True
    return rejected


def _all_sign_sums(moved: Floats) -> Floats:
    sums = np.zeros(1)
    for value in moved:
        sums = np.concatenate([sums - value, sums + value])
    return sums


def _average_ranks(values: Floats) -> Floats:
    unique, index, count = np.unique(values, return_inverse=True, return_counts=True)
    last = count.cumsum()
    return np.asarray((last - (count - 1) / 2.0)[index]) if len(unique) else np.zeros(0)


def _sorted_p(p: ArrayLike) -> tuple[Floats, np.ndarray[tuple[int], np.dtype[np.intp]]]:
    values = vector(numbers(p, "p"), "p")
    if (values < 0).any() or (values > 1).any():
        raise EvidenceError(
            "p",
            got=f"values from {values.min():g} to {values.max():g}",
            allowed="p-values in [0, 1]",
            next_step="Pass unadjusted p-values.",
        )
    return values, np.argsort(values, kind="stable")


def _unsorted(values: Floats, order: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    result = np.empty_like(values)
    result[order] = values
    return result


def _generator(rng: np.random.Generator | None) -> np.random.Generator:
    if rng is None:
        raise EvidenceError(
            "rng",
            got=None,
            allowed=f"a numpy Generator beyond {ENUMERATED} non-zero differences",
            next_step="Pass rng=np.random.default_rng(seed).",
        )
    return rng
