"""Is a stated confidence honest, and from which confidence on may one stop asking?"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import EvidenceError
from logoslab.stats._check import Floats, numbers, open_unit, same_shape, unit_values, vector, whole
from logoslab.stats.intervals import kl_ucb


class ReliabilityCurve(NamedTuple):
    """Per occupied bin: mean confidence, share correct, and answers; each of shape (bins,)."""

    confidence: Floats
    accuracy: Floats
    n: Floats


class Threshold(NamedTuple):
    """Lowest confidence from which the error bound stays at or below the target.

    `value` is None when no threshold reaches it. `label` is "heuristic" when it was searched and
    judged on the same data, "certified" when a separate split confirmed it.
    """

    value: float | None
    error_bound: float
    n: int
    label: str


class Splits(NamedTuple):
    """Disjoint indices to fit on, to search the threshold on, and to certify it on."""

    fit: np.ndarray[tuple[int], np.dtype[np.intp]]
    threshold: np.ndarray[tuple[int], np.dtype[np.intp]]
    certification: np.ndarray[tuple[int], np.dtype[np.intp]]


def isotonic(y: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """Non-decreasing least-squares fit to values given in order of confidence, shape (n,).

    Weights are positive. Pool-adjacent-violators; Ayer et al. 1955.
    """
    from scipy.optimize import isotonic_regression  # lazy: a third of a second at import

    values = vector(numbers(y, "y"), "y")
    if weights is None:
        return np.asarray(isotonic_regression(values).x, dtype=np.float64)
    mass = vector(numbers(weights, "weights"), "weights")
    same_shape(values, mass, "y and weights")
    if (mass <= 0).any():
        raise EvidenceError(
            "weights", got=float(mass.min()), allowed="positive weights", next_step="Drop the rows."
        )
    return np.asarray(isotonic_regression(values, weights=mass).x, dtype=np.float64)


def ask_threshold(
    confidence: ArrayLike, wrong: ArrayLike, target: float, delta: float = 0.05
) -> Threshold:
    """τ_ask = min{c: klUCB(error among confidence >= c) <= target}.

    Parameters
    ----------
    confidence : array_like, shape (n,)
        Confidence of each answer, in [0, 1].
    wrong : array_like, shape (n,)
        1 where the answer was wrong, else 0.
    target : float
        Tolerated error rate α, in (0, 1).
    delta : float
        Miss probability of each bound, in (0, 1).

    Returns
    -------
    Threshold
        Labelled "heuristic": the search looked at many thresholds on the same data. Pass its value
        and a fresh split to `certify`.

    Notes
    -----
    LOGOS Eq. 97.
    """
    score, errors = _answers(confidence, wrong)
    open_unit(target, "target")
    cuts, first = np.unique(-score[np.argsort(-score, kind="stable")], return_index=True)
    ordered = errors[np.argsort(-score, kind="stable")]
    size = np.append(first[1:], len(ordered))
    rate = ordered.cumsum()[size - 1] / size
    bound = kl_ucb(np.minimum(rate, 1.0), size, delta)
    fits = np.flatnonzero(bound <= target)
    if not len(fits):
        return Threshold(None, float(bound.min()), 0, "heuristic")
    last = fits[-1]
    return Threshold(float(-cuts[last]), float(bound[last]), int(size[last]), "heuristic")


def certify(
    threshold: float, confidence: ArrayLike, wrong: ArrayLike, target: float, delta: float = 0.05
) -> Threshold:
    """Check one threshold, chosen elsewhere, on data that its choice has not seen.

    If the true error at the threshold exceeds `target`, this says "certified" with probability at
    most `delta`. Otherwise the value is None and the label "heuristic".
    """
    score, errors = _answers(confidence, wrong)
    open_unit(target, "target")
    kept = errors[score >= threshold]
    if not len(kept):
        return Threshold(None, 1.0, 0, "heuristic")
    bound = float(kl_ucb(kept.mean(), len(kept), delta))
    if bound > target:
        return Threshold(None, bound, len(kept), "heuristic")
    return Threshold(float(threshold), bound, len(kept), "certified")


def three_splits(n: int, *, rng: np.random.Generator) -> Splits:
    """A random cut of 0..n−1 into three disjoint parts of near-equal size; n >= 3."""
    fit, search, final = np.array_split(rng.permutation(whole(n, 3, "n")), 3)
    return Splits(fit, search, final)


def reliability_curve(
    confidence: ArrayLike, correct: ArrayLike, bins: int = 10
) -> ReliabilityCurve:
    """Mean confidence and accuracy in bins of equal width; empty bins are left out."""
    score, right = _answers(confidence, correct)
    index = np.minimum((score * whole(bins, 1, "bins")).astype(int), bins - 1)
    count = np.bincount(index, minlength=bins).astype(np.float64)
    used = count > 0
    stated = np.bincount(index, weights=score, minlength=bins)[used] / count[used]
    observed = np.bincount(index, weights=right, minlength=bins)[used] / count[used]
    return ReliabilityCurve(stated, observed, count[used])


def brier(confidence: ArrayLike, correct: ArrayLike) -> float:
    """Mean squared distance of confidence from the outcome, 0 at best. Brier 1950."""
    score, right = _answers(confidence, correct)
    return float(np.square(score - right).mean())


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, bins: int = 10) -> float:
    """Count-weighted mean |accuracy − confidence| over bins of equal width; 0 at best."""
    curve = reliability_curve(confidence, correct, bins)
    gap = np.abs(curve.accuracy - curve.confidence)
    return float((gap * curve.n).sum() / curve.n.sum())


def _answers(confidence: ArrayLike, outcome: ArrayLike) -> tuple[Floats, Floats]:
    score = vector(unit_values(confidence, "confidence"), "confidence")
    seen = vector(unit_values(outcome, "outcome"), "outcome")
    same_shape(score, seen, "confidence and outcome")
    return score, seen
