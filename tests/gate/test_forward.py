"""The forward trial, and why three live sessions show so little."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from logoslab.gate.batch import RECURRENCE, Batch
from logoslab.gate.forward import ForwardTrial
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence, Trial


def sessions(*came: float | None, before: tuple[float, ...] = ()) -> Evidence:
    """Live sessions of the candidate in order, after those of the incumbent."""
    arms = [("incumbent", value) for value in before] + [("candidate", value) for value in came]
    return Evidence(
        trials=tuple(
            Trial(task=f"s{i}", arm=arm, metric=RECURRENCE, value=value, order=i)
            for i, (arm, value) in enumerate(arms)
        )
    )


def test_two_of_three_is_a_fall_from_one() -> None:
    """p̂ = 2/3 ≤ 1 − .05 promotes; 3 of 3 does not; without a history p0 is 1 and is said."""
    decided = ForwardTrial().decide(sessions(1, 1, 0))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.numbers == {"rate": 2 / 3, "p0": 1.0, "sessions_left_out": 0}
    assert decided.reason == (
        "the failure came again in 2 of 3 sessions against p0 1, without a history"
    )
    assert ForwardTrial().decide(sessions(1, 1, 1)).conclusion is Conclusion.REJECT_INSUFFICIENT


def test_a_history_takes_the_place_of_p0() -> None:
    """Before 1 of 2: p̂ = 2/3 is more often, 1/3 is a fall, and p̂ = 0 always is one."""
    worse = ForwardTrial().decide(sessions(1, 1, 0, before=(1, 0)))
    assert worse.conclusion is Conclusion.REJECT_HARMFUL
    assert worse.reason == (
        "the failure came again in 2 of 3 sessions against 0.5 before: more often"
    )
    assert ForwardTrial().decide(sessions(1, 0, 0, before=(1, 0))).accepted
    assert ForwardTrial().decide(sessions(0, 0, 0, before=(0, 0))).accepted


def test_the_margin_is_inclusive() -> None:
    """From 0.8, a rate of 0.75 is a fall of exactly .05."""
    assert ForwardTrial(sessions=4, p0=0.8).decide(sessions(1, 1, 1, 0)).accepted
    short = ForwardTrial(sessions=4, p0=0.79).decide(sessions(1, 1, 1, 0))
    assert short.conclusion is Conclusion.REJECT_INSUFFICIENT


def test_too_few_sessions_are_undecided_and_later_ones_are_not_read() -> None:
    """n = 3: two leave it open, and a fourth changes nothing."""
    assert ForwardTrial().decide(sessions(0, 0)).reason == "2 of 3 live sessions seen"
    assert ForwardTrial().decide(sessions(0, 0)).conclusion is Conclusion.UNDECIDED
    four = ForwardTrial().decide(sessions(1, 1, 1, 0))
    assert four.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert four.numbers["sessions_left_out"] == 1


def test_a_session_that_returned_nothing_counts_as_failed() -> None:
    """Silence is no cure: None, 1, 1 is three failures."""
    assert ForwardTrial().decide(sessions(None, 1, 1)).numbers["rate"] == 1.0


def test_a_rate_is_no_flag() -> None:
    """A recurrence of 0.5 is not a 0/1 flag: not applicable."""
    decided = ForwardTrial().decide(sessions(0.5, 0, 0))
    assert decided.conclusion is Conclusion.NOT_APPLICABLE
    assert decided.reason == "recurrence takes values other than 0 and 1"


def test_one_flag_of_a_session_marks_it() -> None:
    """A session is flagged when any of its reports was: 1 then 0 is one failed session."""
    again = [
        Trial(task="s0", arm="candidate", metric=RECURRENCE, value=v, replicate=i)
        for i, v in enumerate((1.0, 0.0))
    ]
    decided = ForwardTrial(sessions=1).decide(Evidence(trials=tuple(again)))
    assert (decided.tasks, decided.numbers["rate"]) == (1, 1.0)


@pytest.mark.parametrize(("q", "expected"), [(0.5, 0.875), (0.2, 0.992), (0.9, 0.271)])
def test_a_rule_without_effect_is_promoted_with_one_minus_q_cubed(
    q: float, expected: float
) -> None:
    """All 2³ outcomes of three sessions that each fail with q, weighted: 1 − q³."""
    outcomes = np.array(list(itertools.product((0.0, 1.0), repeat=3)))
    weight = np.where(outcomes == 1, q, 1 - q).prod(axis=1)
    flat = np.zeros((8, 1))
    accepted = ForwardTrial().decide_many(Batch(flat, flat, recurrence=outcomes)).accepted
    assert float(weight[accepted].sum()) == pytest.approx(1 - q**3, abs=1e-12)
    assert 1 - q**3 == pytest.approx(expected)
