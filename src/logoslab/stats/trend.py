"""Does a metric drift over releases? A permutation test of its slope."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import EvidenceError
from logoslab.stats._check import Floats, numbers, same_shape, vector, whole


class Slope(NamedTuple):
    """Least-squares slope and its two-sided permutation p-value."""

    slope: float
    p_value: float


def slope_permutation(
    x: ArrayLike, y: ArrayLike, *, rng: np.random.Generator, draws: int = 5_000
) -> Slope:
    """Permutation test of H0: the order of y has nothing to do with x.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        Position (release, time) and metric; at least two distinct positions.
    rng : numpy Generator
    draws : int, default 5,000
        Random shuffles.

    Returns
    -------
    Slope
        p = (1 + #{|shuffled slope| >= |slope|})/(draws + 1), valid at any number of shuffles.

    Raises
    ------
    EvidenceError
        When the two do not pair up, a value is missing, or x does not vary.
    """
    place, metric = vector(numbers(x, "x"), "x"), vector(numbers(y, "y"), "y")
    same_shape(place, metric, "x and y")
    centred = place - place.mean()
    scale = float(centred @ centred)
    if scale == 0.0:
        raise EvidenceError(
            "x", got="one position", allowed="two distinct positions", next_step="Add releases."
        )
    seen = float(centred @ metric) / scale
    shuffled = _shuffles(metric, whole(draws, 1, "draws"), rng) @ centred / scale
    extreme = np.abs(shuffled) >= abs(seen) - 1e-12 * max(1.0, abs(seen))
    return Slope(seen, float((1 + extreme.sum()) / (draws + 1)))


def _shuffles(values: Floats, draws: int, rng: np.random.Generator) -> Floats:
    return rng.permuted(np.tile(values, (draws, 1)), axis=1)
