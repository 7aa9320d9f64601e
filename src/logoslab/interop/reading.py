"""From a table to results: columns, runs of a task, scales and the headline, each checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final, Literal

from logoslab.errors import SourceError
from logoslab.interop.cells import numbers
from logoslab.interop.mapping import mapped
from logoslab.interop.results import Results, refuse_mixed_scale
from logoslab.interop.source import unreadable
from logoslab.interop.table import Headline, Table
from logoslab.pack.trial_columns import texts_of

HeadlinePolicy = Literal["check", "ignore"] | float
# A headline is rounded, and sites sometimes show another run of the same agent; half a point is
# beyond both.
TOLERANCE: Final = 0.005
ROUNDING: Final = 0.0005


def results_of(
    table: Table,
    source: str,
    *,
    asked: dict[str, str | None],
    headline: HeadlinePolicy = "check",
    source_digest: str | None = None,
) -> Results:
    """The results that a table holds.

    Raises
    ------
    SourceError
        See :func:`logoslab.interop.read_results`.
    """
    if not table.columns or not len(next(iter(table.columns.values()))):
        raise unreadable(source, "no rows with named columns")
    chosen = mapped(table, asked, source)
    cells = {what: _list(table.columns[name]) for what, name in chosen.columns.items()}
    tasks = _tasks(cells["task"], source)
    values = numbers(cells["score"], chosen.columns["score"], source, "--score")
    refuse_mixed_scale(values, source)
    replicates, repeated = _replicates(tasks, cells.get("replicate"), source)
    measured = {
        what: _measured(
            numbers(cells[what], chosen.columns[what], source, f"--{what}"),
            chosen.columns[what],
            source,
        )
        for what in ("cost", "latency")
        if what in cells
    }
    unmeasured = {what for what, column in measured.items() if column is None}
    found = Results(
        source=source,
        format=table.format,
        tasks=tuple(tasks),
        values=tuple(values),
        replicates=tuple(replicates),
        slices=_slices(tasks, cells.get("slice"), source),
        costs=measured.get("cost"),
        latencies=measured.get("latency"),
        columns={what: name for what, name in chosen.columns.items() if what not in unmeasured},
        guessed=tuple(what for what in chosen.guessed if what not in unmeasured),
        headline=table.headline.value if table.headline else None,
        unlisted=table.unlisted,
        source_digest=source_digest,
        notes=(*chosen.notes, *table.notes, *repeated, *_empty(values)),
    )
    checked = _against_headline(found, table, headline)
    return found.replace(notes=(*found.notes, *_weights(found), *checked))


def _list(column: Sequence[Any]) -> list[Any]:
    for convert in ("to_pylist", "tolist"):
        if hasattr(column, convert):
            return list(getattr(column, convert)())
    return list(column)


def _tasks(cells: list[Any], source: str) -> list[str]:
    tasks = texts_of(cells)
    _refuse_half_characters(tasks, "task", source)
    for row, task in enumerate(tasks, 1):
        if not task:
            raise SourceError(
                f"row {row} of {source}",
                got="no task",
                allowed="a name of the task in every row",
                next_step="Fill the cell, or name another column with --task.",
            )
    return tasks  # type: ignore[return-value]  # every one is a text now


def _replicates(
    tasks: list[str], cells: list[Any] | None, source: str
) -> tuple[list[int], tuple[str, ...]]:
    """The number of each run among those of its task; a run that is named twice is refused."""
    counts = Counter(tasks)
    most, task = max((n, t) for t, n in counts.items())
    if cells is not None:
        runs = Counter(zip(tasks, texts_of(cells), strict=True))
        (task, name), times = runs.most_common(1)[0]
        if times > 1:
            raise SourceError(
                f"rows of {source}",
                got=f"task {task!r} has run {name} {times} times",
                allowed="each run of a task once",
                next_step="Remove the copies, or name the column that tells runs apart with "
                "--replicate (replicate= in Python).",
            )
    if most == 1:
        return [0] * len(tasks), ()
    seen: Counter[str] = Counter()
    numbered = []
    for name in tasks:
        numbered.append(seen[name])
        seen[name] += 1
    several = sum(n > 1 for n in counts.values())
    how = "" if cells is not None else "; no column tells runs from copies: name it, --replicate"
    note = (
        f"{several} of {len(counts)} tasks have several rows, up to {most} ({task!r}); they count "
        f"as repeated runs and are averaged{how}"
    )
    return numbered, (note,)


def _slices(tasks: list[str], cells: list[Any] | None, source: str) -> tuple[str, ...] | None:
    if cells is None:
        return None
    slices = [name or "none" for name in texts_of(cells)]
    _refuse_half_characters(slices, "slice", source)
    first: dict[str, str] = {}
    for task, name in zip(tasks, slices, strict=True):
        if first.setdefault(task, name) != name:
            raise SourceError(
                f"slice of task {task!r} in {source}",
                got=f"{first[task]!r} and {name!r}",
                allowed="one slice a task",
                next_step="Name another column with --slice.",
            )
    return tuple(slices)


def _refuse_half_characters(texts: Sequence[str | None], what: str, source: str) -> None:
    """Refuse halves of a surrogate pair, which JSON can spell and no file can hold."""
    try:
        "".join(filter(None, texts)).encode()
    except UnicodeEncodeError:
        row = next(n for n, text in enumerate(texts, 1) if text and not _is_whole(text))
        raise SourceError(
            f"{what} in row {row} of {source}",
            got=ascii(texts[row - 1]),
            allowed="text that UTF-8 can hold",
            next_step="Correct the text; half a surrogate pair is no character.",
        ) from None


def _is_whole(text: str) -> bool:
    return text == text.encode("utf-8", "replace").decode()


def _measured(
    column: list[float | None], name: str, source: str
) -> tuple[float | None, ...] | None:
    """The column, or None when nobody measured it. Neither cost nor time is ever below 0."""
    known = [value for value in column if value is not None]
    if known and min(known) < 0:
        row = next(n for n, value in enumerate(column, 1) if value is not None and value < 0)
        raise SourceError(
            f"{name} in row {row} of {source}",
            got=column[row - 1],
            allowed="a number from 0, or nothing where it is unknown",
            next_step="Leave unknown cells empty.",
        )
    return tuple(column) if known else None


def _empty(values: list[float | None]) -> tuple[str, ...]:
    empty = values.count(None)
    return (f"{empty} row(s) without a score: nothing came back",) if empty else ()


def _weights(found: Results) -> tuple[str, ...]:
    """A note when tasks with more runs pull the mean over runs away from the mean over tasks."""
    if not any(found.replicates):
        return ()
    by_task, by_run = found.task_mean, found.run_mean
    if abs(by_task - by_run) < 0.5e-4:
        return ()
    return (
        f"the mean over tasks is {by_task:.4f}, the mean over runs {by_run:.4f}: tasks have "
        "unequal numbers of runs. Each task counts once here",
    )


def _against_headline(found: Results, table: Table, policy: HeadlinePolicy) -> tuple[str, ...]:
    """What a stated mean says about the details: agreement, a note, or a refusal.

    A file that lists only resolved tasks has a mean when it says how many tasks there are.
    """
    stated = table.headline
    if isinstance(policy, int | float):
        stated = Headline(float(policy), "headline given by the caller")
    if stated is None:
        return ()
    tasks = table.total or len(found.scores)
    if found.unlisted is not None and table.total is None:
        return (f"the headline ({stated.name}: {stated.value:g}) cannot be checked: the file lists "
                "only resolved tasks and does not say of how many",)  # fmt: skip
    missing = (tasks - len(found.scores)) * (found.unlisted or 0.0)
    mean = (found.task_mean * len(found.scores) + missing) / tasks
    share = stated.value
    if share > 1 and max(v or 0.0 for v in found.values) <= 1:
        share /= 100  # A headline in per cent over details from 0 to 1.
    gap = abs(share - mean)
    if gap <= ROUNDING:
        return (f"the headline ({stated.name}: {stated.value:g}) agrees with the details",)
    both = f"headline {share:.4f} ({stated.name}), details {mean:.4f} over {tasks} tasks"
    if gap > TOLERANCE and policy != "ignore":
        raise SourceError(
            f"headline of {found.source}",
            got=both,
            allowed="a headline that its own details give",
            next_step="Ask the publisher which is right. To judge the details all the same, pass "
            "--ignore-headline (headline='ignore' in Python).",
        )
    return (f"{both}: they differ{', ignored on request' if policy == 'ignore' else ''}",)
