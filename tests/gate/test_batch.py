"""Batches: what they refuse, and that the array form of a rule concludes as the evidence form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logoslab.errors import EvidenceError
from logoslab.gate import (
    AcceptAll,
    AnytimeGate,
    Batch,
    BootstrapInterval,
    Cases,
    EValuePairs,
    McNemar,
    MeanImproves,
    MinibatchSum,
    Outcomes,
    PairedGate,
    Rule,
    Sprt,
    Wilcoxon,
    decide_one_by_one,
)
from logoslab.pack.decision import Conclusion
from logoslab.testing.rule_evidence import random_batch

VARIANTS: list[Rule] = [
    PairedGate(),
    PairedGate(delta_min=0.05, eps_reg=0.2, r_max=2),
    PairedGate(delta_min=0, r_max=50, max_rate=0.2, max_task_loss=0.6, critical_slices=("x",)),
    PairedGate(r_max=5, critical_slices=("all",)),
    AnytimeGate(),
    AnytimeGate(delta_min=0.3, eps_reg=0.1, rho_max=0.3, level=0.2, alpha=0.3),
    AcceptAll(),
    MeanImproves(),
    MeanImproves(strict=False),
    MinibatchSum(),
    MinibatchSum(size=30),
    McNemar(),
    McNemar(level=0.7),
    Wilcoxon(),
    Wilcoxon(level=0.3),
    BootstrapInterval(draws=300),
    BootstrapInterval(draws=200, alpha=0.4, seed=3),
    Sprt(),
    Sprt(purpose="non_regression", h0=-0.2, alpha=0.2, beta=0.1),
    EValuePairs(),
    EValuePairs(bet=0.8, level=0.3),
    MeanImproves(metric="elsewhere"),
    MeanImproves(metric="proxy"),
]


def assert_same(rule: Rule, batch: Batch) -> Outcomes:
    """Both forms agree on conclusion and tasks of every row."""
    fast, slow = rule.decide_many(batch), decide_one_by_one(rule, batch)
    assert fast.conclusions.tolist() == slow.conclusions.tolist()
    assert fast.tasks.tolist() == slow.tasks.tolist()
    return fast


@pytest.mark.parametrize("graded", [False, True])
def test_500_candidates_of_every_kind(graded: bool) -> None:
    """Harmful to good, from few to all tasks changed, each rule with several parameters."""
    batch = random_batch(np.random.default_rng(4), 500, 50, graded=graded)
    evidence = [batch.evidence(k) for k in range(len(batch))]
    for rule in VARIANTS:
        slow = [rule.decide(row) for row in evidence]
        fast = rule.decide_many(batch)
        assert fast.conclusions.tolist() == [d.conclusion for d in slow], rule
        assert fast.tasks.tolist() == [d.tasks for d in slow], rule


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Small batches on a grid of scores, where ties and boundaries are common."""
    levels = draw(st.sampled_from([2, 3, 11]))
    shape = draw(st.integers(1, 3)), draw(st.integers(1, 25))
    score = st.integers(0, levels - 1)
    rows = st.lists(score, min_size=shape[1], max_size=shape[1])
    arms = [
        np.array(draw(st.lists(rows, min_size=shape[0], max_size=shape[0]))) / (levels - 1)
        for _ in range(2)
    ]
    reach = draw(st.sampled_from([1.0, 3.0]))
    return Batch(arms[0], arms[1] * reach)


@given(batches(), st.sampled_from(VARIANTS))
@settings(max_examples=300, deadline=None)
def test_both_forms_agree(batch: Batch, rule: Rule) -> None:
    """On any small batch, differences beyond [-1, 1] included."""
    assert_same(rule, batch)


def stream(*parts: tuple[float, int]) -> list[float]:
    """Differences as runs of one value, filled up with ties to 260 tasks."""
    d = [value for value, times in parts for _ in range(times)]
    return d + [0.0] * (260 - len(d))


@pytest.mark.parametrize(
    ("parts", "gate", "expected"),
    [
        ([(1.0, 260)], {}, Conclusion.ACCEPT),
        ([(-1.0, 260)], {}, Conclusion.REJECT_HARMFUL),
        ([(-0.4, 260)], {"eps_reg": 0.5}, Conclusion.REJECT_HARMFUL),
        ([(0.0, 260)], {"delta_min": 0.2}, Conclusion.REJECT_INSUFFICIENT),
        ([(-0.01, 1), (0.0, 259)], {"delta_min": 0.2}, Conclusion.REJECT_INSUFFICIENT),
        ([(1.0, 10), (-0.9, 250)], {"eps_reg": 0.95, "rho_max": 0.01}, Conclusion.CONFLICT),
        ([(0.0, 60), (-0.01, 200)], {}, Conclusion.CONFLICT),
        ([(0.0, 30), (1.0, 3)], {}, Conclusion.UNDECIDED),
    ],
)
def test_every_outcome_of_the_race(
    parts: list[tuple[float, int]], gate: dict[str, Any], expected: Conclusion
) -> None:
    """Accept, harm by mean or rate, futility, conflict and running out, at the same task."""
    d = np.array([stream(*parts)])
    found = assert_same(AnytimeGate(**gate), Batch(np.zeros_like(d), d))
    assert found.conclusions[0] == expected


def test_futility_waits_while_something_points_to_harm() -> None:
    """Losses that also show futility: some rows end harmful, some insufficient, at equal tasks."""
    rng = np.random.default_rng(8)
    d = rng.choice([-1.0, 0.0, 1.0], (300, 120), p=[0.12, 0.8, 0.08])
    found = assert_same(AnytimeGate(delta_min=0.15, rho_max=0.15), Batch(np.zeros_like(d), d))
    assert {"reject_harmful", "reject_insufficient"} <= set(found.conclusions.tolist())


def test_a_safety_stream_is_left_to_the_evidence() -> None:
    """A batch has no safety metric, so every row says that it is missing."""
    batch = random_batch(np.random.default_rng(1), 3, 5)
    found = assert_same(AnytimeGate(safety_metric="safe", rho_safety=0.1), batch)
    assert set(found.conclusions.tolist()) == {"not_applicable"}


def test_rounding_beyond_one_is_no_wide_difference() -> None:
    """A sum of floats may pass 1 by 10⁻¹³; such rows are judged, wider ones are not."""
    d = np.array([[1.0 + 1e-13, 1.0], [1.1, 0.0]])
    found = assert_same(AnytimeGate(), Batch(np.zeros_like(d), d))
    assert found.conclusions.tolist() == ["undecided", "not_applicable"]


def test_rows_that_a_rule_cannot_judge_stay_in_place() -> None:
    """One graded row between two of 0 and 1: McNemar declines that one alone."""
    batch = Batch(np.zeros((3, 6)), np.array([[1.0] * 6, [0.5] * 6, [0.0] * 6]))
    found = assert_same(McNemar(), batch)
    assert found.conclusions.tolist() == ["accept", "not_applicable", "reject_insufficient"]
    assert found.tasks.tolist() == [6, 0, 6]


def test_replayed_cases_count_as_scores_of_the_metric() -> None:
    """0/1 scores beside one graded case: the evidence is not 0/1, so both forms decline it."""
    zeros, ones = np.zeros((2, 6)), np.ones((2, 6))
    runs = np.array([[[1.0]], [[0.5]]])
    batch = Batch(zeros, ones, cases=Cases(("failure",), np.zeros((2, 1)), runs, runs))
    assert batch.binary.tolist() == [True, False]
    found = assert_same(McNemar(), batch)
    assert found.conclusions.tolist() == ["accept", "not_applicable"]


def test_a_large_batch_is_judged_in_parts() -> None:
    """Parts of a few rows, put together again, are the whole."""
    batch = random_batch(np.random.default_rng(2), 30, 10)
    parts = list(batch.parts(values=70))
    assert [len(part) for part in parts] == [7, 7, 7, 7, 2]
    assert np.concatenate([part.candidate for part in parts]).tolist() == batch.candidate.tolist()
    joined = Outcomes.joined([Wilcoxon().decide_many(part) for part in parts])
    assert joined.conclusions.tolist() == Wilcoxon().decide_many(batch).conclusions.tolist()
    assert parts[4].evidence(1).trials == batch.evidence(29).trials


def test_an_empty_batch_has_no_outcomes() -> None:
    """No candidate, no conclusion, no error."""
    nothing = Batch(np.zeros((0, 4)), np.zeros((0, 4)))
    assert all(len(rule.decide_many(nothing).tasks) == 0 for rule in VARIANTS)


@pytest.mark.parametrize(
    ("parts", "got"),
    [
        ({"candidate": np.zeros((2, 4))}, "shapes (2, 3) and (2, 4)"),
        ({"incumbent": np.zeros(3), "candidate": np.zeros(3)}, "shapes (3,) and (3,)"),
        ({"proxy": np.zeros(3)}, "3 rows of proxy"),
        ({"recurrence": np.zeros((1, 3))}, "1 rows of recurrence"),
        ({"proxy": np.array([0, np.nan])}, "a proxy value that is too large or not a number"),
        (
            {"cases": Cases(("failure",), *[np.zeros((3, 1, 1)[:r]) for r in (2, 3, 3)])},
            "3 rows of captured",
        ),
        (
            {"candidate": np.full((2, 3), np.inf)},
            "a candidate value that is too large or not a number",
        ),
    ],
)
def test_a_batch_that_does_not_fit_is_refused(parts: dict[str, Any], got: str) -> None:
    """Shapes and values are checked once, when the batch is made."""
    zeros = np.zeros((2, 3))
    with pytest.raises(EvidenceError) as caught:
        Batch(**{"incumbent": zeros, "candidate": zeros, **parts})
    assert caught.value.got == got


@pytest.mark.parametrize(
    ("parts", "got"),
    [
        ({"control": np.zeros((2, 1, 2))}, "control of shape (2, 1, 2)"),
        ({"candidate": np.zeros((2, 3))}, "candidate of shape (2, 3)"),
        ({"roles": ("failure",)}, "1 roles"),
    ],
)
def test_cases_that_do_not_fit_are_refused(parts: dict[str, Any], got: str) -> None:
    """Every case has a role, a captured score and runs of both arms."""
    whole = {
        "roles": ("failure", "failure", "protected"),
        "captured": np.zeros((2, 3)),
        "control": np.zeros((2, 3, 1)),
        "candidate": np.zeros((2, 3, 2)),
    }
    with pytest.raises(EvidenceError) as caught:
        Cases(**{**whole, **parts})
    assert caught.value.got == got
