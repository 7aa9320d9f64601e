"""Results: what one agent did, run by run, and how it was read from where it stood."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from logoslab.errors import SourceError
from logoslab.pack.base import Frozen

if TYPE_CHECKING:
    import pandas as pd

Numbers = tuple[float | None, ...]


class Results(Frozen):
    """Runs as columns of one length, one entry a run.

    Attributes
    ----------
    source, format : str
        Where they come from and what that is, in words.
    tasks : tuple of str
    values : tuple of float
        Scores; None where nothing came back.
    replicates : tuple of int
        Number of the run among those of its task, from 0.
    slices, costs, latencies : tuple or None
        None when the source has no such column; a None inside is one unmeasured run.
    columns : dict
        What (task, score, replicate, slice, cost, latency) → the column it was read from.
    guessed : tuple of str
        Which of these nobody named.
    headline : float, optional
        The mean that the source states about itself, as it states it.
    unlisted : float, optional
        Value of a task that is not here, when the format defines it.
    notes : tuple of str
        What a reader of the numbers must know.
    source_digest : str, optional
        Digest of the bytes that were read.
    """

    source: str
    format: str
    tasks: tuple[str, ...] = Field(min_length=1)
    values: Numbers
    replicates: tuple[int, ...]
    slices: tuple[str, ...] | None = None
    costs: Numbers | None = None
    latencies: Numbers | None = None
    columns: dict[str, str] = Field(default_factory=dict)
    guessed: tuple[str, ...] = ()
    headline: float | None = None
    unlisted: float | None = None
    notes: tuple[str, ...] = ()
    source_digest: str | None = None

    @model_validator(mode="after")
    def _one_length(self) -> Self:
        given = (self.values, self.replicates, self.slices, self.costs, self.latencies)
        if any(column is not None and len(column) != len(self.tasks) for column in given):
            raise ValueError("columns of different lengths")
        return self

    @property
    def scores(self) -> dict[str, float | None]:
        """Task → mean over its runs, a run without a value counting 0; None when all are."""
        return _means(self.tasks, self.values)

    @property
    def task_mean(self) -> float:
        """Mean over tasks of each task's mean: the estimand. Unmeasured runs count 0."""
        return math.fsum(v or 0.0 for v in self.scores.values()) / len(set(self.tasks))

    @property
    def run_mean(self) -> float:
        """Mean over runs, in which a task counts as often as it was run."""
        return math.fsum(v or 0.0 for v in self.values) / len(self.values)

    def how_read(self) -> str:
        """One line: the format, the columns and which of them were guessed."""
        named = ", ".join(
            f"{what} from {column!r}{' (guessed)' if what in self.guessed else ''}"
            for what, column in self.columns.items()
        )
        runs = len(self.tasks)
        tasks = len(set(self.tasks))
        size = f"{tasks} tasks" if runs == tasks else f"{tasks} tasks, {runs} runs"
        return f"{self.source}: {self.format}, {size}{'; ' if named else ''}{named}"

    def frame(self) -> pd.DataFrame:
        """A tidy frame: task, value, metric, replicate, slice, cost, latency."""
        import pandas as pd

        return pd.DataFrame(
            {
                "task": self.tasks,
                "value": self.values,
                "metric": self.columns.get("score", "score"),
                "replicate": self.replicates,
                "slice": self.slices,
                "cost": self.costs,
                "latency": self.latencies,
            }
        )


def _means(tasks: Iterable[str], values: Iterable[float | None]) -> dict[str, float | None]:
    found: dict[str, list[float | None]] = {}
    for task, value in zip(tasks, values, strict=True):
        found.setdefault(task, []).append(value)
    return {task: runs[0] if len(runs) == 1 else _mean(runs) for task, runs in found.items()}


def _mean(values: list[float | None]) -> float | None:
    if all(value is None for value in values):
        return None
    return math.fsum(value or 0.0 for value in values) / len(values)


def refuse_mixed_scale(values: Iterable[float | None], source: str) -> None:
    """Refuse a column with scores up to 1 and from 10 up and none between: two scales in one.

    Raises
    ------
    SourceError
    """
    sizes = [abs(value) for value in values if value]
    small, large = sum(s <= 1 for s in sizes), sum(s >= 10 for s in sizes)
    if small and large and small + large == len(sizes):
        raise scale_error(
            f"scores of {source}",
            f"{small} from above 0 to 1 and {large} from 10 to {max(sizes):g}, none between",
        )


def scale_error(which: str, got: Any) -> SourceError:
    """The error for scores on two scales."""
    return SourceError(
        which,
        got=got,
        allowed="one scale, such as 0 to 1 or 0 to 100",
        next_step="Divide each score by the greatest that its scale allows (100 for per cent), "
        "then compare again.",
    )
