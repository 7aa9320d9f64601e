"""Result files as tools and people really leave them: read for what they are, or refused."""

import gzip
import json
import os
import sys

import pandas as pd
import pytest

from logoslab.errors import SourceError
from logoslab.interop import read_results

WANTED = {"a": 1.0, "b": 0.0}


def written(folder, name, data):
    path = folder / name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("utf16.csv", "task\tscore\na\t1\nb\t0\n".encode("utf-16")),
        ("notes.csv", "task;score;note, why, who\na;1;x\nb;0;y\n"),
        ("quoted.csv", 'task;score;"note; why, who, when, where"\na;1;x\nb;0;"y, z"\n'),
        ("break.csv", 'task,score,note\na,1,"two\nlines; one ""cell"""\nb,0,\n'),
        ("end.csv", "task,score\na,1\nb,0\n   \n"),
        ("lines.json", '{"task": "a", "score": 1}\n{"task": "b", "score": 0}\n'),
        ("packed.csv", gzip.compress(b"task,score\na,1\nb,0\n")),
        ("plain.csv.gz", "task,score\na,1\nb,0\n"),
    ],
)
def test_the_content_decides_how_a_file_is_read(tmp_path, name, data):
    """UTF-16 by its mark, the separator that header and rows share, gzip by its first bytes."""
    assert read_results(written(tmp_path, name, data)).scores == WANTED


def test_nested_scores_have_a_name(tmp_path):
    """A score inside an object is the column outer.inner, listed when it must be chosen."""
    rows = [{"task": t, "scores": {"exact": s, "f1": {"micro": 0.5}}} for t, s in WANTED.items()]
    path = written(tmp_path, "r.jsonl", "\n".join(map(json.dumps, rows)))
    assert read_results(path, score="scores.exact").scores == WANTED
    assert read_results(path, score="scores.f1.micro").task_mean == 0.5
    with pytest.raises(SourceError, match=r"got columns task, scores.exact, scores.f1.micro"):
        read_results(path)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("big.json", '[{"task": "a", "score": 1' + "0" * 400 + "}]", "score in row 1 of big.json"),
        ("cost.json", '[{"task": "a", "score": 1, "cost": 1' + "0" * 400 + "}]", "cost in row 1"),
        ("bar.csv", "task,score\na,1_0\n", "score in row 1 of bar.csv: .*; got '1_0'"),
        ("comma.csv", "task;score\na;0,5\n", "finite number with a decimal point.*; got '0,5'"),
        ("rate.csv", "task,score\na,52.8%\n", "finite number with a decimal point.*'52.8%'"),
        ("cost.csv", "task,score,cost\na,1,-1\n", "cost in row 1 of cost.csv: .*; got -1"),
        ("time.csv", "task,score,latency\na,1,2\nb,1,-3\n", "latency in row 2 of time.csv"),
        ("flag.json", '[{"task": "a", "score": true}, {"task": "b", "score": 40}]', "one scale"),
        ("latin.csv", "task,score\né,1\n".encode("latin-1"), "no UTF-8 text.*save it as UTF-8"),
        ("cut.jsonl", '{"task": "a", "score": 1}\n{"task": "b"', "got line 2: "),
        ("key.jsonl", '{"task": "a", "s": {"x": 1}, "s.x": 2}', "'s.x' stands twice"),
        ("text.json", '[{"task": "\\ud800", "score": 1}]', r"task in row 1 of text.json"),
        ("slice.json", '[{"task": "a", "score": 1, "slice": "\\ud800"}]', "slice in row 1 of"),
        ("number.json", "3", "got no rows with named columns"),
        ("names.json", '{"columns": ["a", "a", "m/score"], "data": [[1, 2, 3]]}', "of one name"),
        ("none.json", '{"resolved_ids": []}', "no task resolved and no other task listed"),
    ],
)
def test_what_is_no_result_is_refused_where_it_stands(tmp_path, name, data, message):
    """Numbers out of range or in another notation, negative cost, text that is none: named."""
    with pytest.raises(SourceError, match=message):
        read_results(written(tmp_path, name, data))


def test_two_columns_of_one_name_are_refused_in_tables(tmp_path):
    """A DataFrame and a Parquet file with a column twice say so, and take neither."""
    import pyarrow as pa
    from pyarrow import parquet

    frame = pd.DataFrame([["a", 1, 0]], columns=["task", "score", "score"])
    columns = [pa.array(["a"]), pa.array([1]), pa.array([0])]
    parquet.write_table(pa.table(columns, names=list(frame.columns)), tmp_path / "r.parquet")
    for source in (frame, tmp_path / "r.parquet"):
        with pytest.raises(SourceError, match=r"two columns of one name|Multiple matches"):
            read_results(source)


def test_columns_that_differ_in_case_are_told_apart():
    """Task and task: the named one is read, and a guess says that there are two."""
    frame = pd.DataFrame({"Task": ["x"], "task": ["a"], "score": [1]})
    assert read_results(frame, task="Task").tasks == ("x",)
    assert read_results(frame, task="task").tasks == ("a",)
    assert read_results(frame).notes == ("task could also be task",)
    with pytest.raises(SourceError, match=r"task column of DataFrame: .*several: Task, task"):
        read_results(frame, task="TASK")


def test_an_agent_that_resolves_nothing_is_read(tmp_path):
    """An empty list of resolved tasks beside unresolved ones is a result of 0, not an error."""
    report = {"resolved_ids": [], "unresolved_ids": ["a", "b"], "resolved_instances": 0}
    found = read_results(written(tmp_path, "r.json", json.dumps(report)))
    assert found.scores == {"a": 0.0, "b": 0.0}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_is_no_missing_file(tmp_path):
    """A pipe and a lone dash are named as what they are; neither is waited for."""
    os.mkfifo(tmp_path / "pipe")
    for path, message in ((tmp_path / "pipe", "a pipe or a device"), ("-", "no such file")):
        with pytest.raises(SourceError, match=f"got {message}.*Give the path of a result file"):
            read_results(path)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux file names are any bytes")
def test_a_file_name_that_is_no_text_is_shown_as_text(tmp_path):
    """A byte that is no UTF-8 in a name becomes the replacement character."""
    path = os.path.join(os.fsencode(tmp_path), b"\xff.csv")
    with open(path, "wb") as handle:
        handle.write(b"task,score\na,1\n")
    assert read_results(os.fsdecode(path)).source == "\ufffd.csv"
