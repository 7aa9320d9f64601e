"""The figure of a judged history draws its frame and says what it shows."""

from __future__ import annotations

import pandas as pd
import pytest

from logoslab.errors import InvalidValue
from logoslab.viz import alt_text
from logoslab.viz.histories import DECISIONS, SHOWN, decision_frame, release_decisions
from logoslab.viz.theme import look

EVIL = "<b>bold</b></script>"


def judged() -> pd.DataFrame:
    """Three pairs and two rules: one pair fell, one rose but for a slice, one was refused."""
    outcome = {"fell": (-0.2, -0.3, -0.1, "", 2.0), "rose": (0.2, 0.1, 0.3, EVIL, pd.NA),
               "broken": (pd.NA, pd.NA, pd.NA, pd.NA, pd.NA)}  # fmt: skip
    decided = {
        "keep": {"fell": "accept", "rose": "accept", "broken": "refused"},
        "test": {"fell": "reject_harmful", "rose": "not_applicable", "broken": "refused"},
    }
    rows = [
        (pair, EVIL, rule, decided[rule][pair], f"because {EVIL}", *outcome[pair])
        for rule in decided
        for pair in ("rose", "fell", "broken")
    ]
    names = ["pair", "relation", "rule", "decision", "reason", "report_difference", "report_low",
             "report_high", "report_slices_worse", "report_cost_ratio"]  # fmt: skip
    return pd.DataFrame(rows, columns=names).astype(
        {n: "Float64" for n in names if n.startswith("report_") and "slices" not in n}
    )


def test_pairs_are_ranked_from_the_worst_outcome():
    """fell, rose, and what has no outcome last; both acceptances are contradicted."""
    frame = decision_frame(judged())
    first = frame.drop_duplicates("pair").set_index("pair")
    assert first["rank"].to_dict() == {"fell": 1, "rose": 2, "broken": 3}
    assert first["shown"].to_dict() == {"fell": "worse", "rose": "better", "broken": "none"}
    assert frame.loc[frame["contradicted"], ["rule", "pair"]].to_numpy().tolist() == [
        ["keep", "fell"], ["keep", "rose"],
    ]  # fmt: skip


def test_the_figure_draws_every_decision_and_every_measured_outcome():
    """Six cells by their decision, two rings, two outcomes with their intervals, one cost."""
    fig = release_decisions(decision_frame(judged()))
    by_name = {(t.name, t.xaxis): t for t in fig.data}
    cells = {name: len(t.y) for (name, axis), t in by_name.items() if axis is None}
    assert cells == {"accept": 2, "reject: harmful": 1, "not applicable": 1,
                     "recording refused": 2, "accepted, then worse": 2}  # fmt: skip
    worse = by_name["shown worse", "x2"]
    assert list(worse.x) == [-0.2]
    assert worse.error_x.array[0] == pytest.approx(0.1)
    assert worse.error_x.arrayminus[0] == pytest.approx(0.1)
    assert [a.text for a in fig.layout.annotations] == ["×2.00", "cost"]


def test_it_says_what_it_shows_and_escapes_text():
    """Alt text counts acceptances; labels and reasons are plain text; symbols are distinct."""
    fig = release_decisions(decision_frame(judged()))
    assert "keep accepts 2, of which 2 then got worse" in alt_text(fig)
    shown = [*fig.layout.yaxis.ticktext, *(c for t in fig.data if t.customdata is not None
                                           for row in t.customdata for c in row)]  # fmt: skip
    assert not [text for text in shown if "<b>" in text or "</script" in text]
    for table in (DECISIONS, SHOWN):
        symbols = [look(role).symbol for role, _ in table.values()]
        assert len(set(symbols)) == len(symbols)


def test_rules_that_judge_no_pair_are_counted_and_named_not_drawn():
    """A third rule, not applicable throughout: two columns, one line of words, its name in alt.

    Where no rule could judge anything, all of them are drawn.
    """
    silent = judged().query("rule == 'keep'").assign(rule="mute", decision="not_applicable")
    fig = release_decisions(decision_frame(pd.concat([judged(), silent])))
    assert list(fig.layout.xaxis.ticktext) == ["keep", "test"]
    assert "1 rule(s) could judge no pair" in fig.layout.title.text
    assert alt_text(fig).endswith("Could judge no pair: mute.")
    assert "on 3 pairs" in alt_text(fig)
    alone = release_decisions(decision_frame(silent))
    assert list(alone.layout.xaxis.ticktext) == ["mute"]


def test_a_foreign_decision_or_frame_is_refused():
    """An unknown decision, an absent column and an empty frame are named."""
    with pytest.raises(InvalidValue, match="decision of a history"):
        decision_frame(judged().assign(decision="maybe"))
    with pytest.raises(InvalidValue, match="no column relation"):
        decision_frame(judged().drop(columns="relation"))
    with pytest.raises(InvalidValue, match="no rows"):
        decision_frame(judged().iloc[:0])
