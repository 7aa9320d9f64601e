"""The figures of the tournament draw their frames and are told apart without colour."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest

from logoslab.errors import InvalidValue
from logoslab.studies.arms import ARMS as NULL_ARMS
from logoslab.studies.frontier import ELSEWHERE
from logoslab.studies.frontier import GROUPS as PAPERS
from logoslab.viz import alt_text, frontier, null_adoption
from logoslab.viz.frontier import ARMS, GROUPS, _box, _overlap, _pixels
from logoslab.viz.theme import look
from tests.viz.make import EVIL

POINTS = pd.DataFrame(
    [
        ("paired", "LOGOS", "r_max", 0, True, 0.1, 0.2),
        ("paired", "LOGOS", "r_max", 2, False, 0.2, 0.6),
        (EVIL, "other tools", "", None, True, 0.1, 0.2),
        ("self_judged", "Autogenesis", "", None, True, 0.8, 0.9),
        ("rollout", "AgentEvolver", "", None, True, None, None),
    ],
    columns=["rule", "group", "parameter", "value", "default", "false_adoption_rate", "power"],
)
NULL = pd.DataFrame(
    [
        ("paired", "a_a", 0.1, 0.05, 0.2),
        ("paired", "placebo", 0.0, 0.0, 0.1),
        ("paired", "captured", 0.1, 0.05, 0.2),
        (EVIL, "a_a", 0.5, 0.4, 0.6),
        ("rollout", "a_a", None, None, None),
    ],
    columns=["rule", "arm", "rate", "low", "high"],
)


def test_the_frontier_draws_the_frame():
    """One line a rule in order of false adoption; defaults are larger and ringed."""
    line = frontier(POINTS).data[0]
    assert line.name == "LOGOS"
    assert (list(line.x), list(line.y)) == ([0.1, 0.2], [0.2, 0.6])
    assert (list(line.marker.size), list(line.marker.line.width)) == ([13, 6], [2, 0])
    assert list(line.text) == ["paired r_max = 0, default", "paired r_max = 2"]


def test_rules_on_one_spot_share_a_label_and_markup_is_text():
    """Two defaults at (.1, .2) are one annotation; a rule's name is never read as markup."""
    fig = frontier(POINTS)
    texts = [a.text for a in fig.layout.annotations]
    assert len(texts) == 2
    assert any(t.startswith("paired, &lt;/script&gt;") for t in texts)
    assert "<script>" not in "".join(texts)


def test_the_frontier_says_what_it_shows():
    """Alt text holds every default's numbers and the rules that could not be judged."""
    assert alt_text(frontier(POINTS)) == (
        "Scatter of power against false adoption for 3 rules. False adoption and power at the "
        f"defaults: paired 10% and 20%; {EVIL} 10% and 20%; self_judged 80% and 90%. Not "
        "applicable: rollout."
    )


def test_a_default_that_could_not_be_judged_gives_way_to_the_first_point() -> None:
    """The label and the alt text then say at which parameter the rule stands there."""
    frame = pd.concat([POINTS, POINTS.iloc[[-1]].assign(
        parameter="max_latency_ratio", value="none", default=False, false_adoption_rate=0.3,
        power=0.5)], ignore_index=True)  # fmt: skip
    fig = frontier(frame)
    assert "rollout max_latency_ratio = none" in [a.text for a in fig.layout.annotations]
    assert "rollout max_latency_ratio = none 30% and 50%." in alt_text(fig)


def test_labels_keep_apart():
    """Fifteen defaults in a crowd: no two labels overlap."""
    crowd = pd.DataFrame(
        {
            "rule": [f"rule_number_{i}" for i in range(15)],
            "group": "LOGOS",
            "parameter": "",
            "value": None,
            "default": True,
            "false_adoption_rate": [0.02 + 0.013 * (i % 5) for i in range(15)],
            "power": [0.4 + 0.02 * i for i in range(15)],
        }
    )
    boxes = []
    for a in frontier(crowd).layout.annotations:
        x, y = _pixels(a.x, a.y)
        lines = a.text.split("<br>")
        wide = 6.4 * max(map(len, lines))
        middle = x + a.ax + (wide / 2 if a.ax > 0 else -wide / 2)
        boxes.append(_box(middle, y + a.ay, wide / 2, 7 * len(lines)))
    assert len(boxes) > 5
    assert not [1 for one, other in itertools.combinations(boxes, 2) if _overlap(one, other)]


def test_groups_and_arms_are_those_of_the_studies():
    """The figure knows every paper and every null arm, each with a symbol and dash of its own."""
    assert set(GROUPS) == {*PAPERS, ELSEWHERE}
    assert tuple(ARMS) == NULL_ARMS
    for roles in (GROUPS.values(), [role for role, _ in ARMS.values()]):
        looks = [look(role) for role in roles]
        assert len({x.symbol for x in looks}) == len({x.dash for x in looks}) == len(looks)


def test_null_adoption_draws_the_frame():
    """One trace an arm, intervals as error bars, rules from top to bottom."""
    fig = null_adoption(NULL)
    assert [t.name for t in fig.data] == [label for _, label in ARMS.values()]
    first = fig.data[0]
    assert list(first.x) == [0.1, 0.5]
    assert list(first.error_x.array) == pytest.approx([0.1, 0.1])
    assert list(first.error_x.arrayminus) == pytest.approx([0.05, 0.1])
    assert fig.layout.yaxis.ticktext[0] == "paired"
    assert "<script>" not in fig.layout.yaxis.ticktext[1]
    assert alt_text(fig) == (
        "Dot plot of the share adopted without effect: paired 10% a_a, 0% placebo, 10% captured; "
        f"{EVIL} 50% a_a. Not applicable: rollout."
    )


@pytest.mark.parametrize(("figure", "frame"), [(frontier, POINTS), (null_adoption, NULL)])
def test_a_frame_without_its_columns_is_refused(figure, frame):
    """The message names the column."""
    with pytest.raises(InvalidValue, match="no column rule"):
        figure(frame.drop(columns="rule"))
