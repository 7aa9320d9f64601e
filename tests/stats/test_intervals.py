"""Intervals for a rate: published values, exact coverage, outward rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.stats import clopper_pearson, kl_lcb, kl_ucb, wilson


@pytest.mark.parametrize(
    ("name", "interval"), [("clopper_pearson", clopper_pearson), ("wilson", wilson)]
)
def test_intervals_match_reference(reference, name, interval):
    """Thirty-six pairs of counts, tails down to 1e-7, to 1e-15 (origin: 40-digit arithmetic)."""
    for row in reference[name]:
        got = interval(row["k"], row["n"], row["alpha"])
        assert got.low == pytest.approx(float(row["lower"]), rel=1e-13, abs=1e-15), row
        assert got.high == pytest.approx(float(row["upper"]), rel=1e-13, abs=1e-15), row


def test_wilson_by_hand():
    """5 of 10 at z = 2: (0.5 + 0.2 ∓ 2·√(0.025 + 0.01))/1.4."""
    alpha = math.erfc(math.sqrt(2))  # two-sided tail beyond 2
    got = wilson(5, 10, alpha)
    root = 2 * math.sqrt(0.035)
    assert (got.low, got.high) == pytest.approx(((0.7 - root) / 1.4, (0.7 + root) / 1.4))


def test_clopper_pearson_closed_forms():
    """0 of n has upper end 1 − (α/2)^(1/n); n of n mirrors it."""
    none, every = clopper_pearson(0, 20, 0.1), clopper_pearson(20, 20, 0.1)
    assert (none.low, none.high) == (0.0, pytest.approx(1 - 0.05 ** (1 / 20)))
    assert (every.low, every.high) == (pytest.approx(0.05 ** (1 / 20)), 1.0)


@pytest.mark.parametrize("rate", [0.01, 0.2, 0.5, 0.93])
def test_clopper_pearson_covers_exactly(rate):
    """Summing the binomial law over the counts whose interval holds the rate gives >= 1 − α."""
    n, k = 25, np.arange(26)
    chance = np.array([math.comb(n, int(i)) * rate**i * (1 - rate) ** (n - i) for i in k])
    bounds = clopper_pearson(k, n, 0.1)
    inside = (bounds.low <= rate) & (rate <= bounds.high)
    assert chance[inside].sum() >= 0.9


def test_kl_bounds_match_reference(reference):
    """Nine published pairs, to 1e-12 and never inside the exact end."""
    for row in reference["kl_bounds"]["values"]:
        delta = math.exp(-row["d"])
        high, low = kl_ucb(row["p"], 1, delta), kl_lcb(row["p"], 1, delta)
        assert high == pytest.approx(float(row["upper"]), abs=1e-12)
        assert low == pytest.approx(float(row["lower"]), abs=1e-12)


@given(p=st.floats(0.0, 1.0), n=st.integers(1, 10_000), delta=st.floats(1e-9, 0.5))
def test_kl_bound_is_the_outer_end(p, n, delta):
    """At the bound the divergence exceeds the budget, or the bound is the end of [0, 1]."""

    def spent(q):
        first = p * math.log(p / q) if p else 0.0
        second = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
        return n * (first + second)

    budget = math.log(1 / delta)
    high, low = float(kl_ucb(p, n, delta)), float(kl_lcb(p, n, delta))
    assert 0.0 <= low <= p <= high <= 1.0
    assert high == 1.0 or spent(high) >= budget * (1 - 1e-9)
    assert low == 0.0 or spent(low) >= budget * (1 - 1e-9)
    assert high >= 1.0 - 1e-12 or spent(high - 1e-9 * (1 + high)) <= budget * (1 + 1e-6) + 1e-6


def test_kl_at_zero_is_closed_form():
    """No events in n: the upper bound is 1 − δ^(1/n), above the rule of three at small n."""
    n = np.array([1, 10, 1000])
    np.testing.assert_allclose(kl_ucb(0.0, n, 0.05), 1 - 0.05 ** (1 / n), rtol=1e-12)


def test_bad_counts_are_named():
    """k above n, fractions and n = 0 are refused with the pair and its index."""
    with pytest.raises(EvidenceError) as refused:
        wilson([1, 5], [4, 4])
    assert str(refused.value) == (
        "wilson: allowed whole counts with 0 <= k <= n and n >= 1; got k=5, n=4 at index 1. "
        "Count successes and trials again."
    )
    with pytest.raises(EvidenceError):
        clopper_pearson(0.5, 4)
    with pytest.raises(EvidenceError):
        clopper_pearson(0, 0)
    with pytest.raises(InvalidValue):
        wilson(1, 4, 1.0)
    with pytest.raises(EvidenceError):
        kl_ucb(1.1, 4, 0.05)
    with pytest.raises(EvidenceError):
        kl_ucb(0.5, 0, 0.05)
