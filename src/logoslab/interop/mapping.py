"""Which column is what: said by the user, fixed by the format, or guessed and shown."""

from __future__ import annotations

from typing import NamedTuple

from logoslab.errors import SourceError
from logoslab.interop.table import Table

USUAL = {
    "task": ("task", "task_id", "instance_id", "question_id", "sample_id", "example_id", "case_id",
             "problem_id", "test_id", "case", "test", "id", "name"),
    "score": ("score", "resolved", "passed", "pass", "correct", "is_correct", "success", "reward",
              "value", "accuracy"),
    "replicate": ("replicate", "trial", "epoch", "repetition", "repeat", "rep", "attempt", "run",
                  "run_id", "seed"),
    "slice": ("slice", "category", "repo", "domain", "subject"),
    "cost": ("cost", "cost_usd", "usd", "total_cost", "instance_cost"),
    "latency": ("latency", "latency_s", "seconds", "duration", "total_time"),
}  # fmt: skip
"""What a column may hold → the names it usually has, likeliest first."""
NEEDED = ("task", "score")


class Mapping(NamedTuple):
    """What → column, which of them were guessed, and what else could have been meant."""

    columns: dict[str, str]
    guessed: tuple[str, ...]
    notes: tuple[str, ...]


def mapped(table: Table, asked: dict[str, str | None], source: str) -> Mapping:
    """The columns of a table.

    Raises
    ------
    SourceError
        When a named column is absent or only its case tells it from another, the task or the score
        cannot be found, or a format has several score columns and none was named.
    """
    columns, guessed, notes = {}, [], []
    there = list(table.columns)
    for what, usual in USUAL.items():
        wanted, fixed = asked.get(what), table.fixed.get(what)
        if wanted is not None:
            columns[what] = _named(wanted, there, what, source)
        elif fixed is not None:
            columns[what] = fixed
        elif what == "score" and table.candidates:
            columns[what] = _only(table.candidates, what, source)
        elif found := [name for one in usual for name in there if name.casefold() == one]:
            columns[what] = found[0]
            guessed.append(what)
            if len(found) > 1:
                notes.append(f"{what} could also be {', '.join(found[1:])}")
        elif what in NEEDED:
            raise _absent(what, there, f"one of {', '.join(usual)}", source)
    return Mapping(columns, tuple(guessed), tuple(notes))


def _named(wanted: str, there: list[str], what: str, source: str) -> str:
    if wanted in there:
        return wanted
    alike = tuple(name for name in there if name.casefold() == wanted.casefold())
    if not alike:
        raise SourceError(
            f"{what} column of {source}",
            got=f"{wanted!r}, which is not there",
            allowed=f"one of {', '.join(name or repr(name) for name in there)}",
            next_step="Name a column that both files have, or rename it in one of them.",
        )
    return _only(alike, what, source)


def _only(candidates: tuple[str, ...], what: str, source: str) -> str:
    if len(candidates) == 1:
        return candidates[0]
    raise SourceError(
        f"{what} column of {source}",
        got=f"several: {', '.join(candidates)}",
        allowed="one of them",
        next_step=f"Name it with --{what} ({what}= in Python).",
    )


def _absent(what: str, there: list[str], allowed: str, source: str) -> SourceError:
    got = ", ".join(name or "''" for name in there)
    return SourceError(
        f"{what} column of {source}",
        got=f"columns {got or 'none'}",
        allowed=allowed,
        next_step=f"Name it with --{what} ({what}= in Python).",
    )
