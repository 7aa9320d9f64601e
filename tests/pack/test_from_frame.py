"""Evidence from a tidy frame: the same trials as one by one, checked column by column."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError
from logoslab.pack.base import canonical_json, digest
from logoslab.pack.canonical import column_bytes
from logoslab.pack.evidence import Evidence, Trial, evidence_from_scores

ROWS = [("b", "incumbent", 1.0), ("b", "candidate", 0.0), ("a", "incumbent", None),
        ("a", "candidate", 1.0), ("b", "candidate", 1.0)]  # fmt: skip


def frame(**columns):
    made = pd.DataFrame(ROWS, columns=["task", "arm", "value"])
    return made.assign(**columns)


def test_rows_become_trials():
    """Missing is None, tasks arrive as they first appear, repeated rows are numbered."""
    made = Evidence.from_frame(frame(), sampling="iid", scorer="exact")
    assert made.trials == (
        Trial(task="b", arm="incumbent", value=1.0),
        Trial(task="b", arm="candidate", value=0.0),
        Trial(task="a", arm="incumbent", value=None, order=1),
        Trial(task="a", arm="candidate", value=1.0, order=1),
        Trial(task="b", arm="candidate", value=1.0, replicate=1),
    )
    assert (made.sampling, made.scorer) == ("iid", "exact")


def test_it_goes_out_and_in_again():
    """``from_frame(evidence.frame())`` gives the same trials and the same digest."""
    made = Evidence.from_frame(
        frame(slice=["x"] * 5, cost=[1.5, np.nan, 0.0, 2.0, 3.0], role="safety", metric="f1")
    )
    again = Evidence.from_frame(made.frame())
    assert again == made
    assert again.digest == made.digest
    assert [t.cost for t in again.trials] == [1.5, None, 0.0, 2.0, 3.0]


def test_columns_of_other_names_and_plain_mappings():
    """Any column name; a dict of lists needs no pandas."""
    columns = {"q": ["a", "a"], "who": ["incumbent", "candidate"], "f1": [0, True], "usd": [1, 2]}
    made = Evidence.from_frame(columns, task="q", arm="who", value="f1", cost="usd")
    assert [(t.value, t.cost) for t in made.trials] == [(0.0, 1.0), (1.0, 2.0)]


@pytest.mark.parametrize(
    ("table", "named", "message"),
    [
        (frame().drop(columns="arm"), {}, "arm of the evidence frame: .*got columns task, value"),
        (frame(), {"cost": "usd"}, "usd of the evidence frame: .*a column with the cost"),
        (frame()[:0], {}, "got 0 rows"),
        (frame(arm="baseline"), {}, "allowed incumbent, candidate, .*got 'baseline'"),
        (frame(role="gate"), {}, "allowed failure, protected, holdout, safety; got 'gate'"),
        (frame(value=math.inf), {}, "allowed finite numbers, .*got inf in row 1"),
        (frame(value="good"), {}, "could not convert string to float: 'good'"),
        (frame(task=["a", None, "a", "a", "a"]), {}, "got nothing in row 2"),
        (frame(replicate=0), {}, "task 'b', candidate, replicate 0, 2 times"),
        (frame(replicate=-1), {}, "replicate of the evidence frame: allowed whole numbers from 0"),
        (frame(order=0.5), {}, "order of the evidence frame: allowed whole numbers from 0"),
    ],
)
def test_what_is_wrong_is_named(table, named, message):
    """Absent or empty columns, unknown arms and roles, no number, one trial twice."""
    with pytest.raises(EvidenceError, match=message):
        Evidence.from_frame(table, **named)


def test_pairs_are_those_of_the_definition():
    """Means over replicates by hand: b has (0 + 1)/2 against 1; a has no baseline."""
    pairs = Evidence.from_frame(frame()).pairs()
    assert (pairs.tasks, pairs.left_out, pairs.filled) == (("b",), ("a",), ())
    assert pairs.difference.tolist() == [-0.5]


@given(st.dictionaries(st.sampled_from("abcdef"), st.none() | st.floats(0, 1), min_size=1))
def test_pairs_count_what_the_candidate_did_not_return(candidate):
    """Property: n is the number of tasks with a baseline, and holes are filled with m_fail."""
    tasks = dict.fromkeys("abcdef", 0.5)
    pairs = evidence_from_scores(tasks, candidate).pairs(m_fail=-1.0)
    given_back = [candidate.get(t) for t in "abcdef"]
    assert pairs.candidate.tolist() == [-1.0 if v is None else v for v in given_back]
    assert pairs.filled == tuple(t for t in "abcdef" if candidate.get(t) is None)


columns = (
    st.lists(st.text())
    | st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.none())
    | st.lists(st.integers(-(2**53) + 1, 2**53 - 1))
    | st.lists(st.booleans() | st.text(max_size=2) | st.lists(st.integers(0, 3)))
)


@given(columns)
def test_fast_columns_are_canonical_json(values):
    """Property: the bytes are those of ``rfc8785``, for text, floats, whole numbers and others."""
    assert column_bytes(values) == canonical_json(values)


def test_the_digest_is_that_of_the_columns():
    """By the definition: the digest of the canonical JSON of head and columns."""
    made = Evidence.from_frame(frame(cost=[1e-7, 1e21, 0.1, -0.0, 5.0]))
    rows = [t.model_dump(mode="json") for t in made.trials]
    listed = {name: [row[name] for row in rows] for name in Trial.model_fields}
    parts = {
        name: {"all": values[0]} if values.count(values[0]) == len(values) else {"each": values}
        for name, values in listed.items()
    }
    head = made.model_dump(mode="json", exclude={"trials"})
    assert made.digest == digest({**head, "trials": {"n": 5, **parts}})
