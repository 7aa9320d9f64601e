"""What changed between two arms: the mean, slice by slice, cost and latency, with intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from logoslab.pack.base import Frozen
from logoslab.pack.evidence import Pairs
from logoslab.stats import cluster_standard_error, difference_interval

ROUNDING: Final = 1e-12
DUST: Final = 1e-9
"""A standard error below this share of the greatest difference is rounding, not spread."""
Floats = NDArray[np.float64]


class Interval(Frozen):
    """Bounds for a mean difference on a number of tasks fixed in advance.

    ``method`` says how they were made; a miss has probability 1 − ``level``, approximately for
    Student's t.
    """

    low: float
    high: float
    level: float
    method: str


class SliceChange(Frozen):
    """One slice: its tasks, its mean difference and an interval that holds for all slices at once.

    ``interval`` is None for an unbounded score without any spread.
    """

    slice: str
    n: int
    fixed: int
    broken: int
    mean_difference: float
    interval: Interval | None

    @property
    def shown(self) -> bool:
        """Whether the whole interval lies below 0."""
        return self.interval is not None and self.interval.high < 0


class Change(Frozen):
    """Cost or latency per task on the tasks where both arms measured every run.

    ``n`` of ``tasks`` tasks; ``ratio`` is None when the old mean is 0.
    """

    old: float
    new: float
    ratio: float | None
    difference: float
    interval: Interval | None
    n: int
    tasks: int


def on_unit_scale(pairs: Pairs) -> bool:
    """Whether every score lies in [0, 1], so that no difference can be beyond 1.

    A small difference alone says nothing: 99.5 and 99.9 of 100 are close, and may lie 100 apart.
    """
    scores = np.concatenate((pairs.incumbent, pairs.candidate))
    return bool(scores.min() >= 0 and scores.max() <= 1)


def paired_interval(
    d: Floats, alpha: float, clusters: Sequence[str] | None = None, *, bounded: bool = False
) -> Interval | None:
    """An interval for the mean of paired differences.

    Student's t with the spread between tasks, or between clusters of tasks (then with clusters
    − 1 degrees of freedom). Where nothing varies t would claim certainty, so bounded differences
    get the betting interval there, and others none.

    Parameters
    ----------
    d : ndarray, shape (n,)
    alpha : float
        Miss probability, in (0, 1).
    clusters : sequence of str, shape (n,), optional
    bounded : bool, default False
        Whether the scale keeps every difference in [-1, 1], see :func:`on_unit_scale`.
    """
    from scipy.special import stdtrit

    labels = None if clusters is None else _numbered(clusters, sorted(set(clusters)))
    units = len(d) if clusters is None else len(set(clusters))
    error = cluster_standard_error(d, labels) if units > 1 else 0.0
    if error > DUST * float(np.abs(d).max(initial=0.0)):
        mean, reach = float(d.mean()), float(stdtrit(units - 1, 1 - alpha / 2)) * error
        what = "tasks" if clusters is None else "slices, whose tasks may depend on each other"
        return Interval(low=mean - reach, high=mean + reach, level=1 - alpha,
                        method=f"Student's t over {units} {what}")  # fmt: skip
    if clusters is not None or len(d) == 0 or not bounded:
        return None
    bounds = difference_interval(d, alpha)
    return Interval(low=float(bounds.low), high=float(bounds.high), level=1 - alpha,
                    method="betting, as nothing varies")  # fmt: skip


def _numbered(labels: Sequence[str], names: Sequence[str]) -> NDArray[np.intp]:
    """Labels as their places in ``names``; an array of text cuts zeros off the ends of names."""
    index = {name: i for i, name in enumerate(names)}
    return np.fromiter(map(index.__getitem__, labels), dtype=np.intp, count=len(labels))


def slice_changes(pairs: Pairs, slices: Sequence[str], alpha: float) -> tuple[SliceChange, ...]:
    """Every slice, worst first; each interval at level 1 − alpha / slices (Bonferroni)."""
    d, bounded = pairs.difference, on_unit_scale(pairs)
    names = sorted(set(slices))
    labels = _numbered(slices, names)
    found = []
    for i, name in enumerate(names):
        part = d[labels == i]
        found.append(
            SliceChange(
                slice=name,
                n=len(part),
                fixed=int((part > ROUNDING).sum()),
                broken=int((part < -ROUNDING).sum()),
                mean_difference=math.fsum(part.tolist()) / len(part),
                interval=paired_interval(part, alpha / len(names), bounded=bounded),
            )
        )
    return tuple(sorted(found, key=lambda s: (s.mean_difference, s.slice)))


def measured_change(
    old: Mapping[str, float], new: Mapping[str, float], tasks: Sequence[str], alpha: float
) -> Change | None:
    """The paired change of cost or latency per task; None when no task has both.

    Parameters
    ----------
    old, new : mapping task → number
        From :func:`measured`.
    tasks : sequence of str
        The tasks that are compared.
    """
    both = [task for task in tasks if task in old and task in new]
    if not both:
        return None
    before, after = (np.array([arm[task] for task in both]) for arm in (old, new))
    return Change(
        old=float(before.mean()),
        new=float(after.mean()),
        ratio=float(after.mean() / before.mean()) if before.mean() > 0 else None,
        difference=float((after - before).mean()),
        interval=paired_interval(after - before, alpha),
        n=len(both),
        tasks=len(tasks),
    )


def measured(tasks: Sequence[str], values: Sequence[float | None] | None) -> dict[str, float]:
    """Task → mean over its runs, for tasks whose every run was measured."""
    if values is None:
        return {}
    if len(set(tasks)) == len(tasks):
        return {t: v for t, v in zip(tasks, values, strict=True) if v is not None}
    found: dict[str, list[float | None]] = {}
    for task, value in zip(tasks, values, strict=True):
        found.setdefault(task, []).append(value)
    return {
        task: math.fsum(v for v in runs if v is not None) / len(runs)
        for task, runs in found.items()
        if None not in runs
    }
