"""Grids of constant bets for the portfolio e-process, each inside [0, c/m0] (LOGOS Eq. 89)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import InvalidValue
from logoslab.stats._check import Floats, choice, numbers, open_unit, vector, whole

GRID_SIZE: Final = 8


def quadratic_bets(m0: float, c: float = 0.9, k: int = GRID_SIZE) -> Floats:
    """Bets (c/m0)·(j/k)², j = 1..k: small bets for rare events, large ones for common events.

    Parameters
    ----------
    m0 : float
        Mean under the null, in (0, 1).
    c : float
        Largest share of the wealth at risk, in (0, 1).
    k : int
        Number of bets, at least 1.

    Returns
    -------
    ndarray, shape (k,)
        Increasing bets.

    Raises
    ------
    InvalidValue
        On an argument outside its domain.

    Notes
    -----
    The default grid: over eight settings its mean stopping time is never far from the best of the
    linear and the geometric grid, each of which has a setting where it is poor.
    """
    return np.square(_steps(m0, c, k)) * (c / m0)


def linear_bets(m0: float, c: float = 0.9, k: int = GRID_SIZE) -> Floats:
    """Bets (j/k)·c/m0, j = 1..k: good for common events, poor for rare ones. See quadratic_bets."""
    return _steps(m0, c, k) * c / m0


def geometric_bets(m0: float, c: float = 0.9, k: int = GRID_SIZE) -> Floats:
    """Bets (c/m0)·2^−j, j = k−1..0: good for rare events. Arguments as in quadratic_bets."""
    steps = _steps(m0, c, k)
    return np.asarray((c / m0) * np.exp2(-np.arange(len(steps))[::-1].astype(np.float64)))


GRIDS: Final[dict[str, Callable[[float, float, int], Floats]]] = {
    "quadratic": quadratic_bets,
    "linear": linear_bets,
    "geometric": geometric_bets,
}


def resolve_bets(bets: str | ArrayLike | None, m0: float, c: float) -> Floats:
    """The grid a user asked for: a name, explicit bets inside [0, c/m0], or None for quadratic.

    Raises
    ------
    InvalidValue
        On an unknown name, or a bet outside [0, c/m0].
    """
    if bets is None or isinstance(bets, str):
        name = choice(bets or "quadratic", tuple(GRIDS), "bets")
        return GRIDS[name](m0, c, GRID_SIZE)
    grid = vector(numbers(bets, "bets"), "bets")
    # An explicit grid may round c/m0 differently by an ulp; the wealth factor stays positive.
    if (grid < 0).any() or (grid * m0 > c * (1 + 1e-12)).any():
        raise InvalidValue(
            "bets",
            got=grid.tolist(),
            allowed=f"bets from 0 to c/m0 = {c / m0:g}",
            next_step="Lower the bets or raise c.",
        )
    return grid


def _steps(m0: float, c: float, k: int) -> Floats:
    open_unit(m0, "m0")
    open_unit(c, "c")
    return np.arange(1, whole(k, 1, "k") + 1) / k
