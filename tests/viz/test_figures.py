"""Figures draw their frames, are told apart without colour, and say what they show."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from logoslab.errors import InvalidValue
from logoslab.pack.evidence import evidence_from_scores
from logoslab.viz import (
    alt_text,
    cascade_flow,
    cascade_frame,
    confidence_sequence,
    describe,
    ledger,
    pack_frame,
    pack_graph,
    paired_differences,
    paired_frame,
    reliability_decay,
    wealth,
    wealth_frame,
)
from logoslab.viz.scale import decades, times
from logoslab.viz.theme import LOOKS, look
from tests.viz.make import EVIL, decision, pack, routed

PAIRS = evidence_from_scores(
    {EVIL: 0.0, "b": 1.0, "c": 0.5, "d": 0.0}, {EVIL: 1.0, "b": None, "c": 0.5, "d": 0.5}
)
CASCADE = {
    f"extract {EVIL}": [
        routed("greedy", answered="greedy"),
        routed("greedy", "solver", answered="solver"),
        routed("greedy", "solver", answered=None),
    ]
}
SEQUENCE = pd.DataFrame(
    {
        "t": [1, 2, 1, 2],
        "estimate": [0.5, 0.6, 0.4, 0.4],
        "low": [0.1, 0.3, 0.0, math.nan],
        "high": [0.9, 0.8, 1.0, math.nan],
        "series": ["candidate", "candidate", EVIL, EVIL],
    }
)
GATES = pd.DataFrame(
    {
        "gate": [1, 2, 3],
        "level": [0.03, 0.01, 0.02],
        "p": [0.001, 0.5, math.nan],
        "accepted": [True, False, False],
        "label": ["repair", EVIL, "unmeasured"],
    }
)
DECAY = SEQUENCE.rename(columns={"t": "step", "estimate": "reliability", "series": "arm"})

FIGURES: dict[str, Callable[[], go.Figure]] = {
    "wealth": lambda: wealth(wealth_frame(decision())),
    "paired": lambda: paired_differences(paired_frame(PAIRS)),
    "cascade": lambda: cascade_flow(cascade_frame(CASCADE)),
    "pack": lambda: pack_graph(pack_frame(pack())),
    "sequence": lambda: confidence_sequence(SEQUENCE, reference=0.5),
    "ledger": lambda: ledger(GATES),
    "decay": lambda: reliability_decay(DECAY),
}
every_figure = pytest.mark.parametrize("make", FIGURES.values(), ids=list(FIGURES))


def trace(fig: go.Figure, name: str) -> go.Scatter:
    """The one trace of that name."""
    (found,) = [t for t in fig.data if t.name == name]
    return found


def test_wealth_draws_the_frame() -> None:
    """Traces hold the frame's numbers, both thresholds are lines, crossings are ringed."""
    frame = wealth_frame(decision())
    fig = wealth(frame)
    for label, path in frame.groupby("label"):
        drawn = trace(fig, str(label))
        assert list(drawn.x) == list(path["task"])
        assert list(drawn.y) == list(path["log_wealth"])
    assert list(trace(fig, "first crossing").x) == [3, 4]
    lines = [s.y0 for s in fig.layout.shapes if s.y0 == s.y1]
    assert lines == [math.log(8), math.log(16)]
    texts = [a.text for a in fig.layout.annotations]
    assert texts == ["accept 8×", "harm 16×", "after 4: <b>accept</b>"]
    assert alt_text(fig) == (
        "Line chart of evidence wealth over 4 gate tasks: gain above δ_min ends at 4×; regressions "
        "rare ends at 8×; worse on average ends at 0.0625×. Accept at 8×. Harm at 16×. "
        "Conclusion: accept."
    )


def test_wealth_with_one_given_threshold() -> None:
    """The argument is drawn instead of the frame's own."""
    fig = wealth(wealth_frame(decision()), 20)
    assert [s.y0 for s in fig.layout.shapes if s.y0 == s.y1] == [math.log(20)]
    assert "threshold 20×" in [a.text for a in fig.layout.annotations]


def test_wealth_in_words() -> None:
    """Three digits below a thousand, separators above, the power of ten alone far out."""
    words = {0.0123: "0.0123×", 20.0: "20×", 999.4: "999×", 31622.8: "31,623×", 1e-7: "10^-7×"}
    assert {wealth: times(math.log(wealth)) for wealth in words} == words


def test_round_wealths_stay_few() -> None:
    """Any span gets between two and twelve labels."""
    for span in (0.0, 1.0, 3.0, 10.0, 100.0, 1000.0):
        assert 2 <= len(decades(-span / 4, span)) <= 12


def test_enormous_wealth_stays_readable() -> None:
    """Log wealth beyond the range of floats is drawn and labelled as a power of ten."""
    fig = wealth(wealth_frame(decision(path={"log_wealth_gain": (0.0, 5000.0)}, tasks=2)))
    assert trace(fig, "gain above δ_min").y[-1] == 5000.0
    assert "ends at 10^2171×" in alt_text(fig)  # 5000 / ln 10 = 2171.5
    assert len(fig.layout.yaxis.ticktext) < 12


def test_paired_differences_draws_every_task_once() -> None:
    """Stems run from the difference back to zero; a filled value has an open marker."""
    frame = paired_frame(PAIRS)
    fig = paired_differences(frame)
    drawn = sorted((x, y) for t in fig.data for x, y in zip(t.x, t.y, strict=True))
    assert drawn == list(zip(frame["rank"], frame["difference"], strict=True))
    worse, better = trace(fig, "candidate worse (1)"), trace(fig, "candidate better (2)")
    assert worse.marker.symbol[0] == "triangle-down-open"
    assert list(worse.error_y.array) == [1.0]
    assert list(better.error_y.arrayminus) == [0.5, 1.0]
    assert list(better.marker.symbol) == ["triangle-up"] * 2


def test_cascade_flow_is_a_staircase() -> None:
    """3 tasks: greedy 1 of 3, solver 1 of 2, a person 1; bars start where accepted ones end."""
    fig = cascade_flow(cascade_frame(CASCADE))
    accepted, on, person = (trace(fig, n) for n in ("accepted", "passed on", "left to a person"))
    assert (list(accepted.x), list(accepted.base)) == ([1, 1], [0, 1])
    assert list(accepted.y) == list(on.y) == ["greedy", "solver"]
    assert (list(on.x), list(on.base)) == ([2, 1], [1, 2])
    assert (list(person.x), list(person.base), list(person.y)) == ([1], [2], ["a person"])
    assert alt_text(fig).endswith("greedy accepts 1 of 3, solver accepts 1 of 2, a person gets 1.")


def test_pack_graph_places_every_node() -> None:
    """One marker a node at the frame's coordinates; one arrow or arc a dependency."""
    frame = pack_frame(pack())
    fig = pack_graph(frame)
    drawn = {(x, y) for t in fig.data if t.mode == "markers" for x, y in zip(t.x, t.y, strict=True)}
    assert drawn == set(zip(frame.nodes["x"], frame.nodes["y"], strict=True))
    arrows = [a for a in fig.layout.annotations if a.showarrow]
    waits = (frame.edges["relation"] == "then").sum()
    assert len(arrows) + len(fig.layout.shapes) == waits == 5


def test_bands_and_lines_hold_the_bounds() -> None:
    """Low, high and estimate are drawn as given; unmeasured bounds stay gaps."""
    for fig, key, y in ((confidence_sequence(SEQUENCE), "series", "estimate"),
                        (reliability_decay(DECAY), "arm", "reliability")):  # fmt: skip
        frame = SEQUENCE if key == "series" else DECAY
        part = frame[frame[key] == "candidate"]
        assert list(trace(fig, "candidate").y) == list(part[y])
        assert list(trace(fig, "candidate low").y) == list(part["low"])
        assert list(trace(fig, "candidate high").y) == list(part["high"])
        other = next(t for t in fig.data if t.name.endswith("low") and t.name[0] == "&")
        assert np.isnan(other.y[1])


def test_ledger_compares_p_with_the_level() -> None:
    """Levels at each gate, accepted and refused p-values in traces of their own."""
    fig = ledger(GATES)
    assert list(trace(fig, "level of the gate").y) == [0.03, 0.01, 0.02]
    assert list(trace(fig, "accepted").y) == [0.001]
    assert list(trace(fig, "not accepted").x) == [2, 3]
    assert fig.layout.yaxis.type == "log"


@every_figure
def test_every_figure_has_alt_text_and_a_fixed_id(make: Callable[[], go.Figure]) -> None:
    """Alt text is a sentence with a number, the id is set, and both repeat exactly."""
    fig = make()
    alt = alt_text(fig)
    assert alt.endswith(".")
    assert len(alt) > 40
    assert any(c.isdigit() for c in alt)
    assert fig.layout.meta["div_id"]
    assert fig.to_json() == make().to_json()


@every_figure
def test_text_from_candidates_is_not_markup(make: Callable[[], go.Figure]) -> None:
    """plotly shows labels as its own markup; ours arrive escaped."""
    fig = make().to_dict()
    fig["layout"].pop("meta")
    assert "<script" not in str(fig)


@every_figure
def test_series_differ_without_colour(make: Callable[[], go.Figure]) -> None:
    """Any two series in a figure differ in dash, marker or hatch."""
    fig = make()

    def shape(t: go.Scatter | go.Bar) -> tuple[object, ...]:
        if t.type == "bar":
            return ("bar", t.marker.pattern.shape)
        symbol = t.marker.symbol
        return (t.mode, t.line.dash, symbol if isinstance(symbol, str | None) else symbol[0])

    shapes = [shape(t) for t in fig.data if t.showlegend is not False]
    assert len(set(shapes)) == len(shapes), shapes


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def test_roles_are_told_apart_in_greyscale() -> None:
    """Roles that share a figure differ in dash and in marker; arms and bars also in darkness."""
    together = [
        ("incumbent", "candidate", "control", "placebo", "captured", "threshold"),
        ("gain", "protected", "safety", "harm", "harm_reg", "threshold"),
    ]
    for roles in together:
        for a, b in itertools.combinations(roles, 2):
            assert look(a).symbol != look(b).symbol, (a, b)
            assert look(a).dash != look(b).dash or "threshold" in (a, b), (a, b)
    for a, b in [("incumbent", "candidate"), ("accepted", "passed_on"), ("passed_on", "person"),
                 ("accepted", "person")]:  # fmt: skip
        low, high = sorted(luminance(look(r).colour) for r in (a, b))
        assert (high + 0.05) / (low + 0.05) > 1.5, (a, b)


def test_every_line_is_visible_on_paper() -> None:
    """Every role that is a line or marker has contrast of at least 2:1 with white."""
    for role, style in LOOKS.items():
        if role not in ("passed_on",):
            assert 1.05 / (luminance(style.colour) + 0.05) >= 2, role


def test_unknown_roles_and_bad_frames_are_refused() -> None:
    """The messages name what is allowed."""
    with pytest.raises(InvalidValue) as role:
        look("villain")
    assert str(role.value) == (
        f"role of a figure: allowed one of {', '.join(LOOKS)}; got villain. "
        "Map the series to one of the theme's roles."
    )
    with pytest.raises(InvalidValue) as columns:
        ledger(GATES.drop(columns=["p", "label"]))
    assert str(columns.value) == (
        "frame for ledger: allowed at least one row with the columns gate, level, p, accepted, "
        "label; got no column p, label. Build it with the function of logoslab.viz.frames, or add "
        "the columns."
    )
    with pytest.raises(InvalidValue, match="got no rows"):
        ledger(GATES.iloc[:0])


def test_foreign_figures_get_alt_text_by_describe() -> None:
    """A figure without alt text says how to give it one."""
    fig = go.Figure()
    with pytest.raises(InvalidValue) as missing:
        alt_text(fig)
    assert str(missing.value) == (
        "alt text: allowed a figure with layout.meta['alt']; got a figure without any. "
        "Describe it first: logoslab.viz.describe(fig, 'what it shows')."
    )
    assert alt_text(describe(fig, "Nothing yet.")) == "Nothing yet."


def test_import_is_light() -> None:
    """Importing the room loads neither plotly nor pandas nor a browser."""
    code = (
        "import sys, logoslab.viz\n"
        "print([m for m in ('plotly', 'pandas', 'kaleido', 'jinja2') if m in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
