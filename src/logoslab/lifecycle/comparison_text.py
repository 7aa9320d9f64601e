"""A comparison in plain text: one labelled line a fact."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from logoslab.errors import one_line
from logoslab.lifecycle.changes import Change, Interval
from logoslab.lifecycle.comparison import Comparison

SHOWN: Final = 10


def lines(c: Comparison) -> Iterator[str]:
    """The lines that ``logoslab gate`` prints."""
    yield _line("old", c.old.how_read())
    yield _line("new", c.new.how_read())
    yield from (_line("note", note) for note in c.notes)
    same = c.n - c.fixed - c.broken
    yield _line("tasks", f"{c.n}: {c.fixed} fixed, {c.broken} broken, {same} the same")
    yield _line("score", f"{c.old_mean:.4f} → {c.new_mean:.4f}, difference "
                f"{_signed(c.mean_difference)}{_bounds(c.interval)}")  # fmt: skip
    if c.slices:
        yield _line("", f"by slice{_bounds(c.interval_by_slice)}")
    yield from _worse(c)
    yield _line("cost", _change(c.cost))
    yield _line("latency", _change(c.latency))
    broken = [f.task for f in c.changed if f.difference < 0]
    if broken:
        more = f" and {len(broken) - SHOWN} more" if len(broken) > SHOWN else ""
        yield _line("broken", ", ".join(broken[:SHOWN]) + more)
    for d in c.decisions:
        yield _line(d.rule, f"{d.conclusion.value}: {d.reason}")
        yield _line("", f"{d.tasks} tasks; {d.claim}")
    yield _line("decision", c.decision)


def _line(label: str, text: str) -> str:
    # Names of tasks and files are data.
    return f"{label:<9} {one_line(text)}"


def _signed(number: float) -> str:
    """Four places with a sign, and no minus before 0.0000."""
    return f"{round(number, 4) + 0.0:+.4f}"


def _worse(c: Comparison) -> Iterator[str]:
    if not c.slices:
        return
    worse = c.worse_slices
    how = "intervals hold for all slices at once (Bonferroni)"
    yield _line("slices", f"{len(worse)} of {len(c.slices)} got worse; {how}")
    for s in worse[:SHOWN]:
        sure = "" if s.shown else ", may be chance"
        yield _line("", f"{s.slice}: {_signed(s.mean_difference)}, {s.n} tasks, {s.fixed} fixed, "
                    f"{s.broken} broken{_bounds(s.interval)}{sure}")  # fmt: skip
    if len(worse) > SHOWN:
        yield _line("", f"and {len(worse) - SHOWN} more")


def _bounds(interval: Interval | None) -> str:
    if interval is None:
        return ", no interval: too few units, or nothing varies"
    return (
        f", {interval.level:.4g} interval [{interval.low:+.4f}, {interval.high:+.4f}] "
        f"({interval.method})"
    )


def _change(change: Change | None) -> str:
    if change is None:
        return "unknown"
    times = "" if change.ratio is None else f", ×{change.ratio:.2f}"
    on = "" if change.n == change.tasks else f", on the {change.n} of {change.tasks} tasks measured"
    return (
        f"{change.old:.4g} → {change.new:.4g} a task{times}, difference "
        f"{change.difference:+.4g}{_bounds(change.interval)}{on}"
    )
