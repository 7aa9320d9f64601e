"""Error rates over simulated streams with fixed seeds, judged by exact binomial bounds.

A count passes when P(Binomial(runs, level) >= count) is above one in a million: a valid method
fails that about never, and a method twice over its level fails it at these sizes. The last tests
show that the bounds catch the methods that are known to be invalid.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import bdtrc, ndtri

from logoslab.errors import EvidenceError
from logoslab.stats import (
    Decisions,
    addis,
    adoption_decider,
    alpha_investing,
    betting_interval,
    e_lond,
    empirical_bernstein_sequence,
    first_crossing,
    hoeffding_sequence,
    lond,
    lord_plus_plus,
    mcnemar_exact,
    minimum_detectable_effect,
    null_audit,
    operating_characteristics,
    portfolio_log_wealth,
    predictable_hoeffding_sequence,
    saffron,
)

RUNS, LENGTH, ALPHA = 2_000, 600, 0.05


def chance_of(count, runs, level):
    return float(bdtrc(count - 1, runs, level)) if count else 1.0


def coin(rate):
    return lambda rng, runs: (rng.random((runs, LENGTH)) < rate) * 1.0


def drifting(rng, runs):
    """Conditional means swing between .3 and .5 with the stream's own past, never above .5."""
    y, mean = np.empty((runs, LENGTH)), np.full(runs, 0.5)
    for t in range(LENGTH):
        y[:, t] = rng.random(runs) < mean
        mean = np.where(y[:, max(0, t - 9) : t + 1].mean(axis=1) > 0.5, 0.5, 0.3 + 0.2 * (t % 2))
    return y


def adversarial(rng, runs):
    """The mean is .5 while the stream is behind, and the variance peaks when it is ahead."""
    y, ahead = np.empty((runs, LENGTH)), np.zeros(runs)
    for t in range(LENGTH):
        bold = rng.random(runs) < 0.5
        timid = 0.5 + (rng.random(runs) - 0.5) * 0.1
        y[:, t] = np.where(ahead >= 0, bold, timid)
        ahead += y[:, t] - 0.5
    return y


NULLS = {
    "coin .5": (coin(0.5), 0.5),
    "coin .05": (coin(0.05), 0.05),
    "beta": (lambda rng, runs: rng.beta(0.5, 4.5, (runs, LENGTH)), 0.1),
    "drifting": (drifting, 0.5),
    "adversarial": (adversarial, 0.5),
}


@pytest.mark.parametrize("tail", ["upper", "lower"])
@pytest.mark.parametrize("name", NULLS)
def test_peeking_at_every_observation_keeps_the_level(name, tail):
    """Rejecting at the first K >= 20 anywhere in 600 looks errs at most 5 % of the time."""
    draw, m0 = NULLS[name]
    if tail == "lower" and name == "drifting":
        m0 = 0.3 - 1e-9  # that stream's conditional mean never falls below .3

    def decide(y):
        return first_crossing(portfolio_log_wealth(y, m0, tail=tail), ALPHA)

    audit = null_audit(decide, draw, level=ALPHA, rng=np.random.default_rng(11), runs=RUNS)
    assert audit.passed, audit
    assert audit.runs == RUNS


@pytest.mark.parametrize("name", ["coin .5", "coin .05", "beta"])
@pytest.mark.parametrize(
    "method",
    [
        hoeffding_sequence,
        predictable_hoeffding_sequence,
        empirical_bernstein_sequence,
    ],
)
def test_confidence_sequences_cover_at_all_times(name, method):
    """The mean leaves the interval at any of 600 times in at most 5 % of streams."""
    draw, mean = NULLS[name]
    low, high = method(draw(np.random.default_rng(12), RUNS), ALPHA)
    missed = int(((low > mean) | (high < mean)).any(axis=1).sum())
    assert chance_of(missed, RUNS, ALPHA) > 1e-6


@pytest.mark.parametrize("name", ["coin .5", "coin .05", "beta"])
def test_betting_intervals_cover_with_running_intersection(name):
    """The running betting interval, which peeks at every time, misses in at most 5 % of streams."""
    draw, mean = NULLS[name]
    low, high = betting_interval(draw(np.random.default_rng(13), 400), ALPHA, running=True)
    missed = int(((low > mean) | (high < mean)).sum())
    assert chance_of(missed, 400, ALPHA) > 1e-6


def false_discovery_proportions(rejected, null):
    return (rejected & null).sum(axis=1) / np.maximum(rejected.sum(axis=1), 1)


def two_groups(rng, runs, gates=60):
    """Independent p-values: 70 % true nulls, the rest one-sided normal tests at shift 3."""
    null = rng.random((runs, gates)) < 0.7
    z = rng.normal(size=(runs, gates)) + np.where(null, 0.0, 3.0)
    from scipy.special import ndtr

    return ndtr(-z), null


@pytest.mark.parametrize("ledger", [lord_plus_plus, saffron, addis, lond, alpha_investing])
def test_ledgers_control_false_discoveries_under_independence(ledger):
    """The mean false discovery proportion of 1,000 sequences of 60 gates stays below 10 %."""
    p, null = two_groups(np.random.default_rng(14), 1_000)
    rejected = np.array([ledger(row, 0.1).rejections for row in p])
    share = false_discovery_proportions(rejected, null)
    assert share.mean() <= 0.1 + 3 * share.std() / math.sqrt(len(share))
    assert (rejected & ~null).sum() > 1_000


def shared_pool_e_values(rng, runs, gates=40, tasks=80):
    """Gates that reuse one pool: e-values of all gates move together through shared tasks."""
    null = rng.random((runs, gates)) < 0.8
    luck = rng.normal(size=(runs, tasks))
    pool = luck.sum(axis=1, keepdims=True) / math.sqrt(tasks)
    own = rng.normal(size=(runs, gates))
    z = 0.95 * pool + math.sqrt(1 - 0.95**2) * own + np.where(null, 0.0, 5.0)
    return np.exp(3.0 * z - 4.5), null  # E[exp(3Z − 9/2)] = 1 for standard normal Z


def test_e_lond_controls_false_discoveries_in_a_shared_pool():
    """With correlation .9 between gates the mean false discovery proportion stays below 10 %."""
    e, null = shared_pool_e_values(np.random.default_rng(15), 3_000)
    rejected = np.array([e_lond(row, 0.1).rejections for row in e])
    share = false_discovery_proportions(rejected, null)
    assert share.mean() <= 0.1 + 3 * share.std() / math.sqrt(len(share))
    assert (rejected & ~null).sum() > 1_000


def test_the_adoption_gate_keeps_its_level_on_identical_arms():
    """A/A: both arms share every task's chance of success; the gate may not adopt above 5 %."""

    def same_arms(rng, runs):
        chance = rng.random((runs, LENGTH))
        return (rng.random(chance.shape) < chance) * 1.0 - (rng.random(chance.shape) < chance)

    decide = adoption_decider(ALPHA, eps_reg=0.0, rho_max=0.3)
    audit = null_audit(decide, same_arms, level=ALPHA, rng=np.random.default_rng(16), runs=1_000)
    assert audit.passed, audit


def test_the_audit_catches_peeking_at_a_fixed_test():
    """McNemar's exact test at every 20th task errs far above 5 %, and the audit says so."""

    def peek(d):
        gained, lost = (d > 0).cumsum(axis=1), (d < 0).cumsum(axis=1)
        looks = np.arange(19, LENGTH, 20)
        p = mcnemar_exact(gained[:, looks], lost[:, looks])
        hit = p <= ALPHA
        return Decisions(hit.any(axis=1), np.where(hit.any(axis=1), hit.argmax(axis=1), LENGTH))

    def flips(rng, runs):
        return rng.choice([-1.0, 0.0, 1.0], p=[0.15, 0.7, 0.15], size=(runs, LENGTH))

    audit = null_audit(peek, flips, level=ALPHA, rng=np.random.default_rng(17), runs=500)
    assert audit.false_adoptions > 75
    assert not audit.passed


def test_coverage_bound_catches_fixed_intervals():
    """A normal interval re-read at every observation misses far more than 5 % of streams."""
    y = coin(0.5)(np.random.default_rng(18), RUNS)
    n = np.arange(1, LENGTH + 1)
    radius = -float(ndtri(ALPHA / 2)) * 0.5 / np.sqrt(n)
    missed = int((np.abs(y.cumsum(axis=1) / n - 0.5) > radius)[:, 9:].any(axis=1).sum())
    assert chance_of(missed, RUNS, ALPHA) < 1e-6


def shifted(gain):
    def draw(rng, runs):
        u = rng.random((runs, 300))
        return (u < 0.1 + gain) * 1.0 - (u > 0.95)

    return draw


def test_operating_characteristics_by_hand():
    """Accepting when the first value exceeds .75 accepts a uniform a quarter of the time."""

    def decide(y):
        return Decisions(y[:, 0] > 0.75, np.full(len(y), 1.0))

    got = operating_characteristics(
        decide,
        {"uniform": lambda rng, runs: rng.random((runs, 3))},
        rng=np.random.default_rng(19),
        runs=4_000,
        cost=0.5,
    )["uniform"]
    assert got.accept_low < 0.25 < got.accept_high
    assert (got.mean_used, got.used_error, got.mean_cost, got.runs) == (1.0, 0.0, 0.5, 4_000)


def test_a_crossing_counts_the_observation_that_made_it():
    """log 20 = 2.996: crossing at the second look uses 2 observations, never crossing all 3."""
    got = first_crossing(np.array([[0.0, 3.0, 0.0], [0.0, 2.9, 2.9]]), 0.05)
    assert got.accepted.tolist() == [True, False]
    assert got.used.tolist() == [2, 3]


def test_power_rises_with_the_effect_and_the_detectable_effect_has_it():
    """The smallest detectable gain reaches the wanted power; a tenth less does not."""
    decide = adoption_decider(ALPHA, rho_max=0.2)
    got = minimum_detectable_effect(
        decide, shifted, seed=20, low=0.0, high=0.4, power=0.8, runs=300, steps=8
    )
    assert got.power >= 0.8
    assert 0.0 < got.power_error < 0.03
    weaker = decide(shifted(0.85 * got.effect)(np.random.default_rng(20), 300)).accepted.mean()
    assert weaker < 0.8
    none = minimum_detectable_effect(decide, shifted, seed=20, low=0.0, high=1e-4, runs=100)
    assert none.effect is None


def test_a_decision_for_each_run_is_required():
    """A decision function that drops rows is refused with both shapes."""
    with pytest.raises(EvidenceError) as refused:
        null_audit(
            lambda y: Decisions(y[1:, 0] > 0, y[1:, 0]),
            coin(0.5),
            level=ALPHA,
            rng=np.random.default_rng(0),
            runs=5,
        )
    assert str(refused.value) == (
        "decide: allowed one decision and one count for each of 5 runs; got shapes (4,) and (4,). "
        "Return Decisions(accepted, used) over the rows."
    )
