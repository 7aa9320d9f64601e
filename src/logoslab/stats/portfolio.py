"""The portfolio e-process on arrays: many streams step by step, or whole paths at once."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import EvidenceError
from logoslab.stats._check import Floats, stream_matrix, unit_values, whole
from logoslab.stats.eprocess import FLOOR, PortfolioSpec, Tail
from logoslab.stats.sampling import Claimed, SamplingContract

# Columns that share a pass: the products of nine bets then stay in a core's cache.
COLUMNS: Final = 1024
# From this many streams on, stepping over time beats folding each stream into blocks.
WIDE: Final = 64


def portfolio_log_wealth(
    y: ArrayLike,
    m0: float,
    *,
    c: float = 0.9,
    anchor_weight: float = 0.5,
    bets: str | ArrayLike | None = None,
    v_min: float = 1e-3,
    n_min: int = 5,
    tail: Tail = "upper",
) -> Floats:
    """Log wealth after every observation of one stream or of many streams.

    Null hypothesis: E[Y_t | past] <= m0 for every t (upper tail), or >= m0 (lower tail).

    Parameters
    ----------
    y : array_like, shape (n,) or (streams, n)
        Observations in [0, 1] in arrival order.
    m0, c, anchor_weight, bets, v_min, n_min, tail
        As in `PortfolioEProcess`, which gives the same numbers one observation at a time.

    Returns
    -------
    ndarray, the shape of `y`
        log K_1 .. log K_n. Reject at level α once the running maximum reaches log(1/α).

    Raises
    ------
    EvidenceError
        When a value is missing, not a number or outside [0, 1]; the message names the first one.
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    LOGOS Eq. 89-90. Raw products inside blocks of at most 64 observations, one logarithm per
    block and bet, so the path stays within 1e-9 of the sum of logarithms at 10⁶ observations.
    """
    spec = PortfolioSpec.checked(m0, c, anchor_weight, bets, v_min, n_min, tail)
    values = unit_values(y, "y")
    rows = stream_matrix(values, "y")
    if len(rows) >= WIDE:
        path = _Streams(spec, len(rows)).extend(rows)
    else:
        path = np.stack([_one_stream(spec, row) for row in rows])
    return path.reshape(values.shape)


class PortfolioStreams(Claimed):
    """Many portfolio e-processes in step: one row of state for each stream, none for the past.

    Parameters
    ----------
    m0 : float
        Mean under the null, in (0, 1), shared by the streams.
    streams : int
        Number of streams, at least 1.
    c, anchor_weight, bets, v_min, n_min, tail
        As in `PortfolioEProcess`.
    contract : SamplingContract, default IID
        How the observations are drawn; `claim` and the printed form say what that supports.

    Notes
    -----
    Memory is O(streams · bets) however long the streams run. LOGOS Eq. 89-90.
    """

    def __init__(
        self,
        m0: float,
        streams: int,
        *,
        c: float = 0.9,
        anchor_weight: float = 0.5,
        bets: str | ArrayLike | None = None,
        v_min: float = 1e-3,
        n_min: int = 5,
        tail: Tail = "upper",
        contract: SamplingContract = SamplingContract.IID,
    ) -> None:
        spec = PortfolioSpec.checked(m0, c, anchor_weight, bets, v_min, n_min, tail)
        self._streams = _Streams(spec, whole(streams, 1, "streams"))
        self.contract = SamplingContract(contract)

    def __repr__(self) -> str:
        spec, sign = self._streams.spec, ">=" if self._streams.spec.tail == "lower" else "<="
        return (
            f"PortfolioStreams(H0: mean {sign} {spec.m0:g}, streams={self._streams.width}, "
            f"n={self.n}; {self.contract})"
        )

    def update(self, y: ArrayLike) -> Floats:
        """Take one observation of every stream, shape (streams,); return log wealth, same shape."""
        return self.extend(np.atleast_1d(unit_values(y, "y"))[:, None])[:, 0]

    def extend(self, y: ArrayLike) -> Floats:
        """Take several observations of every stream, shape (streams, steps); return their path.

        Raises
        ------
        EvidenceError
            On a wrong shape or a value outside [0, 1]; the state stays as it was.
        """
        rows = unit_values(y, "y")
        if rows.ndim != 2 or len(rows) != self._streams.width:
            raise EvidenceError(
                "y",
                got=f"shape {rows.shape}",
                allowed=f"shape ({self._streams.width}, steps)",
                next_step="Give every stream the same number of observations.",
            )
        return self._streams.extend(rows)

    @property
    def n(self) -> int:
        """Observations of each stream so far."""
        return self._streams.n

    @property
    def log_wealth(self) -> Floats:
        """log K_n of each stream, shape (streams,)."""
        return self._streams.last.copy()

    @property
    def sup_log_wealth(self) -> Floats:
        """Largest log K_t of each stream so far, K_0 = 1 included, shape (streams,)."""
        return self._streams.best.copy()

    @property
    def p_value(self) -> Floats:
        """min(1, 1/sup K) of each stream, shape (streams,)."""
        return np.exp(-self._streams.best)


class _Streams:
    """State of many checked streams; rows are bets (anchor last), columns are streams."""

    def __init__(self, spec: PortfolioSpec, width: int) -> None:
        self.spec, self.width, self.n = spec, width, 0
        self.sums, self.squares = np.zeros(width), np.zeros(width)
        self.last, self.best = np.zeros(width), np.zeros(width)
        self.logs = np.repeat(np.array(spec.log_weights)[:, None], width, axis=1)
        self._open_block()

    def extend(self, rows: Floats) -> Floats:
        path = np.empty(rows.shape)
        done, steps = 0, rows.shape[1]
        while done < steps:
            taken = min(self.left, steps - done)
            for first in range(0, self.width, COLUMNS):
                columns = slice(first, min(first + COLUMNS, self.width))
                part = self._advance(columns, rows[columns, done : done + taken])
                path[columns, done : done + taken] = part.T
            done += taken
            self.n += taken
            self.left -= taken
            if not self.left:
                self.logs += np.log(self.values) - self.starts
                self._open_block()
        self.last = path[:, -1].copy()
        self.best = np.maximum(self.best, path.max(axis=1))
        return path

    def _advance(self, columns: slice, rows: Floats) -> Floats:
        """Log wealth of some streams over the next steps, shape (steps, columns)."""
        y = np.ascontiguousarray(rows.T)
        if self.spec.tail == "lower":
            y = 1.0 - y
        anchor, self.sums[columns], self.squares[columns] = anchor_bets(
            self.spec, y, self.n, self.sums[columns], self.squares[columns]
        )
        values = np.ascontiguousarray(self.values[:, columns])
        bets = grid_rows(self.spec.bets, values.shape[1])
        wealth = multiply(values, bets, anchor, y - self.spec.mean)
        self.values[:, columns] = values
        return np.log(wealth, out=wealth) + self.base[columns]

    def _open_block(self) -> None:
        self.left = self.spec.block
        self.base, self.starts = levelled(self.logs)
        self.values = np.exp(self.starts)


def anchor_bets(
    spec: PortfolioSpec, y: Floats, past: int, sums: Floats, squares: Floats
) -> tuple[Floats, Floats, Floats]:
    """Anchor bet before each observation of `y` (steps, columns), and the carried sums after it.

    The sums that a bet sees stop one observation earlier, so a bet cannot know its own outcome.
    """
    seen, squared = prefix_sums(sums, y), prefix_sums(squares, y * y)
    n = np.arange(past, past + len(y), dtype=np.float64)[:, None]
    bets = np.zeros_like(y)
    ready = slice(min(max(spec.n_min - past, 0), len(y)), None)
    mean = seen[:-1][ready] / n[ready]
    spread = squared[:-1][ready] / n[ready] - mean * mean
    bets[ready] = np.clip((mean - spec.mean) / np.maximum(spread, spec.v_min), 0.0, spec.max_bet)
    return bets, seen[-1], squared[-1]


def prefix_sums(start: Floats, steps: Floats) -> Floats:
    """`start`, then `start` plus the first 1, 2, … rows of `steps`; shape (steps + 1, columns)."""
    sums = np.concatenate([start[None], steps])
    if sums.shape[1] == 1:
        return np.cumsum(sums[:, 0])[:, None]
    for step in range(1, len(sums)):  # numpy's cumsum down the columns is five times slower
        sums[step] += sums[step - 1]
    return sums


def grid_rows(grid: tuple[float, ...], columns: int) -> Floats:
    """The fixed bets repeated over columns, with a free last row for the anchor bet."""
    return np.repeat(np.array([*grid, 0.0])[:, None], columns, axis=1)


def multiply(values: Floats, bets: Floats, anchor: Floats, gains: Floats) -> Floats:
    """Step `values` (bets, columns) in place; return total wealth of each step and column."""
    wealth = np.empty_like(gains)
    factor = np.empty_like(values)
    for step, gain in enumerate(gains):
        bets[-1] = anchor[step]
        np.multiply(bets, gain, out=factor)
        factor += 1.0
        values *= factor
        np.add.reduce(values, axis=0, out=wealth[step])
    return wealth


def levelled(logs: Floats) -> tuple[Floats, Floats]:
    """Largest log of each column, and the logs relative to it, floored where they cannot count."""
    base = logs.max(axis=0)
    return base, np.maximum(logs - base, FLOOR)


def _one_stream(spec: PortfolioSpec, row: Floats) -> Floats:
    """Path of one stream: its blocks are columns, stepped together after their starts are known."""
    block, n = spec.block, len(row)
    y = 1.0 - row if spec.tail == "lower" else row
    path = np.empty(n)
    logs, sums, squares = np.array(spec.log_weights), np.zeros(1), np.zeros(1)
    stride = block * COLUMNS
    for first in range(0, n, stride):
        part = y[first : first + stride]
        anchor, sums, squares = anchor_bets(spec, part[:, None], first, sums, squares)
        bets = _columns(anchor[:, 0], block)
        gains = _columns(part - spec.mean, block)
        wealth, logs = _blocks(spec, logs, bets, gains)
        path[first : first + stride] = wealth.T.reshape(-1)[: len(part)]
    return path


def _blocks(
    spec: PortfolioSpec, logs: Floats, anchor: Floats, gains: Floats
) -> tuple[Floats, Floats]:
    """Log wealth inside consecutive blocks (steps, blocks), and the logs after the last one."""
    growth = np.ones((len(logs), gains.shape[1]))
    grid = grid_rows(spec.bets, gains.shape[1])
    multiply(growth, grid, anchor, gains)
    ends = logs[:, None] + np.log(growth).cumsum(axis=1)
    base, starts = levelled(np.concatenate([logs[:, None], ends[:, :-1]], axis=1))
    wealth = multiply(np.exp(starts), grid, anchor, gains)
    return np.log(wealth, out=wealth) + base, ends[:, -1]


def _columns(values: Floats, block: int) -> Floats:
    """`values` cut into consecutive blocks, one block in each column; a gain of 0 fills the end."""
    padded = np.zeros(-(-len(values) // block) * block)
    padded[: len(values)] = values
    return np.ascontiguousarray(padded.reshape(-1, block).T)
