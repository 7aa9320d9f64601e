"""Tables of results: what is read, how that is told, and what is refused."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest

from logoslab.errors import InvalidValue, SourceError
from logoslab.interop import Results, read_results

WANTED = {"a": 1.0, "b": 0.0, "c": None}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", "task,score\na,1\nb,0\nc,\n"),
        ("r.csv", "task;score\r\na;1\r\nb;0\r\nc;\r\n"),
        ("r.tsv", "instance_id\tresolved\na\tTrue\nb\tFalse\nc\t\n"),
        ("r.csv", "\ufeffid,passed,note\na,pass,x\nb,fail,\nc,,\n"),
        ("r.json", json.dumps({"a": 1, "b": 0, "c": None})),
        ("r.json", json.dumps([{"task_id": t, "correct": s} for t, s in WANTED.items()])),
        ("r.jsonl", "\n".join(json.dumps({"Task": t, "Score": s}) for t, s in WANTED.items())),
    ],
)
def test_usual_files_are_read(tmp_path, name, text):
    """Separators, a byte-order mark, JSON, JSON lines, true/false and pass/fail; also as .gz."""
    path = tmp_path / name
    path.write_bytes(text.encode())
    assert read_results(path).scores == WANTED
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_results(packed).scores == WANTED


def test_frames_parquet_and_mappings_are_read(tmp_path):
    """The same three scores as a DataFrame, a named index, Parquet, a Series, a mapping."""
    frame = pd.DataFrame({"task": ["a", "b", "c"], "score": [1.0, 0.0, np.nan]})
    frame.to_parquet(tmp_path / "r.parquet")
    indexed = frame.set_index("task")
    series = indexed["score"]
    ways = (frame, indexed, tmp_path / "r.parquet", series, series.to_dict(), WANTED)
    for way in ways:
        assert read_results(way).scores == WANTED
    assert read_results(read_results(WANTED)).source == "mapping"


def test_whole_numbers_name_the_same_task_everywhere():
    """Task 3 is task 3.0, which is what pandas makes of a column with a hole elsewhere."""
    old, new = (
        read_results(pd.DataFrame({"task": t, "score": [1, 0]})) for t in ([3, 4], [3.0, 4.0])
    )
    assert old.tasks == new.tasks == ("3", "4")


def test_what_was_guessed_is_said(tmp_path):
    """Guessed columns are listed and other likely ones noted; a named column is no guess."""
    path = tmp_path / "r.csv"
    path.write_text("instance_id,resolved,score,cost\na,1,0.5,2\n")
    found = read_results(path)
    assert found.guessed == ("task", "score", "cost")
    assert found.notes == ("score could also be resolved",)
    assert found.how_read() == (
        "r.csv: CSV, 1 tasks; task from 'instance_id' (guessed), score from 'score' (guessed), "
        "cost from 'cost' (guessed)"
    )
    named = read_results(path, score="resolved", cost="COST")
    assert named.guessed == ("task",)
    assert (named.values, named.costs, named.notes) == ((1.0,), (2.0,), ())


def test_repeated_tasks_are_runs_and_noted(tmp_path):
    """Rows 1, 0, 1 of one task are runs with mean 2/3, numbered 0, 1, 2; a note says so."""
    path = tmp_path / "r.csv"
    path.write_text("task,score\na,1\na,0\nb,1\na,1\n")
    found = read_results(path)
    assert found.scores == {"a": pytest.approx(2 / 3), "b": 1.0}
    assert found.replicates == (0, 1, 0, 2)
    assert found.notes[0] == (
        "1 of 2 tasks have several rows, up to 3 ('a'); they count as repeated runs and are "
        "averaged; no column tells runs from copies: name it, --replicate"
    )


def test_run_weighted_and_task_weighted_means_are_told_apart():
    """Three runs of an easy task, one of a hard one: 1/2 over tasks, 3/4 over runs, both said."""
    found = read_results(pd.DataFrame({"task": ["a", "a", "a", "b"], "score": [1, 1, 1, 0]}))
    assert (found.task_mean, found.run_mean) == (0.5, 0.75)
    assert "the mean over tasks is 0.5000, the mean over runs 0.7500" in found.notes[-1]


def test_an_empty_score_is_a_failure_and_noted():
    """A run that returned nothing stays in the denominator: (1 + 0)/2."""
    found = read_results({"a": 1.0, "b": None})
    assert found.task_mean == 0.5
    assert found.notes == ("1 row(s) without a score: nothing came back",)


def test_cost_that_nobody_measured_is_unknown():
    """A column of empty cells is no cost of 0."""
    found = read_results(pd.DataFrame({"task": ["a"], "score": [1], "cost": [None]}))
    assert found.costs is None
    assert "cost" not in found.columns


CSV = "allowed CSV, TSV, Parquet, JSON, JSON lines, "


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.csv", None, "got no such file"),
        ("empty.csv", b"", "got no rows with named columns"),
        ("head.csv", b"task,score\n", "got no rows with named columns"),
        ("bin.csv", b"\xff\xfe\x00\x01" * 20, f"result file bin.csv: {CSV}"),
        ("half.json", b'{"a": 1', f"result file half.json: {CSV}"),
        ("twice.json", b'{"a": 1, "a": 0}', "'a' stands twice in one object"),
        ("list.json", b"[1, 2]", "got no rows with named columns"),
        ("cut.csv.gz", gzip.compress(b"task,score\na,1\n")[:-9], "result file cut.csv.gz: "),
        ("not.eval", b"PK\x03\x04nonsense", "got no zip: "),
        ("bad.parquet", b"PAR1nonsense", "result file bad.parquet: "),
        ("two.csv", b"task,score,score\na,1,1\n", "two columns of one name"),
        ("long.csv", b"task,score\na,1,2\n", "3 cells in row 1, 2 in the header"),
        ("odd.csv", b"x,y\n1,2\n", "task column of odd.csv: allowed one of task, task_id"),
        ("nameless.csv", b"task,score\n,1\n", "row 1 of nameless.csv: .*got no task"),
        ("word.csv", b"task,score\na,good\n", "score in row 1 of word.csv: .*; got 'good'"),
        ("inf.csv", b"task,score\na,inf\n", "score in row 1 of inf.csv: allowed a finite number"),
        ("mixed.csv", b"task,score\na,1\nb,0\nc,85\n", "scores of mixed.csv: allowed one scale"),
        ("words.csv", b"task,score\na,true\nb,85\n", "score of words.csv: allowed one scale"),
        ("copy.csv", b"task,trial,score\na,0,1\na,0,1\n", "got task 'a' has run 0 2 times"),
        ("cut.csv", b"task,score,slice\na,1,x\na,0,y\n", "slice of task 'a' in cut.csv"),
        ("cost.csv", b"task,score,cost\na,1,free\n", "cost in row 1 of cost.csv: .*got 'free'"),
    ],
)
def test_what_cannot_be_read_is_said(tmp_path, name, content, message):
    """Missing, empty, binary, cut, foreign, unnamed, infinite, on two scales: one typed error."""
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceError, match=message):
        read_results(path)


@pytest.mark.parametrize("what", ["task", "score", "replicate", "slice", "cost", "latency"])
def test_a_named_column_must_be_there(what):
    """No column is replaced by a guess once it was named."""
    frame = pd.DataFrame({"task": ["a"], "score": [1]})
    with pytest.raises(
        SourceError,
        match=f"^{what} column of DataFrame: allowed one of .*; got 'gone', which is not there",
    ):
        read_results(frame, **{what: "gone"})


def test_other_types_are_refused():
    """A list of numbers has no tasks, nor has a Series under row numbers."""
    with pytest.raises(InvalidValue, match="results: allowed a path, a DataFrame, a Series or"):
        read_results([1, 0])
    with pytest.raises(InvalidValue, match="index of a Series: allowed the tasks' ids; got row"):
        read_results(pd.Series([1.0, 0.0]))


def test_a_series_is_named_and_may_repeat_a_task():
    """Its name in messages is Series; one task twice is two runs, as in a table."""
    read = read_results(pd.Series([1.0, 0.0, 1.0], index=["a", "a", "b"]))
    assert (read.source, read.scores) == ("Series", {"a": 0.5, "b": 1.0})


def test_columns_have_one_length():
    """Results cannot be made with more tasks than values."""
    with pytest.raises(ValueError, match="columns of different lengths"):
        Results(source="s", format="f", tasks=("a", "b"), values=(1.0,), replicates=(0, 0))


def test_a_tidy_frame_comes_out():
    """One row a run with the eight columns; the metric is the score column's name."""
    found = read_results(pd.DataFrame({"task": ["a", "b"], "f1": [0.5, 1]}), score="f1")
    frame = found.frame()
    assert frame["metric"].unique().tolist() == ["f1"]
    assert frame[["task", "value"]].values.tolist() == [["a", 0.5], ["b", 1.0]]


@pytest.mark.parametrize(("headline", "agrees"), [(0.5, True), (50, True), (0.504, False)])
def test_a_headline_from_elsewhere_is_checked(headline, agrees):
    """Details of 1/2: 0.5 and 50 % agree; 0.504 is noted with both numbers."""
    (note,) = read_results({"a": 1, "b": 0}, headline=headline).notes
    assert ("agrees" in note) == agrees
    assert agrees or note == (
        "headline 0.5040 (headline given by the caller), details 0.5000 over 2 tasks: they differ"
    )
