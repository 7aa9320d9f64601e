"""The release dossier: one HTML file with the question, the verdict and all that it rests on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from logoslab.viz.evidence import paired_differences, wealth
from logoslab.viz.flips import flip_bar, flip_frame, slice_frame, slice_intervals
from logoslab.viz.frames import PREFIX, paired_frame, wealth_frame
from logoslab.viz.report import Section, write_report

if TYPE_CHECKING:
    from logoslab.interop import Results
    from logoslab.lifecycle.changes import Change, Interval
    from logoslab.lifecycle.comparison import Comparison

ROWS: Final = 400
"""Rows of the flip table: a page must stay readable. The JSON record has all."""
DRAWN: Final = 2_000
"""Tasks up to which a figure draws each one."""


def write_dossier(path: str | Path, comparison: Comparison) -> Path:
    """Write a comparison as one self-contained HTML file that works offline.

    Everything from the files is escaped; equal comparisons give equal bytes.

    Parameters
    ----------
    path : path
    comparison : Comparison
        From :func:`logoslab.lifecycle.compare.compare`.
    """
    c = comparison
    sections = [
        Section("The question and the answer", list(_answer(c))),
        Section("The numbers", [_numbers(c)]),
        Section("What was fixed and what broke", list(_flips(c))),
        Section("Slices", list(_slices(c))),
        Section("Cost and latency", [_changes(c)]),
        Section("The rules and what they claim", list(_rules(c))),
        Section("How the results were read", list(_sources(c))),
    ]
    return write_report(path, f"May {c.new.source} replace {c.old.source}?", sections)


def _answer(c: Comparison) -> Iterator[Any]:
    words = {"accept": "Yes: every rule that was asked accepts.",
             "reject": "No: at least one rule rejects.",
             "undecided": "Not decided: no rule rejects and not every rule accepts."}  # fmt: skip
    yield words[c.decision]
    yield {"decision": c.decision, "rules": c.rules}
    yield from c.reasons
    yield (
        "This is a judgement of recorded results. It promotes nothing; promotion also needs the "
        "root policy and the signatures that it asks for."
    )


def _numbers(c: Comparison) -> dict[str, Any]:
    return {
        "tasks with a baseline": c.n,
        "fixed": c.fixed,
        "broken": c.broken,
        "mean score, old": c.old_mean,
        "mean score, new": c.new_mean,
        "mean difference": c.mean_difference,
        "interval": _bounds(c.interval),
        "interval by slice": _bounds(c.interval_by_slice),
    }


def _flips(c: Comparison) -> Iterator[Any]:
    yield flip_bar(flip_frame(c))
    if c.n <= DRAWN:
        yield paired_differences(paired_frame(c.evidence))
    table = c.flips()
    if table.empty:
        yield "No task changed."
        return
    if len(table) > ROWS:
        half = ROWS // 2
        yield (
            f"The table has the {half} worst and the {half} best of {len(table)} changed tasks; "
            "`logoslab gate --json` lists all."
        )
        import pandas as pd

        table = pd.concat([table.head(half), table.tail(half)])
    yield table


def _slices(c: Comparison) -> Iterator[Any]:
    if not c.slices:
        yield "No slices were given."
        return
    shown = [s.slice for s in c.worse_slices if s.shown]
    yield (
        f"{len(c.worse_slices)} of {len(c.slices)} slices got worse. "
        + (f"Beyond chance: {', '.join(shown)}. " if shown else "None of them beyond chance. ")
        + "Each interval is made at the level divided by the number of slices (Bonferroni), so "
        "that all of them hold at once."
    )
    frame = slice_frame(c)
    yield slice_intervals(frame)
    yield frame.drop(columns="role")


def _changes(c: Comparison) -> dict[str, Any]:
    return {**_change("cost", c.cost), **_change("latency", c.latency)}


def _change(name: str, change: Change | None) -> dict[str, Any]:
    if change is None:
        return {name: None}
    return {
        f"{name} a task, old": change.old,
        f"{name} a task, new": change.new,
        f"{name} ratio": change.ratio,
        f"{name} difference": change.difference,
        f"{name} interval": _bounds(change.interval),
        f"{name} measured on": f"{change.n} of {change.tasks} tasks",
    }


def _rules(c: Comparison) -> Iterator[Any]:
    for decision in c.decisions:
        yield decision
        if 0 < decision.tasks <= DRAWN and any(
            path for name, path in decision.path.items() if name.startswith(PREFIX)
        ):
            yield wealth(wealth_frame(decision), div_id=f"wealth-{decision.rule}")


def _sources(c: Comparison) -> Iterator[Any]:
    for arm, results in (("old", c.old), ("new", c.new)):
        yield _source(arm, results)
    yield from c.notes or ("Nothing had to be noted.",)
    yield {"sampling": c.evidence.sampling, "evidence digest": c.evidence.digest}


def _source(arm: str, results: Results) -> dict[str, Any]:
    columns = {
        f"{what} column{' (guessed)' if what in results.guessed else ''}": column
        for what, column in results.columns.items()
    }
    return {
        arm: results.source,
        "format": results.format,
        "runs": len(results.tasks),
        **columns,
        "stated headline": "none" if results.headline is None else results.headline,
        "digest of the file": results.source_digest or "not a file",
    }


def _bounds(interval: Interval | None) -> str | None:
    if interval is None:
        return None
    return f"[{interval.low:+.4f}, {interval.high:+.4f}] at {interval.level:.4g}, {interval.method}"
