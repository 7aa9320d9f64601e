"""Confidence sequences in closed form with predictable weights: empirical Bernstein, Hoeffding."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from logoslab.stats._check import Floats, choice, open_unit, stream_matrix, unit_values
from logoslab.stats.bettors import past_moments
from logoslab.stats.confseq import SequentialBounds
from logoslab.stats.sampling import SamplingContract

Side = Literal["both", "lower", "upper"]
Centre = Literal["shrunk", "plain"]


def empirical_bernstein_sequence(
    y: ArrayLike,
    alpha: float = 0.05,
    *,
    side: Side = "both",
    running: bool = True,
    truncation: float = 0.5,
    centre: Centre = "shrunk",
    contract: SamplingContract = SamplingContract.IID,
) -> SequentialBounds:
    """Time-uniform bounds whose width follows the observed variance.

    Assumes E[Y_t | past] = mean for every t. P(mean outside at any time) <= alpha.

    Σλ_i y_i/Σλ_i ∓ (log(1/a) + Σ(y_i − mean_{i−1})²·(−log(1 − λ_i) − λ_i))/Σλ_i, with
    a = alpha/2 for both sides and alpha for one, and
    λ_t = min(truncation, √(2·log(1/a)/(variance_{t−1}·t·log(1 + t)))).

    Parameters
    ----------
    y : array_like, shape (n,) or (streams, n)
        Observations in [0, 1] in arrival order.
    alpha : float
        Miss probability over all times, in (0, 1).
    side : {"both", "lower", "upper"}
        A one-sided sequence leaves the other end at 0 or 1.
    running : bool, default True
        Intersect with all earlier intervals.
    truncation : float, default 0.5
        Largest weight, in (0, 1).
    centre : {"shrunk", "plain"}
        Past mean that the squares are taken around: (½ + Σ)/t, or Σ/(t − 1) and 0 at the start.
    contract : SamplingContract, default IID
        How the observations are drawn; the result carries it and prints its claim.

    Returns
    -------
    SequentialBounds
        Ends after each observation, the shape of `y`.

    Raises
    ------
    EvidenceError
        When a value is not a number in [0, 1].
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    Waudby-Smith & Ramdas 2024, theorem 2.
    """
    values = unit_values(y, "y")
    rows = stream_matrix(values, "y")
    budget = _budget(alpha, side)
    past = past_moments(rows)
    wish = np.sqrt(2.0 * budget / (past.variance * past.t * np.log1p(past.t)))
    weight = np.minimum(wish, open_unit(truncation, "truncation"))
    plain = choice(centre, ("shrunk", "plain"), "centre") == "plain"
    middle = (past.mean * past.t - 0.5) / np.maximum(past.t - 1, 1) if plain else past.mean
    cost = np.square(rows - middle) * (-np.log1p(-weight) - weight)
    low, high = _ends(rows, weight, budget + cost.cumsum(axis=1), side, running)
    return SequentialBounds.of(low.reshape(values.shape), high.reshape(values.shape), contract)


def predictable_hoeffding_sequence(
    y: ArrayLike,
    alpha: float = 0.05,
    *,
    side: Side = "both",
    running: bool = True,
    contract: SamplingContract = SamplingContract.IID,
) -> SequentialBounds:
    """As `empirical_bernstein_sequence` with Hoeffding's cost λ²/8 and weights of t alone.

    λ_t = min(1, √(8·log(1/a)/(t·log(1 + t)))). Waudby-Smith & Ramdas 2024, proposition 1.
    """
    values = unit_values(y, "y")
    rows = stream_matrix(values, "y")
    budget = _budget(alpha, side)
    t = np.arange(1, rows.shape[1] + 1, dtype=np.float64)
    weight = np.broadcast_to(np.minimum(np.sqrt(8 * budget / (t * np.log1p(t))), 1.0), rows.shape)
    cost = np.square(weight) / 8.0
    low, high = _ends(rows, weight, budget + cost.cumsum(axis=1), side, running)
    return SequentialBounds.of(low.reshape(values.shape), high.reshape(values.shape), contract)


def _budget(alpha: float, side: str) -> float:
    choice(side, ("both", "lower", "upper"), "side")
    return -math.log(open_unit(alpha, "alpha") / (2.0 if side == "both" else 1.0))


def _ends(
    rows: Floats,
    weight: Floats,
    spent: Floats,
    side: str,
    running: bool,
) -> tuple[Floats, Floats]:
    total = weight.cumsum(axis=1)
    centre, radius = (weight * rows).cumsum(axis=1) / total, spent / total
    low = np.maximum(centre - radius, 0.0) if side != "upper" else np.zeros_like(centre)
    high = np.minimum(centre + radius, 1.0) if side != "lower" else np.ones_like(centre)
    if running:
        low, high = np.maximum.accumulate(low, axis=1), np.minimum.accumulate(high, axis=1)
    return low, high
