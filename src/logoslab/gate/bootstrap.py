"""The bootstrap interval of the mean difference as an admission rule."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from logoslab.gate.batch import Batch, Floats, Outcomes
from logoslab.gate.repeats import repeated_rows, settled
from logoslab.gate.rule import ROUNDING, PairedRule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs

# From this many tasks a distinct value on, drawing how often each value comes is cheaper than
# drawing tasks. Both are the same bootstrap.
TASKS_A_VALUE: Final = 100
# Numbers held in memory at once.
CHUNK: Final = 4_000_000


class BootstrapInterval(PairedRule):
    """Accept ⇔ the paired percentile-bootstrap interval of mean(d) lies above 0.

    Tasks are resampled. The seed is a parameter and the differences are sorted first, so the
    same differences always give the same interval, in whatever order they came. Measured with
    alpha .05 on identical 0/1 arms: accepted .025 from 10 tasks on, up to .063 with fewer than 9;
    where rare large losses balance many small gains, .35 with 10 tasks and .05 with 60.

    Parameters
    ----------
    alpha : float, default 0.05
        Miss probability of the two-sided interval, half of it at the lower end; in (0, 1).
    draws : int, default 10,000
        Resamples.
    seed : int, default 0
    """

    name: ClassVar[str] = "bootstrap_interval"
    source: ClassVar[str] = "Efron & Tibshirani 1993, percentile interval"
    claim: ClassVar[str] = (
        "The interval is approximate: for one look at many tasks a candidate without effect is "
        "accepted with probability near alpha/2, and more often with few tasks or skewed changes."
    )

    alpha: float = Field(default=0.05, gt=0, lt=1, description="miss probability of both ends")
    draws: int = Field(default=10_000, ge=100, le=1_000_000, description="resamples")
    seed: int = Field(default=0, ge=0, description="seed of the resamples")

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        d = np.sort(settled(pairs.difference))
        means = np.sort(_means(d, self.seed, self.draws))
        low, high = (float(means[rank - 1]) for rank in self._ranks)
        outcome = self._by_tails(np.array([_tails(means)]), len(d))
        return self._conclude(
            evidence,
            Conclusion(outcome.conclusions[0]),
            f"{1 - self.alpha:.4g} interval of the mean difference: {low:.3g} to {high:.3g}",
            tasks=len(d),
            numbers={
                "mean_difference": math.fsum(d.tolist()) / len(d), "low": low, "high": high,
            },
            path={"difference": pairs.difference.tolist()},
        )  # fmt: skip

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        rows, which = repeated_rows(np.sort(settled(d), axis=1))
        values = 1 + (np.diff(rows, axis=1) != 0).sum(axis=1)
        tails = np.empty((len(rows), 2), dtype=np.int64)
        few = values * TASKS_A_VALUE <= rows.shape[1]
        for row in np.flatnonzero(few):
            tails[row] = _tails_of_few(tuple(rows[row].tolist()), self.seed, self.draws)
        tails[~few] = _tails_of_many(rows[~few], self.seed, self.draws)
        return self._by_tails(tails[which], d.shape[1])

    @property
    def _ranks(self) -> tuple[int, int]:
        """Ranks, from 1, of the two ends among the ordered means."""
        tail = self.alpha / 2
        low, high = (math.ceil(share * self.draws - 1e-9) for share in (tail, 1 - tail))
        return max(1, low), high

    def _by_tails(self, tails: NDArray[np.int64], n: int) -> Outcomes:
        """An end is on one side of 0 when fewer means than its rank are on the other."""
        low, high = self._ranks
        not_above, below = tails.T
        return Outcomes.first_true(
            [(not_above < low, Conclusion.ACCEPT), (below >= high, Conclusion.REJECT_HARMFUL)],
            Conclusion.REJECT_INSUFFICIENT,
            n,
            len(tails),
        )


def _tails(means: Floats) -> NDArray[np.int64]:
    """How many means are not above 0, and how many below, along the last axis; shape (…, 2)."""
    return np.stack([(means <= ROUNDING).sum(-1), (means < -ROUNDING).sum(-1)], axis=-1)


def _means(d: Floats, seed: int, draws: int) -> Floats:
    """Means of resamples of sorted differences, shape (draws,)."""
    n = len(d)
    values, counts = np.unique(d, return_counts=True)
    if len(values) * TASKS_A_VALUE <= n:
        drawn = np.random.default_rng(seed).multinomial(n, counts / n, draws)
        return np.asarray(drawn @ values / n)
    return np.concatenate([times @ d / n for times in _times_drawn(n, seed, draws)])


@lru_cache(maxsize=10_000)
def _tails_of_few(d: tuple[float, ...], seed: int, draws: int) -> NDArray[np.int64]:
    return _tails(_means(np.array(d), seed, draws))


def _tails_of_many(rows: Floats, seed: int, draws: int) -> NDArray[np.int64]:
    """As `_tails` of each row's means; all rows share the resamples of their tasks."""
    n = rows.shape[1]
    tails = np.zeros((len(rows), 2), dtype=np.int64)
    for times in _times_drawn(n, seed, draws if len(rows) else 0):
        step = max(1, CHUNK // len(times))
        for first in range(0, len(rows), step):
            part = slice(first, first + step)
            tails[part] += _tails(rows[part] @ times.T / n)
    return tails


def _times_drawn(n: int, seed: int, draws: int) -> Iterator[Floats]:
    """How often each of n tasks comes in each resample, in blocks of shape (resamples, n)."""
    rng, step = np.random.default_rng(seed), max(1, CHUNK // n)
    for first in range(0, draws, step):
        size = min(step, draws - first)
        cells = rng.integers(0, n, (size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(cells.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
