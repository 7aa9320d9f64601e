"""The frontier: each rule at its default and over its parameter, on the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from logoslab.errors import InvalidValue
from logoslab.gate import RULES, rule_named
from logoslab.studies.frontier import ELSEWHERE, GROUPS, SWEEPS, frontier, group_of, points_of
from logoslab.studies.streams import CandidateStream
from logoslab.studies.summary import summary
from logoslab.studies.tournament import tournament

STREAM = CandidateStream(candidates=200, tasks=30)
NESTED = {"paired": ("r_max", (0, 1, 2, 5)), "mcnemar": ("level", (0.01, 0.05, 0.2, 0.5))}


def rng():
    """A fixed stream."""
    return np.random.default_rng(2)


@pytest.mark.parametrize("name", SWEEPS)
def test_every_sweep_is_of_a_shipped_rule(name):
    """The parameter exists, every value is in its range, and the rule's default is a point."""
    parameter, values = SWEEPS[name]
    points = points_of({name: (parameter, values)})
    assert name in RULES
    assert len(points) == len({*values, getattr(rule_named(name), parameter)})
    assert [p.default for p in points.values()] == [True] + [False] * (len(points) - 1)


def test_every_rule_has_its_default_point():
    """One default for each rule of the registry, labelled with its own parameters."""
    own = [p for p in points_of().values() if p.default]
    assert {p.rule.name for p in own} >= set(RULES)
    assert all(p.rule == rule_named(p.rule.name) for p in own)


def test_a_looser_parameter_adopts_more_of_everything():
    """More tolerated regressions, or a higher level, never adopt fewer of the same candidates."""
    frame = frontier(STREAM, NESTED, rng=rng())
    for _, part in frame.groupby("rule"):
        ordered = part.sort_values("value")
        for rate in ("false_adoption_rate", "power"):
            assert (np.diff(ordered[rate].astype(float)) >= 0).all()
            assert ordered[rate].iloc[-1] > ordered[rate].iloc[0]


def test_points_are_rows_of_a_tournament():
    """The rates of a point are those of its rule on the same draws."""
    frame = frontier(STREAM, NESTED, rng=rng())
    point = frame[(frame["rule"] == "paired") & (frame["value"] == 2)].iloc[0]
    alone = summary(tournament(STREAM, {"it": rule_named("paired", r_max=2)}, rng=rng())).loc["it"]
    for name in ("power", "power_low", "false_adoption_rate", "evaluations", "net_utility"):
        assert point[name] == alone[name]
    assert frame.loc[frame["default"], ["rule", "value"]].to_numpy().tolist() == [
        ["paired", 0],
        ["mcnemar", 0.05],
    ]


def test_rules_are_grouped_by_their_paper():
    """The source names the paper; whatever names none is a tool from elsewhere."""
    groups = {name: group_of(rule()) for name, rule in RULES.items()}
    assert groups["paired"] == groups["anytime"] == "LOGOS"
    assert groups["accept_all"] == groups["mcnemar"] == ELSEWHERE
    assert set(groups.values()) == {*GROUPS, ELSEWHERE}


def test_a_parameter_that_a_rule_lacks_is_named():
    """The rule's own message: which parameters there are."""
    with pytest.raises(InvalidValue) as caught:
        frontier(STREAM, {"mcnemar": ("r_max", (1,))}, rng=rng())
    assert str(caught.value) == (
        "parameters of rule mcnemar: allowed metric, m_fail, level; got r_max. Correct the "
        "parameter names."
    )
