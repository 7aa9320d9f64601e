"""Spending sequences: how an error budget is spread over gates that have not been asked for yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import zeta

from logoslab.errors import InvalidValue
from logoslab.stats._check import Floats, choice, numbers, vector, whole

POWER_EXPONENT: Final = 1.6
# The published constant. The sequence then sums to 0.97631; keeping it matches published tables.
JAVANMARD_MONTANARI_CONSTANT: Final = 0.07720838


def power_spending(n: int) -> Floats:
    """γ_1..γ_n with γ_j = j^−1.6/ζ(1.6); sums to 1 and spends 82 % by gate 10. The default."""
    return _indices(n) ** -POWER_EXPONENT / float(zeta(POWER_EXPONENT))


def javanmard_montanari_spending(n: int) -> Floats:
    """γ_1..γ_n with γ_j = 0.07720838·log(max(j, 2))/(j·exp(√log j)); spends 11 % by gate 10.

    Javanmard & Montanari 2018, "Online rules for control of false discovery rate".
    """
    j = _indices(n)
    shape = np.log(np.maximum(j, 2.0)) / (j * np.exp(np.sqrt(np.log(j))))
    return JAVANMARD_MONTANARI_CONSTANT * shape


SPENDING: Final[dict[str, Callable[[int], Floats]]] = {
    "power": power_spending,
    "javanmard_montanari": javanmard_montanari_spending,
}


def spending(gamma: str | ArrayLike, n: int) -> Floats:
    """The first n terms of a named or explicit sequence; an explicit one is 0 after its end.

    Parameters
    ----------
    gamma : {"power", "javanmard_montanari"} or array_like, shape (m,)
        Explicit terms must be non-negative, non-increasing and sum to at most 1.
    n : int
        Number of terms, at least 1.

    Raises
    ------
    InvalidValue
        On an unknown name or a sequence that overspends, goes negative or increases.
    """
    if isinstance(gamma, str):
        return SPENDING[choice(gamma, tuple(SPENDING), "gamma")](whole(n, 1, "n"))
    terms = vector(numbers(gamma, "gamma"), "gamma")
    if (terms < 0).any() or (np.diff(terms) > 0).any() or terms.sum() > 1 + 1e-9:
        raise InvalidValue(
            "gamma",
            got=f"terms from {terms.min():g} to {terms.max():g} with sum {terms.sum():g}",
            allowed="non-negative, non-increasing terms that sum to at most 1",
            next_step="Sort and rescale the sequence, or use 'power'.",
        )
    return np.concatenate([terms, np.zeros(max(0, n - len(terms)))])[:n]


def _indices(n: int) -> Floats:
    return np.arange(1, n + 1, dtype=np.float64)
