"""One way in: find out what a source is, read it, check it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from logoslab.errors import InvalidValue
from logoslab.interop import delimited, inspect_log, mlflow_table, resolved_list, tau_bench
from logoslab.interop.reading import HeadlinePolicy, results_of
from logoslab.interop.results import Results
from logoslab.interop.source import bytes_of, json_of, lines_of, name_of, text_of, unreadable
from logoslab.interop.table import Table, named, of_records
from logoslab.pack.base import digest_bytes

if TYPE_CHECKING:
    import pandas as pd

Source: TypeAlias = (
    "str | Path | pd.DataFrame | pd.Series[float] | Mapping[str, float | None] | Results"
)
LINES = (".jsonl", ".ndjson")
FORMATS: tuple[tuple[Callable[[Any], bool], Callable[[Any], Table]], ...] = tuple(
    (module.fits, module.read) for module in (inspect_log, mlflow_table, tau_bench, resolved_list)
)
"""Forms of JSON that are known, each with the test that tells it."""


def read_results(
    source: Source,
    *,
    task: str | None = None,
    score: str | None = None,
    replicate: str | None = None,
    slice: str | None = None,
    cost: str | None = None,
    latency: str | None = None,
    headline: HeadlinePolicy = "check",
    name: str | None = None,
) -> Results:
    """Read one agent's results, whatever they are in, and say how they were read.

    Parameters
    ----------
    source : path, DataFrame, Series or mapping task → score, or Results
        A file may be CSV, TSV, Parquet, JSON, JSON lines, an Inspect log, an MLflow evaluation
        table, a keep/discard log, a list of resolved tasks or tau-bench trajectories, each also
        packed by gzip. Results come back as they are, or under the name given.
    task, score, replicate, slice, cost, latency : str, optional
        Columns. What is not named is fixed by the format, or guessed by its usual names and then
        listed in ``guessed``.
    headline : {"check", "ignore"} or float
        A mean that the file states about itself must fit its details; ``"ignore"`` turns the
        refusal into a note. A number is a headline from elsewhere, a share or per cent.
    name : str, optional
        What to call the source; by default the file's name.

    Returns
    -------
    Results
        Repeated rows of a task are repeated runs; an empty score is a run that returned nothing.

    Raises
    ------
    SourceError
        When the source is missing, too large, not one of these kinds, empty, lacks a column, has
        several score columns and none is named, holds a row without a task, a score that is no
        finite number, scores on two scales, one run twice, or a headline that contradicts its
        details by more than half a point.
    InvalidValue
        When ``source`` is none of the accepted types.
    """
    if isinstance(source, Results):
        return source if name in (None, source.source) else source.replace(source=name)
    table, label, source_digest = _table(source)
    return results_of(
        table,
        name or label,
        asked={"task": task, "score": score, "replicate": replicate, "slice": slice,
               "cost": cost, "latency": latency},
        headline=headline,
        source_digest=source_digest,
    )  # fmt: skip


def label_of(source: Any) -> str:
    """What a source is called when nobody names it."""
    if isinstance(source, Results):
        return source.source
    if isinstance(source, str | Path):
        return name_of(Path(source))
    if isinstance(source, Mapping):
        return "mapping"
    return "Series" if _is_series(source) else "DataFrame"


def _table(source: Any) -> tuple[Table, str, str | None]:
    if isinstance(source, str | Path):
        file = Path(source)
        data = bytes_of(file)
        try:
            return _parsed(file, data), name_of(file), digest_bytes(data)
        except (
            ValueError,
            TypeError,
            AttributeError,
            KeyError,
            csv.Error,
            RecursionError,
        ) as cause:
            first = (str(cause).splitlines() or [type(cause).__name__])[0]
            raise unreadable(name_of(file), first) from cause
    if _is_series(source):
        return _of_series(source), "Series", None
    if hasattr(source, "to_pandas") or hasattr(source, "iloc"):
        try:
            return _of_frame(source), "DataFrame", None
        except ValueError as cause:
            raise unreadable("DataFrame", str(cause)) from cause
    if isinstance(source, Mapping):
        return _of_mapping(source), "mapping", None
    raise InvalidValue(
        "results",
        got=type(source).__name__,
        allowed="a path, a DataFrame, a Series or mapping task → score, or Results",
        next_step="Pass one of these.",
    )


def _of_frame(frame: Any) -> Table:
    """A DataFrame's columns; an index with a name is one of them."""
    if frame.index.name is not None or isinstance(frame.index.names[0], str):
        frame = frame.reset_index()
    names = [str(name) for name in frame.columns]
    return Table("DataFrame", named(names, [frame.iloc[:, i] for i in range(len(names))]))


def _is_series(source: Any) -> bool:
    return hasattr(source, "iloc") and source.ndim == 1


def _of_series(series: Any) -> Table:
    """Scores under the index. Row numbers are refused: two runs seldom end in the same order."""
    if series.index.name is None and list(series.index) == list(range(len(series))):
        raise InvalidValue(
            "index of a Series",
            got="row numbers",
            allowed="the tasks' ids",
            next_step="Set the index to the tasks' ids, or pass a DataFrame that has them.",
        )
    return _scores("Series", series.index, series)


def _of_mapping(scores: Mapping[Any, Any], kind: str = "mapping") -> Table:
    return _scores(kind, scores, scores.values())


def _scores(kind: str, tasks: Iterable[Any], scores: Iterable[Any]) -> Table:
    return Table(
        f"{kind} task → score",
        {"task": list(tasks), "score": list(scores)},
        fixed={"task": "task", "score": "score"},
    )


def _parsed(file: Path, data: bytes) -> Table:
    suffixes = [s.lower() for s in file.suffixes if s.lower() != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    if data.startswith(b"PK\x03\x04"):
        return inspect_log.read_zip(data)
    if data.startswith(b"PAR1"):
        return _parquet(data)
    text = text_of(data)
    if suffix in LINES:
        return _of_json(lines_of(text), "JSON lines")
    if suffix in (".json", ".eval") or text.lstrip()[:1] in ("{", "["):
        try:
            return _of_json(json_of(text), "JSON")
        except json.JSONDecodeError as cause:
            if not cause.msg.startswith("Extra data"):
                raise
        return _of_json(lines_of(text), "JSON lines")
    return delimited.read(text)


def _inside(data: Any) -> str:
    """Where the rows may be, for an object that holds lists of them."""
    lists = [] if not isinstance(data, Mapping) else [
        repr(key) for key, rows in data.items()
        if isinstance(rows, list) and rows and all(isinstance(row, Mapping) for row in rows)
    ]  # fmt: skip
    return f"; save the list under {' or '.join(lists)} as a file of its own" if lists else ""


def _parquet(data: bytes) -> Table:
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(data))
    return Table("Parquet", named(table.column_names, table.columns))


def _of_json(data: Any, kind: str) -> Table:
    for fits, read in FORMATS:
        if fits(data):
            return read(data)
    if isinstance(data, Mapping) and not any(isinstance(v, list | dict) for v in data.values()):
        return _of_mapping(data, f"{kind},")
    if not isinstance(data, list) or not all(isinstance(row, Mapping) for row in data):
        raise ValueError(f"no rows with named columns{_inside(data)}")
    return Table(kind, of_records(data))
