"""Results of the statistics room become tidy frames, number for number, and are drawn as such."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import InvalidValue
from logoslab.stats import Bounds, Ledger, SamplingContract, portfolio_log_wealth
from logoslab.viz import (
    alt_text,
    confidence_sequence,
    error_rate,
    ledger,
    ledger_frame,
    sequence_frame,
    stream_frame,
    wealth,
    wealth_frame,
)
from logoslab.viz.theme import look
from tests.viz.make import EVIL, decision

LN2 = math.log(2)
DOUBLING = {"candidate": [LN2, 2 * LN2, 3 * LN2], EVIL: [0.0, -LN2]}
TIMES = [10, 20]
ESTIMATES = {"betting": [0.5, 0.6], "control": [0.4, 0.5]}
BOUNDS = {
    "betting": Bounds(np.array([0.2, 0.4]), np.array([0.8, 0.7])),
    "control": Bounds(np.array([0.0, 0.1]), np.array([1.0, 0.9])),
}


def booked() -> Ledger:
    """Three e-LOND gates: one adopted at wealth 1000, one that lost everything, one that idled."""
    book = Ledger(0.05, contract=SamplingContract.SHARED_POOL)
    for gate, log_e in (("repair", math.log(1000)), (EVIL, -math.inf), ("idle", -1.0)):
        book.open(gate)
        book.record(gate, log_e=log_e)
    return book


def test_a_stream_that_doubles_reaches_eight_at_the_third_observation() -> None:
    """2, 4, 8: the bar at 8 is crossed at 3 and not before; a stream that loses never crosses."""
    frame = stream_frame(DOUBLING, 8)
    assert frame["label"].tolist() == ["candidate"] * 3 + [EVIL] * 2
    assert frame["task"].tolist() == [1, 2, 3, 1, 2]
    assert frame["log_wealth"].tolist() == [LN2, 2 * LN2, 3 * LN2, 0.0, -LN2]
    assert frame["crossing"].tolist() == [False, False, True, False, False]
    assert frame["stopped"].tolist() == [False, False, True, False, True]
    assert frame["role"].tolist() == ["candidate"] * 3 + ["other"] * 2
    assert set(frame["log_threshold"]) == {math.log(8)}


def test_a_stream_frame_has_the_columns_of_a_wealth_frame() -> None:
    """One figure draws both."""
    assert list(stream_frame(DOUBLING)) == list(wealth_frame(decision()))


def test_without_a_threshold_nothing_crosses() -> None:
    """The bar is unmeasured, and no line is drawn for it."""
    frame = stream_frame(DOUBLING)
    assert not frame["crossing"].any()
    assert frame["log_threshold"].isna().all()
    assert not wealth(frame).layout.shapes


@given(
    st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=1, max_size=40),
    st.floats(min_value=1.01, max_value=100),
)
def test_the_crossing_is_the_first_time_at_or_above_the_bar(y: list[float], bar: float) -> None:
    """At most one crossing a stream; before it every wealth is below, at it none."""
    path = portfolio_log_wealth(y, 0.5)
    frame = stream_frame({"gain": path}, bar)
    at = frame.index[frame["crossing"]]
    assert len(at) == int(path.max() >= math.log(bar))
    for first in at:
        assert path[first] >= math.log(bar) > path[:first].max(initial=-math.inf)


def test_a_plain_stream_is_drawn_without_a_stop() -> None:
    """No gate concluded, so no stop and no conclusion; the unit names the axis and the alt text."""
    fig = wealth(stream_frame(DOUBLING, 8, roles={EVIL: "harm"}), unit="observation")
    assert [a.text for a in fig.layout.annotations] == ["threshold 8×"]
    assert fig.layout.xaxis.title.text == "observations in arrival order"
    assert [t.line.color for t in fig.data[:2]] == [look("candidate").colour, look("harm").colour]
    assert alt_text(fig) == (
        "Line chart of evidence wealth over 3 observations: candidate ends at 8×; "
        f"{EVIL} ends at 0.5×. Threshold at 8×."
    )


def test_sequences_keep_their_times_and_ends() -> None:
    """One row for each series and time, in the order given; a label that is a role is its role."""
    frame = sequence_frame(TIMES, ESTIMATES, BOUNDS, roles={"betting": "gain"})
    expected = pd.DataFrame(
        {
            "t": [10, 20, 10, 20],
            "estimate": [0.5, 0.6, 0.4, 0.5],
            "low": [0.2, 0.4, 0.0, 0.1],
            "high": [0.8, 0.7, 1.0, 0.9],
            "series": ["betting", "betting", "control", "control"],
            "role": ["gain", "gain", "control", "control"],
        }
    )
    pd.testing.assert_frame_equal(frame, expected)


def test_the_role_says_how_a_sequence_is_drawn() -> None:
    """The legend has the label, the line the role's colour."""
    frame = sequence_frame(TIMES, ESTIMATES, BOUNDS, roles={"betting": "harm"})
    drawn = {t.name: t for t in confidence_sequence(frame).data}
    assert drawn["betting"].line.color == look("harm").colour
    assert drawn["control"].line.color == look("control").colour
    assert list(drawn["betting high"].y) == [0.8, 0.7]


def test_error_rates_stand_against_their_level() -> None:
    """Every number of the frame is drawn, the level is a line, and the alt text says the end."""
    frame = sequence_frame(TIMES, {"peeking": [0.1, 0.2]}, {"peeking": BOUNDS["betting"]})
    fig = error_rate(frame, level=0.05)
    (line,) = [t for t in fig.data if t.name == "peeking"]
    assert (list(line.x), list(line.y)) == ([10, 20], [0.1, 0.2])
    assert [s.y0 for s in fig.layout.shapes] == [0.05]
    assert [a.text for a in fig.layout.annotations] == ["level 0.05"]
    assert alt_text(fig) == (
        "Measured share of false alarms against the stated 0.05: peeking ends at 0.2 "
        "(0.4 to 0.7) after 20."
    )


def test_a_ledger_becomes_one_row_a_gate() -> None:
    """p is 1/e, at most 1: wealth 1000 is p = 0.001, a lost or idle gate is p = 1."""
    book = booked()
    frame = ledger_frame(book)
    assert frame["gate"].tolist() == [1, 2, 3]
    assert frame["label"].tolist() == ["repair", EVIL, "idle"]
    assert frame["level"].tolist() == [entry.level for entry in book.entries]
    assert frame["p"].tolist() == pytest.approx([0.001, 1.0, 1.0])
    assert frame["accepted"].tolist() == [True, False, False]


def test_a_p_value_of_zero_can_be_drawn() -> None:
    """A log axis has no 0: the recorded p is shown as 1e-300 and still adopted."""
    book = Ledger(0.05)
    book.open("g")
    book.record("g", p_value=0.0)
    frame = ledger_frame(book)
    assert frame["p"].tolist() == [1e-300]
    assert frame["accepted"].tolist() == [True]


def test_a_ledger_without_closed_gates_has_no_figure() -> None:
    """The frame is empty and the figure refuses it."""
    frame = ledger_frame(Ledger())
    assert frame.empty
    with pytest.raises(InvalidValue, match="no rows"):
        ledger(frame)


@pytest.mark.parametrize(("gates", "named"), [(20, 2), (21, 1)])
def test_many_gates_name_the_accepted_only(gates: int, named: int) -> None:
    """Up to twenty gates all have labels; from twenty-one on, those that were accepted."""
    frame = pd.DataFrame(
        {
            "gate": range(1, gates + 1),
            "level": 0.01,
            "p": 0.5,
            "accepted": [True] + [False] * (gates - 1),
            "label": [f"c{n}" for n in range(gates)],
        }
    )
    assert sum("text" in trace.mode for trace in ledger(frame).data) == named


REFUSALS = [
    (
        lambda: stream_frame({}),
        "paths: allowed at least one labelled series; got none. Pass one.",
    ),
    (
        lambda: stream_frame({"a": [0.0, math.inf]}),
        "path of a: allowed one row of finite numbers; got shape (2,) with NaN or infinity. "
        "Pass one stream at a time, measured at every step.",
    ),
    (
        lambda: stream_frame({"a": [[0.0], [1.0]]}),
        "path of a: allowed one row of finite numbers; got shape (2, 1). "
        "Pass one stream at a time, measured at every step.",
    ),
    (
        lambda: stream_frame({"a": [0.0]}, -1),
        "threshold: allowed a positive wealth such as 20 (= 1/0.05); got -1. "
        "Pass 1/level of the gate.",
    ),
    (
        lambda: sequence_frame(TIMES, ESTIMATES, {"betting": BOUNDS["betting"]}),
        "bounds: allowed the labels of the estimates, in their order: betting, control; "
        "got betting. Give one pair of bounds for each estimate.",
    ),
    (
        lambda: sequence_frame([10], ESTIMATES, BOUNDS),
        "estimate of betting: allowed shape (1,), one value for each time; got shape (2,). "
        "Evaluate it at the times in t.",
    ),
]


@pytest.mark.parametrize(("call", "message"), REFUSALS, ids=range(len(REFUSALS)))
def test_what_cannot_be_laid_out_is_refused(call: object, message: str) -> None:
    """Which, allowed, got and next, in full."""
    with pytest.raises(InvalidValue) as caught:
        call()  # type: ignore[operator]
    assert str(caught.value) == message
