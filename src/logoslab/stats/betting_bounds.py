"""Inversion of the upper-tail portfolio e-process: the smallest mean that it does not reject."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from logoslab.stats._check import Floats, choice, closed_unit, open_unit, positive, whole
from logoslab.stats.bets import GRID_SIZE, GRIDS
from logoslab.stats.eprocess import NOTHING, safe_block
from logoslab.stats.portfolio import levelled, multiply, prefix_sums

# Width of the final bracket, and steps that suffice to halve [0, 1] down to it every fourth time.
TOLERANCE: Final = 1e-7
STEPS: Final = 120
# Streams that share a pass.
COLUMNS: Final = 256
# Finished streams are dropped from the pass once fewer than this share of them is unfinished.
WORTH_COPYING: Final = 0.5
Indices = np.ndarray[tuple[int], np.dtype[np.intp]]


@dataclass(frozen=True, slots=True)
class BettingMethod:
    """Checked parameters of the process that is inverted; the grid is in units of c/m."""

    c: float
    anchor_weight: float
    shares: tuple[float, ...]
    v_min: float
    n_min: int
    running: bool

    @classmethod
    def checked(
        cls, c: float, anchor_weight: float, bets: str, v_min: float, n_min: int, running: bool
    ) -> BettingMethod:
        """The parameters, refused one by one when outside their domain."""
        open_unit(c, "c")
        grid = GRIDS[choice(bets, tuple(GRIDS), "bets")](0.5, c, GRID_SIZE)
        return cls(
            float(c),
            closed_unit(anchor_weight, "anchor_weight"),
            tuple((grid * 0.5).tolist()),
            positive(v_min, "v_min"),
            whole(n_min, 1, "n_min"),
            bool(running),
        )

    @property
    def log_weights(self) -> Floats:
        """Log starting wealth of each fixed bet, then of the anchor."""
        share = (1.0 - self.anchor_weight) / len(self.shares)
        weights = [share] * len(self.shares) + [self.anchor_weight]
        return np.array([math.log(w) if w > 0 else NOTHING for w in weights])


def lower_ends(rows: Floats, alpha: float, method: BettingMethod) -> Floats:
    """For each stream the infimum of the means that are not rejected at alpha, shape (streams,).

    The fixed bets' wealth falls as the mean rises; the anchor's need not, but rejection still
    holds on an initial segment, whose end is bracketed to within TOLERANCE. The rejected end of
    the bracket is returned, so the bound is never too high. At m = 1 no bet can have won.
    """
    threshold = -math.log(alpha)
    parts = [
        _bracketed(Past(rows[first : first + COLUMNS], method), threshold)
        for first in range(0, len(rows), COLUMNS)
    ]
    return np.concatenate(parts)


class Past:
    """One chunk of streams with what the anchor saw before each observation, time first."""

    def __init__(self, rows: Floats, method: BettingMethod) -> None:
        self.y, self.method = np.ascontiguousarray(rows.T), method
        nothing = np.zeros(len(rows))
        n = np.maximum(np.arange(len(self.y)), 1)[:, None]
        self.mean = prefix_sums(nothing, self.y[:-1]) / n
        spread = prefix_sums(nothing, self.y[:-1] ** 2) / n - self.mean**2
        self.precision = 1.0 / np.maximum(spread, method.v_min)
        self.precision[: method.n_min] = 0.0
        self.wins = self.y.sum(axis=0)
        self.pass_fail = bool(np.isin(self.y, (0.0, 1.0)).all())

    def only(self, columns: Indices) -> Past:
        """The same with some of the streams."""
        part = object.__new__(Past)
        part.method, part.pass_fail, part.wins = self.method, self.pass_fail, self.wins[columns]
        for name in ("y", "mean", "precision"):
            setattr(part, name, np.ascontiguousarray(getattr(self, name)[:, columns]))
        return part

    def log_wealth(self, m: Floats) -> Floats:
        """log K_n, or its running maximum, of each stream against its own mean m in (0, 1)."""
        return self._best(m) if self.method.running else self._last(m)

    def _last(self, m: Floats) -> Floats:
        method, cap = self.method, self.method.c / m
        bets = np.array(method.shares)[:, None] / m
        logs = np.repeat(method.log_weights[:, None], len(m), axis=1)
        if self.pass_fail:  # the order of passes does not matter to a fixed bet
            losses = len(self.y) - self.wins
            logs[:-1] += self.wins * np.log1p(bets * (1.0 - m)) + losses * np.log1p(-bets * m)
        for past in self._blocks(m):
            gains = self.y[past] - m
            if not self.pass_fail:
                for log, bet in zip(logs[:-1], bets, strict=True):
                    log += _log_product(bet * gains)
            anchor = (self.mean[past] - m) * self.precision[past]
            np.maximum(anchor, 0.0, out=anchor)
            np.minimum(anchor, cap, out=anchor)
            logs[-1] += _log_product(np.multiply(anchor, gains, out=anchor))
        return np.asarray(np.logaddexp.reduce(logs, axis=0))

    def _best(self, m: Floats) -> Floats:
        method, best = self.method, np.zeros(len(m))
        logs = np.repeat(method.log_weights[:, None], len(m), axis=1)
        bets = np.concatenate([np.array(method.shares)[:, None] / m, np.zeros((1, len(m)))])
        for past in self._blocks(m):
            anchor = (self.mean[past] - m) * self.precision[past]
            base, starts = levelled(logs)
            values = np.exp(starts)
            wealth = multiply(values, bets, np.clip(anchor, 0.0, method.c / m), self.y[past] - m)
            logs += np.log(values) - starts
            best = np.maximum(best, np.log(wealth.max(axis=0)) + base)
        return best

    def _blocks(self, m: Floats) -> list[slice]:
        size = safe_block(float(m.min()), self.method.c)
        return [slice(first, first + size) for first in range(0, len(self.y), size)]


def _bracketed(past: Past, threshold: float) -> Floats:
    """Rejected end of a bracket around each stream's boundary.

    √log K is close to linear in m, so a secant lands near the boundary in a few steps; each point
    is pushed half a tolerance across it, so that soon both sides are held. Every fourth step
    halves the bracket instead, which bounds the number of steps.
    """
    streams = len(past.wins)
    low, high = np.zeros(streams), np.ones(streams)
    left, left_at = np.zeros(streams), np.full(streams, np.nan)
    right, right_at = np.ones(streams), np.full(streams, np.nan)
    # Without a single win no bet on a higher mean gained: every mean is kept, the end is 0.
    todo, members = np.flatnonzero(past.wins > 0), np.arange(streams)
    point = _first_guess(past, threshold)
    for step in range(STEPS):
        if not len(todo):
            break
        if len(todo) < WORTH_COPYING * len(members):
            past, members = past.only(np.searchsorted(members, todo)), todo
        log_wealth = past.log_wealth(point[members])[np.searchsorted(members, todo)]
        m, height = point[todo], _root(log_wealth) - math.sqrt(threshold)
        over = height >= 0
        low[todo[over]], high[todo[~over]] = m[over], m[~over]
        left[todo], left_at[todo] = right[todo], right_at[todo]
        right[todo], right_at[todo] = m, height
        slope = (right_at[todo] - left_at[todo]) / (right[todo] - left[todo])
        aim = m - height / np.where(slope < 0, slope, np.nan)
        aim += np.where(over, 0.5, -0.5) * TOLERANCE
        inside = (aim > low[todo]) & (aim < high[todo]) & (step % 4 != 3)
        point[todo] = np.where(inside, aim, 0.5 * (low[todo] + high[todo]))
        todo = todo[high[todo] - low[todo] > TOLERANCE]
    return low


def _first_guess(past: Past, threshold: float) -> Floats:
    """Mean minus a normal radius at the threshold, kept inside (0, mean)."""
    n, mean = len(past.y), past.y.mean(axis=0)
    radius = np.sqrt(2.0 * (threshold + 2.0) * (past.y.var(axis=0) + 1.0 / n) / n)
    guess: Floats = np.clip(mean - radius, 0.1 * mean + TOLERANCE, 1.0 - TOLERANCE)
    guess[mean == 0] = 0.5  # never asked for, and a tiny mean would shorten everyone's blocks
    return guess


def _root(log_wealth: Floats) -> Floats:
    return np.asarray(np.sign(log_wealth) * np.sqrt(np.abs(log_wealth)))


def _log_product(growth: Floats) -> Floats:
    growth += 1.0
    return np.asarray(np.log(np.multiply.reduce(growth, axis=0)))
