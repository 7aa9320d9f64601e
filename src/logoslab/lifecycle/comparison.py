"""Comparison: two agents' results side by side, with verdicts. A value; it promotes nothing."""

from __future__ import annotations

import html
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from logoslab.interop import Results
from logoslab.lifecycle.changes import ROUNDING, Change, Interval, SliceChange
from logoslab.pack.base import Frozen
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence, Pairs

if TYPE_CHECKING:
    import pandas as pd

Verdict = Literal["accept", "reject", "undecided"]


class Flip(NamedTuple):
    """A task whose mean score changed."""

    task: str
    slice: str
    old: float
    new: float
    difference: float


class Comparison(Frozen):
    """May the new agent replace the old one?

    Attributes
    ----------
    decision : str
        ``accept`` when every rule accepts, ``reject`` when one rejects, else ``undecided``.
    rules : tuple of str
    n, fixed, broken : int
        Tasks with a baseline; those whose mean score rose; those whose mean score fell.
    old_mean, new_mean, mean_difference : float
        Means over tasks; each task counts once, however often it was run.
    interval, interval_by_slice : Interval or None
        For the mean difference; by slice when slices are given, since their tasks may depend on
        each other.
    slices : tuple of SliceChange
        Worst first; empty without slices.
    cost, latency : Change or None
        None is unknown.
    decisions : tuple of Decision
    reasons, notes : tuple of str
        Why the decision is what it is; what was done with the files to get there.
    old, new : Results
    evidence : Evidence
    m_fail : float
        Score of a run that returned nothing.
    """

    decision: Verdict
    rules: tuple[str, ...]
    n: int
    fixed: int
    broken: int
    old_mean: float
    new_mean: float
    mean_difference: float
    interval: Interval | None
    interval_by_slice: Interval | None = None
    slices: tuple[SliceChange, ...] = ()
    cost: Change | None = None
    latency: Change | None = None
    decisions: tuple[Decision, ...]
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    old: Results
    new: Results
    evidence: Evidence
    m_fail: float = 0.0

    @property
    def worse_slices(self) -> tuple[SliceChange, ...]:
        """Slices whose mean fell, worst first; ``shown`` says where the interval excludes 0."""
        return tuple(s for s in self.slices if s.mean_difference < -ROUNDING)

    @property
    def pairs(self) -> Pairs:
        """The paired means behind every number."""
        return self.evidence.pairs(m_fail=self.m_fail)

    @cached_property
    def changed(self) -> tuple[Flip, ...]:
        """Every task whose mean score changed, worst first."""
        slices = {t: s for r in (self.new, self.old)
                  for t, s in zip(r.tasks, r.slices or (), strict=False)}  # fmt: skip
        p = self.pairs
        rows = zip(p.tasks, p.incumbent.tolist(), p.candidate.tolist(), p.difference.tolist(),
                   strict=True)  # fmt: skip
        found = [
            Flip(t, slices.get(t, "all"), old, new, d)
            for t, old, new, d in rows
            if abs(d) > ROUNDING
        ]
        return tuple(sorted(found, key=lambda flip: (flip.difference, flip.task)))

    def flips(self) -> pd.DataFrame:
        """The changed tasks as a frame: task, slice, old, new, difference, flip."""
        import pandas as pd

        frame = pd.DataFrame(self.changed, columns=list(Flip._fields))
        return frame.assign(flip=["broken" if f.difference < 0 else "fixed" for f in self.changed])

    def record(self) -> dict[str, Any]:
        """Everything but the trials, as JSON values. The sequential paths stay out, for size."""
        kept = self.model_dump(
            mode="json",
            exclude={"evidence": True, "old": _COLUMNS, "new": _COLUMNS,
                     "decisions": {"__all__": {"path"}}, "rules": True},
        )  # fmt: skip
        bounds = self.interval
        return {
            **kept,
            "rule": ",".join(self.rules),
            "interval": None if bounds is None else [bounds.low, bounds.high],
            "interval_level": None if bounds is None else bounds.level,
            "interval_method": None if bounds is None else bounds.method,
            "worse_slices": [s.slice for s in self.worse_slices],
            "fixed_tasks": [f.task for f in self.changed if f.difference > 0],
            "broken_tasks": [f.task for f in self.changed if f.difference < 0],
            "how_read": [self.old.how_read(), self.new.how_read()],
            "sampling": self.evidence.sampling,
            "evidence_digest": self.evidence.digest,
        }

    def to_json(self) -> str:
        """:meth:`record` as one JSON object on one line."""
        return json.dumps(self.record(), ensure_ascii=False, allow_nan=False)

    def summary(self) -> str:
        """The comparison in plain text, as ``logoslab gate`` prints it."""
        from logoslab.lifecycle.comparison_text import lines

        return "\n".join(lines(self))

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


_COLUMNS = {"tasks", "values", "replicates", "slices", "costs", "latencies"}
