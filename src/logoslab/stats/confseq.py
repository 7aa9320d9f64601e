"""Confidence sequences: intervals for a mean that hold at every moment at once."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from logoslab.stats._check import Floats, numbers, open_unit, stream_matrix, unit_values, within
from logoslab.stats.betting_bounds import BettingMethod, lower_ends
from logoslab.stats.intervals import Bounds
from logoslab.stats.sampling import Claimed, SamplingContract


class SequentialBounds(Claimed, Bounds):
    """Bounds that hold at every stopping time, as far as their sampling contract allows.

    Unpacks into low and high; `contract` and `claim` say what the pair supports.
    """

    def __new__(
        cls, low: Floats, high: Floats, contract: SamplingContract = SamplingContract.IID
    ) -> Self:
        bounds = super().__new__(cls, low, high)
        bounds.contract = SamplingContract(contract)
        return bounds

    @classmethod
    def of(
        cls, low: Floats, high: Floats, contract: SamplingContract = SamplingContract.IID
    ) -> SequentialBounds:
        """Bounds whose zero-dimensional ends have become scalars."""
        return cls(low[()], high[()], contract)

    def __repr__(self) -> str:
        return f"SequentialBounds(low={self.low}, high={self.high}; {self.contract})"


def hoeffding_sequence(
    y: ArrayLike,
    alpha: float = 0.05,
    *,
    running: bool = True,
    contract: SamplingContract = SamplingContract.IID,
) -> SequentialBounds:
    """Time-uniform bounds from Hoeffding's inequality and a union bound over time.

    Assumes independent observations in [0, 1] with one mean. P(mean outside at any time) <= alpha.

    Radius r_n = √(log(2/α_n)/(2n)) with α_n = 6·alpha/(π²n²), intersected with [0, 1].

    Parameters
    ----------
    y : array_like, shape (n,) or (streams, n)
        Observations in [0, 1] in arrival order.
    alpha : float
        Miss probability over all times, in (0, 1).
    running : bool, default True
        Intersect with all earlier intervals. A lower end above the upper end then says that the
        mean did not stay constant.
    contract : SamplingContract, default IID
        How the observations are drawn; the result carries it and prints its claim.

    Returns
    -------
    SequentialBounds
        Lower and upper ends after each observation, the shape of `y`.

    Raises
    ------
    EvidenceError
        When a value is not a number in [0, 1].
    InvalidValue
        When alpha is not in (0, 1).

    Notes
    -----
    LOGOS Eq. 103.
    """
    values = unit_values(y, "y")
    rows = stream_matrix(values, "y")
    n = np.arange(1, rows.shape[1] + 1, dtype=np.float64)
    level = 6.0 * open_unit(alpha, "alpha") / (np.pi**2 * n**2)
    radius = np.sqrt(np.log(2.0 / level) / (2.0 * n))
    mean = rows.cumsum(axis=1) / n
    bounds = Bounds(np.maximum(mean - radius, 0.0), np.minimum(mean + radius, 1.0))
    return _shaped(intersected(bounds) if running else bounds, values.shape, contract)


def betting_interval(
    y: ArrayLike,
    alpha: float = 0.05,
    *,
    c: float = 0.9,
    anchor_weight: float = 0.5,
    bets: str = "quadratic",
    v_min: float = 1e-3,
    n_min: int = 5,
    running: bool = False,
    contract: SamplingContract = SamplingContract.IID,
) -> SequentialBounds:
    """Bounds for a mean by inverting the portfolio e-process; valid at every stopping time.

    Assumes E[Y_t | past] = mean for every t. P(mean outside at any time) <= alpha.

    The lower end is the infimum of the means m that the upper-tail process does not reject at
    alpha/2, the upper end the supremum for the lower tail. Both are returned as the outer end of
    the last bracket, so rounding never makes the interval too short.

    Parameters
    ----------
    y : array_like, shape (n,) or (streams, n)
        Observations in [0, 1] in arrival order.
    alpha : float
        Miss probability over all times, in (0, 1).
    c, anchor_weight, v_min, n_min
        As in `PortfolioEProcess`.
    bets : {"quadratic", "linear", "geometric"}
        Grid of bets, rescaled to each candidate mean.
    running : bool, default False
        Reject a mean that was rejected at any time so far, instead of by the wealth now.
    contract : SamplingContract, default IID
        How the observations are drawn; the result carries it and prints its claim.

    Returns
    -------
    SequentialBounds
        One interval for each stream: scalars for (n,), shape (streams,) otherwise.

    Raises
    ------
    EvidenceError
        When a value is not a number in [0, 1].
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    LOGOS Eq. 89-90, inverted as in Waudby-Smith & Ramdas 2024, section 4.
    """
    values = unit_values(y, "y")
    rows = stream_matrix(values, "y")
    half = open_unit(alpha, "alpha") / 2.0
    method = BettingMethod.checked(c, anchor_weight, bets, v_min, n_min, running)
    low = lower_ends(rows, half, method)
    high = 1.0 - lower_ends(1.0 - rows, half, method)
    return _shaped(Bounds(low, high), values.shape[:-1], contract)


def betting_sequence(
    y: ArrayLike,
    alpha: float = 0.05,
    *,
    times: ArrayLike | None = None,
    contract: SamplingContract = SamplingContract.IID,
    **method: Any,
) -> SequentialBounds:
    """Betting bounds after the given numbers of observations, running intersection included.

    Parameters
    ----------
    y : array_like, shape (n,) or (streams, n)
        Observations in [0, 1] in arrival order.
    alpha : float
        Miss probability over all times, in (0, 1).
    times : array_like of int, optional
        Increasing numbers of observations, from 1 to n; every one by default, which costs O(n²).
    contract : SamplingContract, default IID
        How the observations are drawn; the result carries it and prints its claim.
    **method
        c, anchor_weight, bets, v_min and n_min, as in `betting_interval`.

    Returns
    -------
    SequentialBounds
        Ends of shape (times,) or (streams, times).
    """
    values = unit_values(y, "y")
    rows = stream_matrix(values, "y")
    ends = np.arange(1, rows.shape[1] + 1) if times is None else numbers(times, "times").astype(int)
    within(ends, 1, rows.shape[1], "times")
    parts = [betting_interval(rows[:, :end], alpha, **method) for end in ends.tolist()]
    low, high = (np.stack(side, axis=1) for side in zip(*parts, strict=True))
    return _shaped(intersected(Bounds(low, high)), (*values.shape[:-1], len(ends)), contract)


def difference_interval(
    d: ArrayLike,
    alpha: float = 0.05,
    *,
    contract: SamplingContract = SamplingContract.IID,
    **method: Any,
) -> SequentialBounds:
    """`betting_interval` for the mean of paired differences in [−1, 1]; ends on that scale."""
    low, high = betting_interval((within(d, -1.0, 1.0, "d") + 1.0) / 2.0, alpha, **method)
    return SequentialBounds(2.0 * low - 1.0, 2.0 * high - 1.0, contract)


def intersected(bounds: Bounds) -> Bounds:
    """The running intersection along the last axis."""
    return Bounds(
        np.maximum.accumulate(bounds.low, axis=-1), np.minimum.accumulate(bounds.high, axis=-1)
    )


def _shaped(bounds: Bounds, shape: tuple[int, ...], contract: SamplingContract) -> SequentialBounds:
    return SequentialBounds.of(bounds.low.reshape(shape), bounds.high.reshape(shape), contract)
