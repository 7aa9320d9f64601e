"""What a reader of a comparison must know: tasks left out, holes, scales, units, guesses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from logoslab.interop import Results
from logoslab.lifecycle.changes import Change, on_unit_scale
from logoslab.pack.evidence import Pairs

NAMED: Final = 5
UNITS_APART: Final = 100


def notes_on(
    before: Results,
    after: Results,
    pairs: Pairs,
    m_fail: float,
    changes: Mapping[str, Change | None],
) -> tuple[str, ...]:
    """The notes of a comparison, those of the two files first.

    Parameters
    ----------
    before, after : Results
    pairs : Pairs
        What is compared.
    m_fail : float
        Score of a run that returned nothing.
    changes : mapping
        Name of what was measured (cost, latency) → its change.
    """
    notes = [f"{r.source}: {note}" for r in (before, after) for note in r.notes]
    if after.unlisted is None:
        notes += _alone(before, after, pairs.left_out, "count as failures of the new agent")
    if before.unlisted is None:
        notes += _alone(after, before, (), "are left out: no baseline")
    notes += [*_holes(before, after, pairs, m_fail), *_scale(pairs)]
    if before.source_digest and before.source_digest == after.source_digest:
        notes.append("both files hold the same bytes")
    return (*notes, *_unlike(before, after), *_units(changes))


def _alone(mine: Results, other: Results, left_out: Sequence[str], fate: str) -> list[str]:
    alone = sorted(set(mine.tasks) - set(other.tasks) - set(left_out))
    return [f"{len(alone)} task(s) only in {mine.source} {fate}: {_some(alone)}"] if alone else []


def _holes(before: Results, after: Results, pairs: Pairs, m_fail: float) -> list[str]:
    """What became of runs without a score: no baseline, or a failure."""
    if None not in before.values and None not in after.values:
        return []
    notes, baseless = [], sorted(set(pairs.left_out) & set(before.tasks))
    if baseless:
        notes.append(f"{len(baseless)} task(s) without any score in {before.source} are left out: "
                     f"no baseline: {_some(baseless)}")  # fmt: skip
    kept = set(pairs.tasks)
    if any(v is None and t in kept for r in (before, after)
           for t, v in zip(r.tasks, r.values, strict=True)):  # fmt: skip
        notes.append(f"a run without a score counts as {m_fail:g} on the tasks that are compared")
    return notes


def _scale(pairs: Pairs) -> list[str]:
    if on_unit_scale(pairs):
        return []
    low, high = (f((*pairs.incumbent, *pairs.candidate)) for f in (min, max))
    return [
        f"scores run from {low:g} to {high:g}, outside [0, 1]: a rule for differences in "
        "[-1, 1] knows only that the observed ones fit"
    ]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + (" …" if len(names) > NAMED else "")


def _unlike(before: Results, after: Results) -> list[str]:
    """A note when the scores were guessed to be in columns of different names."""
    columns = [r.columns["score"] for r in (before, after) if "score" in r.guessed]
    if len({column.casefold() for column in columns}) < 2:
        return []
    mine, yours = columns
    return [f"score was guessed to be {mine!r} in {before.source} and {yours!r} in {after.source}"]


def _units(changes: Mapping[str, Change | None]) -> list[str]:
    """A note on cost or latency that changed by a factor which rather is a change of unit."""
    ratios = {name: change.ratio for name, change in changes.items() if change is not None}
    return [
        f"{name} is ×{ratio:.4g} of the old: do both files state it in the same unit?"
        for name, ratio in ratios.items()
        if ratio and not 1 / UNITS_APART < ratio < UNITS_APART
    ]
