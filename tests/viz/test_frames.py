"""Values → tidy frames."""

from __future__ import annotations

import math

import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from logoslab.errors import InvalidValue
from logoslab.pack.evidence import evidence_from_scores
from logoslab.pack.run import TaskResult
from logoslab.viz import cascade_frame, pack_frame, paired_frame, wealth_frame
from tests.viz.make import decision, pack, routed

LADDER = ("greedy", "samples", "solver")


def test_wealth_frame_is_the_decision_path() -> None:
    """One row per process and task, in natural logs; other paths are left out."""
    frame = wealth_frame(decision())
    assert list(frame["process"].unique()) == ["gain", "reg", "harm"]
    for process, path in frame.groupby("process"):
        assert tuple(path["log_wealth"]) == decision().path[f"log_wealth_{process}"]
        assert list(path["task"]) == [1, 2, 3, 4]
        assert list(path["stopped"]) == [False, False, False, True]
    assert set(frame["conclusion"]) == {"accept"}


def test_crossings_use_the_threshold_of_each_side() -> None:
    """Gain reaches 8 at task 3 and reg at task 4; harm never reaches 16. Ties count."""
    frame = wealth_frame(decision())
    assert frame.loc[frame["crossing"], ["process", "task"]].to_numpy().tolist() == [
        ["gain", 3], ["reg", 4]
    ]  # fmt: skip
    assert frame.groupby("side")["log_threshold"].first().to_dict() == {
        "accept": math.log(8), "harm": math.log(16)
    }  # fmt: skip


def test_a_given_threshold_replaces_both() -> None:
    """At 4 both accept streams cross at task 2."""
    frame = wealth_frame(decision(), threshold=4)
    assert list(frame.loc[frame["crossing"], "task"]) == [2, 2]
    assert frame["log_threshold"].unique().tolist() == [math.log(4)]


def test_no_threshold_means_no_crossing() -> None:
    """A decision that names none, and a path that starts at task 0."""
    frame = wealth_frame(decision(numbers={}, tasks=3))
    assert not frame["crossing"].any()
    assert frame["log_threshold"].isna().all()
    assert list(frame["task"].unique()) == [0, 1, 2, 3]


def test_a_decision_without_wealth_is_refused() -> None:
    """The message says which paths there are and what to do."""
    with pytest.raises(InvalidValue) as refused:
        wealth_frame(decision(rule="paired", path={"difference": (0.1,)}))
    assert str(refused.value) == (
        "wealth of rule paired: allowed a decision with a path log_wealth_*; got paths "
        "['difference']. Decide with an anytime-valid rule, or draw paired differences instead."
    )


@pytest.mark.parametrize("bad", [0, -1, float("nan")])
def test_a_threshold_is_positive(bad: float) -> None:
    """Zero, negative and NaN are refused."""
    with pytest.raises(InvalidValue) as refused:
        wealth_frame(decision(), threshold=bad)
    assert str(refused.value) == (
        f"threshold: allowed a positive wealth such as 20 (= 1/0.05); got {bad}. "
        "Pass 1/level of the gate."
    )


def test_paired_frame_sorts_and_signs() -> None:
    """Differences −1, 0, 0.25 (within the tolerance), 1; the missing score is filled and named."""
    frame = paired_frame(
        evidence_from_scores(
            {"a": 0.0, "b": 1.0, "c": 0.5, "d": 0.5}, {"a": 1.0, "b": None, "c": 0.5, "d": 0.75}
        ),
        tolerance=0.25,
    )
    assert frame[["rank", "task", "difference", "sign", "filled"]].to_numpy().tolist() == [
        [1, "b", -1.0, "harm", True],
        [2, "c", 0.0, "tie", False],
        [3, "d", 0.25, "tie", False],
        [4, "a", 1.0, "gain", False],
    ]


@given(
    st.dictionaries(
        st.text(min_size=1), st.tuples(*[st.floats(0, 1) | st.none()] * 2), min_size=1, max_size=20
    )
)
def test_paired_frame_loses_no_task(scores: dict[str, tuple[float | None, float | None]]) -> None:
    """Every task with a baseline once, differences ascending, signs consistent with them."""
    assume(any(a is not None for a, _ in scores.values()))
    incumbent = {t: a for t, (a, _) in scores.items()}
    candidate = {t: b for t, (_, b) in scores.items()}
    frame = paired_frame(evidence_from_scores(incumbent, candidate))
    assert sorted(frame["task"]) == sorted(t for t, a in incumbent.items() if a is not None)
    assert frame["difference"].is_monotonic_increasing
    assert ((frame["difference"] > 0) == (frame["sign"] == "gain")).all()
    assert ((frame["difference"] < 0) == (frame["sign"] == "harm")).all()


ANSWERS = [
    routed("greedy", answered="greedy"),
    routed("greedy", "samples", "samples", "samples", answered=None),
    routed("greedy", "samples", "solver", answered="solver"),
    routed("samples", answered="samples"),  # entered higher up
    routed(answered=None),  # every stage abstained
]
# greedy 3 tried 1 passed; samples 3 tried (four outputs of one task count once) 1 passed;
# solver 1 tried 1 passed; a person gets the other two of five.
COUNTS = [
    ["greedy", 3, 1, 2, 0], ["samples", 3, 1, 2, 1], ["solver", 1, 1, 0, 2], ["person", 2, 0, 2, 3]
]  # fmt: skip
SHOWN = ["stage", "attempted", "accepted", "escalated", "offset"]


def test_cascade_frame_counts_tasks() -> None:
    """Tasks, not outputs, are counted at every stage."""
    frame = cascade_frame({"extract": ANSWERS}, LADDER)
    assert frame[SHOWN].to_numpy().tolist() == COUNTS
    assert set(frame["tasks"]) == {5}


def test_cascade_frame_from_a_trace_is_the_same() -> None:
    """One row per attempt gives the same counts as the routed answers (the silent one apart)."""
    rows = [
        (i, "extract", a.stage, a.verdict.accepted)
        for i, answer in enumerate(ANSWERS[:4])
        for a in answer.attempts
    ]
    trace = pd.DataFrame(rows, columns=["task", "dimension", "stage", "accepted"])
    frame = cascade_frame(trace)
    pd.testing.assert_frame_equal(frame, cascade_frame({"extract": ANSWERS[:4]}, LADDER))


def test_cascade_frame_from_results() -> None:
    """A result that names its stage climbed to it; one that names none went to a person."""
    results = [
        TaskResult(task=f"t{i}", arm="incumbent", status="completed", output={},
                   stages={"extract": stage})
        for i, stage in enumerate(("greedy", "solver", None))
    ]  # fmt: skip
    frame = cascade_frame(results, LADDER)
    assert frame[SHOWN].to_numpy().tolist() == [
        ["greedy", 3, 1, 2, 0], ["samples", 2, 0, 2, 1], ["solver", 2, 1, 1, 1],
        ["person", 1, 0, 1, 2],
    ]  # fmt: skip


def test_cascade_frame_refusals() -> None:
    """Results need a ladder, and something must have been routed."""
    with pytest.raises(InvalidValue) as ladder:
        cascade_frame([])
    assert str(ladder.value) == (
        "ladder: allowed the stages, cheapest first; got none, with task results. "
        "Pass ladder=('greedy', 'samples', 'solver') or your router's stages."
    )
    with pytest.raises(InvalidValue) as empty:
        cascade_frame({})
    assert str(empty.value) == (
        "cascade_frame: allowed at least one attempt of one stage; got no routed answer. "
        "Run tasks through a model step first."
    )


@given(st.lists(st.sampled_from([*LADDER, None]), min_size=1, max_size=30))
def test_every_task_comes_to_rest_once(stages: list[str | None]) -> None:
    """Accepted tasks and those left to a person add up to all tasks."""
    results = [
        TaskResult(task=f"t{i}", arm="incumbent", status="completed", output={}, stages={"x": s})
        for i, s in enumerate(stages)
    ]
    frame = cascade_frame(results, LADDER)
    left = frame.loc[frame["stage"] == "person", "escalated"].iloc[0]
    assert frame["accepted"].sum() + left == len(stages)
    assert left == stages.count(None)


def test_pack_frame_holds_every_part_and_use() -> None:
    """Layers 0, 1, 1, 2; parts that no phase uses and uses of absent parts are both nodes."""
    nodes, edges = pack_frame(pack())
    layer = nodes.set_index("node")["layer"]
    assert [layer[f"phase:{p}"] for p in ("read", "left", "right", "end")] == [0, 1, 1, 2]
    assert set(nodes["node"]) == {
        "phase:read", "phase:left", "phase:right", "phase:end", "agent:clerk", "skill:intake",
        "tool:lookup", "tool:solve", "tool:spare", "tool:absent",
    }  # fmt: skip
    detail = nodes.set_index("node")["detail"]
    assert detail["tool:absent"] == "not in the pack"
    assert detail["tool:lookup"] == "read only"
    assert layer["tool:spare"] == -1
    found = set(edges.itertuples(index=False, name=None))
    some = {
        ("phase:left", "tool:lookup", "checks"),
        ("phase:left", "tool:solve", "solves"),
        ("phase:read", "phase:end", "then"),
        ("phase:end", "skill:intake", "reads"),
    }
    assert some <= found
    assert len(found) == 5 + 4 + 2 + 1 + 1 + 2  # then, acts, calls, checks, solves, reads


def test_no_two_labels_of_a_lane_meet() -> None:
    """Nodes of one kind never share a place, and lanes other than the plan keep a full row."""
    nodes, _ = pack_frame(pack())
    assert not nodes.duplicated(["x", "y"]).any()
    for kind, lane in nodes.groupby("kind"):
        if kind != "phase":
            assert (lane["y"].sort_values().diff().dropna() >= 1).all()
