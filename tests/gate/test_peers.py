"""Fixed-sample peers: hand arithmetic, exact enumeration and other implementations."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from logoslab.gate import (
    Batch,
    BootstrapInterval,
    McNemar,
    MeanImproves,
    MinibatchSum,
    Wilcoxon,
)
from logoslab.pack.decision import Conclusion
from logoslab.stats import mcnemar_exact, paired_bootstrap
from tests.gate.make import evidence, from_differences


def test_mcnemar_by_hand() -> None:
    """Five fixed and none lost: p = 2⁻⁵ = 0.03125; with one lost, p = 7/64."""
    decided = McNemar().decide(evidence([0] * 5, [1] * 5))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.numbers["p"] == 0.03125
    mixed = McNemar().decide(evidence([0] * 5 + [1], [1] * 5 + [0]))
    assert mixed.numbers["p"] == pytest.approx(7 / 64, rel=1e-12)
    assert mixed.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert McNemar().decide(evidence([1] * 5, [0] * 5)).conclusion is Conclusion.REJECT_HARMFUL


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 3))
def test_mcnemar_p_is_the_binomial_tail(fixed: int, lost: int, tied: int) -> None:
    """p = Σ_{k ≥ b} C(b+c, k)/2^(b+c) in whole numbers, as ``stats.mcnemar_exact`` has it."""
    n = fixed + lost
    arms = [0] * fixed + [1] * lost + [1] * (tied + 1), [1] * fixed + [0] * lost + [1] * (tied + 1)
    p = McNemar().decide(evidence(*arms)).numbers["p"]
    assert p == float(mcnemar_exact(fixed, lost, alternative="greater"))
    exact = sum(math.comb(n, k) for k in range(fixed, n + 1)) / 2**n
    assert p == pytest.approx(exact, rel=1e-11)


def test_a_p_value_equal_to_the_level_accepts() -> None:
    """7/64 against a level of 7/64: rounding in the tail does not decide."""
    assert McNemar(level=7 / 64).decide(evidence([0] * 5 + [1], [1] * 5 + [0])).accepted


def test_mcnemar_needs_single_pass_fail_scores() -> None:
    """Graded scores, and replicates that disagree, are not applicable."""
    graded = McNemar().decide(evidence([0, 0.5], [1, 1]))
    assert graded.conclusion is Conclusion.NOT_APPLICABLE
    assert graded.reason == "score takes values other than 0 and 1"
    once = evidence([0, 0], [1, 1])
    torn = once.trials[-1].replace(value=0.0, replicate=1)
    twice = McNemar().decide(once.replace(trials=(*once.trials, torn)))
    assert twice.reason == "the test needs one 0/1 score for each task and arm"


def test_mean_improves_counts_ties_as_told() -> None:
    """Strict: a tie is not better. Not strict: it is kept."""
    tie = evidence([0, 1], [0, 1])
    assert MeanImproves().decide(tie).conclusion is Conclusion.REJECT_INSUFFICIENT
    assert MeanImproves(strict=False).decide(tie).conclusion is Conclusion.ACCEPT


def test_a_minibatch_of_three_accepts_a_third_of_null_candidates() -> None:
    """All 64 outcomes of six fair coins: (1 − C(6,3)/64)/2 = 11/32 = .344 are strict gains."""
    coins = np.array(list(product([0.0, 1.0], repeat=6)))
    accepted = MinibatchSum().decide_many(Batch(coins[:, :3], coins[:, 3:])).accepted
    assert accepted.mean() == 11 / 32


def test_a_minibatch_reads_the_first_tasks_only() -> None:
    """Gains of +1, −1, +0.5 sum to 0.5; what comes later is not looked at."""
    decided = MinibatchSum().decide(from_differences([1, -1, 0.5, -1, -1]))
    assert decided.conclusion is Conclusion.ACCEPT
    assert (decided.tasks, decided.numbers["sum_difference"]) == (3, 0.5)
    assert MinibatchSum(size=4).decide(from_differences([1, -1, 0.5, -1])).conclusion is (
        Conclusion.REJECT_HARMFUL
    )


def test_a_minibatch_follows_the_draws() -> None:
    """The sampler drew the third task twice first: 2·(−1) + 1 < 0."""
    drawn = from_differences([1, 1, -1]).replace(draws=("t002", "t002", "t000", "t001"))
    assert MinibatchSum().decide(drawn).numbers["sum_difference"] == -1


def test_too_few_tasks_for_the_minibatch_are_named() -> None:
    """Two tasks are no minibatch of three."""
    decided = MinibatchSum().decide(from_differences([1, 1]))
    assert decided.conclusion is Conclusion.NOT_APPLICABLE
    assert decided.reason == "2 tasks; the minibatch needs 3"


@pytest.mark.parametrize(("n", "method"), [(12, "exact"), (40, "asymptotic")])
def test_wilcoxon_agrees_with_scipy(n: int, method: str) -> None:
    """Without ties, exact and with the continuity-corrected normal approximation."""
    d = np.random.default_rng(n).normal(0.1, 0.3, n).clip(-1, 1)
    decided = Wilcoxon().decide(from_differences(d.tolist()))
    for name, side in (("p", "greater"), ("p_harm", "less")):
        other = scipy_stats.wilcoxon(d, alternative=side, method=method, correction=True)
        assert decided.numbers[name] == pytest.approx(other.pvalue, rel=1e-6)


def test_wilcoxon_ties_up_to_rounding() -> None:
    """0.1 − 0.3 is −0.19999999999999998 in floats, yet of one size with 0.2: p = 4/8, not 2/8."""
    decided = Wilcoxon(level=0.5).decide(evidence([0.0, 0.0, 0.3], [0.2, 0.2, 0.1]))
    assert decided.numbers["p"] == 0.5
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.reason == "signed ranks of 2 improved and 1 regressed: p 0.5"


def test_wilcoxon_calls_a_loss_harmful() -> None:
    """The same test downwards: 2⁻⁶ on six losses; on four it is 2⁻⁴, above the level."""
    assert Wilcoxon().decide(from_differences([-0.5] * 6)).conclusion is Conclusion.REJECT_HARMFUL
    few = Wilcoxon().decide(from_differences([-0.5] * 4))
    assert few.conclusion is Conclusion.REJECT_INSUFFICIENT


def interval(d: list[float], **more: int) -> tuple[float, float]:
    """Both ends that the rule reports."""
    numbers = BootstrapInterval(**more).decide(from_differences(d)).numbers
    return numbers["low"] or 0.0, numbers["high"] or 0.0


def test_equal_differences_have_an_interval_of_one_point() -> None:
    """Every resample of 0.25, 0.25… has mean 0.25: 4 tasks by tasks, 400 by values."""
    assert interval([0.25] * 4) == interval([0.25] * 400) == (0.25, 0.25)


def test_the_interval_agrees_with_another_bootstrap() -> None:
    """``stats.paired_bootstrap`` with other random numbers: ends within 4 of their errors."""
    d = np.random.default_rng(5).normal(0.1, 0.3, 40).clip(-1, 1)
    other = paired_bootstrap(d, rng=np.random.default_rng(6), draws=40_000)
    # sd of a .025 quantile of normal means: √(.025·.975/draws)/φ(1.96) standard errors.
    slack = 4 * math.sqrt(0.025 * 0.975 / 10_000) / 0.0584 * other.standard_error
    assert interval(d.tolist()) == pytest.approx((other.low, other.high), abs=slack)


def test_few_values_have_the_multinomial_interval() -> None:
    """60 gains, 40 losses, 300 ties: both ends are quantiles of U − D, enumerated exactly."""
    n, up, down = 400, 0.15, 0.10
    moved = np.arange(n + 1)
    chance = np.zeros(2 * n + 1)
    for m, weight in enumerate(scipy_stats.binom.pmf(moved, n, up + down)):
        gains = np.arange(m + 1)
        chance[n - m + 2 * gains] += weight * scipy_stats.binom.pmf(gains, m, up / (up + down))
    below = chance.cumsum()
    low, high = interval([1.0] * 60 + [-1.0] * 40 + [0.0] * 300)
    # 4 errors of a share of 10,000 draws, on either side of the wanted share.
    slack = 4 * math.sqrt(0.025 * 0.975 / 10_000)
    for end, share in ((low, 0.025), (high, 0.975)):
        at = round(end * n) + n
        assert below[at] >= share - slack
        assert below[at - 1] <= share + slack


@given(st.permutations([0.9, -0.3, 0.2, 0.2, 0.0, -0.05, 0.6]))
def test_the_interval_does_not_depend_on_the_order(d: list[float]) -> None:
    """Differences are sorted before they are resampled."""
    first = sorted(d)
    assert interval(d, draws=200) == interval(first, draws=200)


def test_the_seed_is_a_parameter() -> None:
    """Another seed gives other resamples, the same seed the same ones."""
    d = np.random.default_rng(1).normal(0.1, 0.3, 30).tolist()
    assert interval(d, draws=500, seed=1) == interval(d, draws=500, seed=1)
    assert interval(d, draws=500, seed=1) != interval(d, draws=500, seed=2)


@given(st.lists(st.sampled_from([-0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=12))
def test_the_conclusion_is_that_of_the_reported_ends(d: list[float]) -> None:
    """Accepted when the low end is above 0, harmful when the high end is below, and only then."""
    decided = BootstrapInterval(draws=100).decide(from_differences(d))
    assert decided.accepted == ((decided.numbers["low"] or 0) > 0)
    harmful = decided.conclusion is Conclusion.REJECT_HARMFUL
    assert harmful == ((decided.numbers["high"] or 0) < 0)


def test_the_interval_decides_by_its_ends() -> None:
    """Above 0 accepts, below 0 is harmful, across 0 neither; each end has its half of alpha."""
    rule = BootstrapInterval()
    assert rule.decide(from_differences([1.0] * 9 + [0.0] * 11)).accepted
    harmful = rule.decide(from_differences([-1.0] * 9 + [0.0] * 11))
    assert harmful.conclusion is Conclusion.REJECT_HARMFUL
    # (1 − 2/20)^20 = .12 of the resamples have no gain at all: more than .025, less than .15.
    few = from_differences([1.0] * 2 + [0.0] * 18)
    assert rule.decide(few).conclusion is Conclusion.REJECT_INSUFFICIENT
    assert BootstrapInterval(alpha=0.3).decide(few).accepted
