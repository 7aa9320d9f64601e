"""The sequential probability ratio test and the bet on pairs: by hand and by enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from logoslab.errors import InvalidValue
from logoslab.gate import Batch, EValuePairs, Sprt
from logoslab.pack.decision import Conclusion
from tests.gate.make import from_differences


def test_sprt_accepts_a_steady_gain_at_the_sixth_task() -> None:
    """d = 1: LLR_t = t·0.1·(1 − 0.05)·(t + 1), and 30·.095 = 2.85 < log 19 = 2.944 < 42·.095."""
    decided = Sprt().decide(from_differences([1.0] * 20))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.tasks == 6
    assert decided.path["llr_h1"] == pytest.approx([t * (t + 1) * 0.095 for t in range(1, 7)])
    assert decided.reason == "llr_h1 3.99 reached its bound 2.94"


def test_sprt_rejects_ties_at_the_twenty_fourth_task() -> None:
    """d = 0: LLR_t = −0.005·t·(t + 1), and 23·24·.005 = 2.76 < 2.944 < 3.0 = 24·25·.005."""
    decided = Sprt().decide(from_differences([0.0] * 40))
    assert decided.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert decided.tasks == 24
    assert decided.numbers["llr_h0"] == pytest.approx(3.0)


def test_sprt_variance_by_hand() -> None:
    """1, 0, −1, 1: at t = 4 mean ¼ and Σ(d − mean)² = 2.75, so var = 3.75/5 and LLR = .4·.2/.75."""
    decided = Sprt().decide(from_differences([1.0, 0.0, -1.0, 1.0]))
    assert decided.conclusion is Conclusion.UNDECIDED
    assert decided.numbers["llr_h1"] == pytest.approx(0.4 * 0.2 / 0.75)
    assert decided.reason == "the tasks ran out before the evidence decided"


def test_each_error_has_its_bound() -> None:
    """α = .01 and β = .2: accept at log(.8/.01) = 4.382, reject at −log(.99/.2) = −1.599."""
    numbers = Sprt(alpha=0.01, beta=0.2).decide(from_differences([1.0])).numbers
    assert numbers["bound_llr_h1"] == pytest.approx(4.382, abs=5e-4)
    assert numbers["bound_llr_h0"] == pytest.approx(1.599, abs=5e-4)


def test_non_regression_asks_another_question() -> None:
    """Ties show that a simplification is harmless, and a loss is harmful: bounds −0.1 and 0."""
    rule = Sprt(purpose="non_regression")
    assert rule.means == (-0.1, 0.0)
    ties = rule.decide(from_differences([0.0] * 40))
    assert (ties.conclusion, ties.tasks) == (Conclusion.ACCEPT, 24)
    losses = rule.decide(from_differences([-1.0] * 20))
    assert (losses.conclusion, losses.tasks) == (Conclusion.REJECT_HARMFUL, 6)


def test_sprt_refuses_bounds_in_the_wrong_order() -> None:
    """H0 above H1 is a typed error that says what is allowed."""
    with pytest.raises(InvalidValue) as caught:
        Sprt(h0=0.2)
    assert "allowed h0 below h1" in str(caught.value)


def test_sprt_keeps_both_errors_in_the_gaussian_case() -> None:
    """4,000 Gaussian streams at h0 and at h1: errors of .05 within 4 of their Monte-Carlo errors.

    Overshoot makes Wald's errors smaller, the estimated variance larger; both are small here.
    """
    rng = np.random.default_rng(20)
    zero = np.zeros((4_000, 1_500))
    slack = 4 * math.sqrt(0.05 * 0.95 / 4_000)
    for mean, wrong in ((0.0, Conclusion.ACCEPT), (0.05, Conclusion.REJECT_INSUFFICIENT)):
        d = rng.normal(mean, 0.2, zero.shape).clip(-1, 1)
        found = Sprt(h1=0.05).decide_many(Batch(zero, d))
        assert (found.conclusions == wrong.value).mean() <= 0.05 + slack
        assert (found.conclusions == Conclusion.UNDECIDED.value).mean() < 0.01


def test_a_bet_of_half_accepts_at_the_eighth_win() -> None:
    """1.5⁷ = 17.1 < 20 < 25.6 = 1.5⁸; ties between the wins leave the wealth alone."""
    decided = EValuePairs().decide(from_differences([1.0, 0.0] * 20))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.tasks == 15
    assert decided.numbers["log_wealth"] == pytest.approx(8 * math.log(1.5))
    assert (decided.numbers["fixed"], decided.numbers["regressions"]) == (8, 0)


def test_losses_are_harmful_by_the_same_bet() -> None:
    """Eight losses of any size; wealth for the candidate is then 0.5⁸."""
    decided = EValuePairs().decide(from_differences([-0.1] * 20))
    assert (decided.conclusion, decided.tasks) == (Conclusion.REJECT_HARMFUL, 8)
    assert decided.numbers["log_wealth"] == pytest.approx(8 * math.log(0.5))


@pytest.mark.parametrize("bet", [0.2, 0.5, 0.9])
def test_the_bet_keeps_its_level_at_every_look(bet: float) -> None:
    """All 2¹⁴ fair outcomes of 14 discordant pairs: the share that ever crosses is ≤ level."""
    d = np.array(list(product([-1.0, 1.0], repeat=14)))
    zero = np.zeros_like(d)
    for level in (0.01, 0.05, 0.2):
        assert (
            EValuePairs(bet=bet, level=level).decide_many(Batch(zero, d)).accepted.mean() <= level
        )


def test_the_level_is_used_up_where_the_bet_can_reach_it() -> None:
    """Bet ½, level .2, five pairs by hand: crossing 5 needs four wins before any loss: 2⁻⁴."""
    d = np.array(list(product([-1.0, 1.0], repeat=5)))
    accepted = EValuePairs(level=0.2).decide_many(Batch(np.zeros_like(d), d)).accepted
    assert accepted.mean() == 2**-4


def test_sequential_rules_read_the_draws() -> None:
    """One winning task drawn eight times is eight bets, as with-replacement sampling says."""
    evidence = from_differences([1.0, -1.0]).replace(draws=("t000",) * 8 + ("t001",))
    decided = EValuePairs().decide(evidence)
    assert (decided.conclusion, decided.tasks) == (Conclusion.ACCEPT, 8)


def test_a_part_of_the_evidence_is_not_decided_yet() -> None:
    """More tasks may follow, and the reason says so; draws of no measured task are no tasks."""
    part = from_differences([1.0, 1.0]).replace(complete=False)
    assert EValuePairs().decide(part).reason == "not decided yet"
    nothing = part.replace(draws=("unheard-of",))
    for rule in (EValuePairs(), Sprt()):
        decided = rule.decide(nothing)
        assert (decided.conclusion, decided.tasks) == (Conclusion.UNDECIDED, 0)
        assert decided.numbers["mean_difference"] is None
