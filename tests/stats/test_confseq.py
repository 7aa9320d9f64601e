"""Confidence sequences: the formula by hand, inversion against a grid, an initial segment."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.stats import (
    betting_interval,
    betting_sequence,
    difference_interval,
    hoeffding_sequence,
    portfolio_log_wealth,
)


def test_hoeffding_radius_by_hand():
    """At n = 2 and α = .1 the radius is √(log(2·4π²/(6·.1))/4) around the mean."""
    radius = math.sqrt(math.log(2 * 4 * math.pi**2 / (6 * 0.1)) / 4)
    y = [0.4, 0.6] * 1
    got = hoeffding_sequence(y, 0.1, running=False)
    assert got.low[1] == max(0.0, 0.5 - radius)
    assert got.high[1] == min(1.0, 0.5 + radius)
    long = hoeffding_sequence([0.4, 0.6] * 100, 0.1, running=False)
    radius = math.sqrt(math.log(2 * 200**2 * math.pi**2 / (6 * 0.1)) / 400)
    assert (long.low[-1], long.high[-1]) == pytest.approx((0.5 - radius, 0.5 + radius))


def test_running_intersection_only_shrinks():
    """Each end is the tightest so far, and somewhere strictly tighter than the plain interval."""
    y = np.r_[np.full(200, 0.9), np.full(200, 0.6)]
    plain, running = hoeffding_sequence(y, running=False), hoeffding_sequence(y)
    assert (np.diff(running.low) >= 0).all()
    assert (np.diff(running.high) <= 0).all()
    assert (running.low >= plain.low).all()
    assert (running.low > plain.low).any()


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 120),
    kind=st.sampled_from(["coin", "rare", "beta", "drift"]),
    running=st.booleans(),
)
def test_bisection_finds_the_infimum_of_a_grid(seed, n, kind, running):
    """The rejected means are an initial segment, and the lower end is where it stops."""
    rng = np.random.default_rng(seed)
    y = {
        "coin": lambda: (rng.random(n) < 0.5) * 1.0,
        "rare": lambda: (rng.random(n) < 0.05) * 1.0,
        "beta": lambda: rng.beta(0.5, 4.5, n),
        "drift": lambda: (rng.random(n) < np.linspace(0.9, 0.1, n)) * 1.0,
    }[kind]()
    low = float(betting_interval(y, 0.1, running=running).low)
    grid = np.linspace(0.01, 0.99, 99)
    paths = [portfolio_log_wealth(y, m) for m in grid]
    wealth = np.array([path.max() if running else path[-1] for path in paths])
    rejected = wealth >= math.log(20)
    kept = np.flatnonzero(~rejected)
    assert rejected[: kept[0]].all()
    assert not rejected[kept[0] :].any()
    assert low <= grid[kept[0]]
    assert kept[0] == 0 or low >= grid[kept[0] - 1]


def test_the_interval_is_the_test():
    """A mean just below the lower end is rejected at α/2, a mean just above is not."""
    y = (np.random.default_rng(5).random(300) < 0.7) * 1.0
    low, high = betting_interval(y, 0.05)
    at = math.log(2 / 0.05)
    assert portfolio_log_wealth(y, float(low) - 1e-6)[-1] >= at
    assert portfolio_log_wealth(y, float(low) + 1e-6)[-1] < at
    assert portfolio_log_wealth(y, float(high) + 1e-6, tail="lower")[-1] >= at
    assert portfolio_log_wealth(y, float(high) - 1e-6, tail="lower")[-1] < at


def test_a_sequence_is_the_interval_at_each_time():
    """Bounds after 10, 20 and 40 observations, each cut by the earlier ones."""
    y = (np.random.default_rng(8).random((3, 40)) < 0.8) * 1.0
    low, high = betting_sequence(y, 0.1, times=[10, 20, 40])
    plain = [betting_interval(y[:, :n], 0.1) for n in (10, 20, 40)]
    np.testing.assert_allclose(low, np.maximum.accumulate([b.low for b in plain]).T)
    np.testing.assert_allclose(high, np.minimum.accumulate([b.high for b in plain]).T)
    assert betting_sequence(y[0], 0.1).low.shape == (40,)
    with pytest.raises(EvidenceError, match=r"times: allowed numbers in \[1, 40\]"):
        betting_sequence(y, times=[0, 5])


def test_differences_are_bounded_on_their_own_scale():
    """The interval for d in [−1, 1] is twice the one for (d + 1)/2, minus 1."""
    d = np.random.default_rng(9).choice([-1.0, 0.0, 1.0], p=[0.1, 0.5, 0.4], size=80)
    low, high = difference_interval(d, 0.1)
    inner = betting_interval((d + 1) / 2, 0.1)
    assert (low, high) == pytest.approx((2 * inner.low - 1, 2 * inner.high - 1))
    assert -1 < low < d.mean() < high < 1
    with pytest.raises(EvidenceError, match=r"numbers in \[-1, 1\]; got 1\.5 at index 1"):
        difference_interval([0.0, 1.5])


def test_constant_streams():
    """Only zeros: the lower end is 0 and the upper end mirrors that of only ones."""
    zeros, ones = betting_interval(np.zeros(50)), betting_interval(np.ones(50))
    assert zeros.low == 0.0
    assert ones.high == 1.0
    assert float(zeros.high) == pytest.approx(1.0 - float(ones.low), abs=1e-6)
    assert 0.0 < float(zeros.high) < 0.2


def test_streams_and_single_stream_agree():
    """Row i of the matrix form is the interval of row i."""
    y = np.random.default_rng(1).random((700, 30))
    both = betting_interval(y, 0.1)
    assert both.low.shape == (700,)
    for row in (0, 511, 512, 699):
        one = betting_interval(y[row], 0.1)
        assert (both.low[row], both.high[row]) == pytest.approx((one.low, one.high), abs=1e-6)


def test_smaller_alpha_gives_wider_bounds():
    """Asking for more certainty never shortens an interval and lengthens some."""
    y = np.random.default_rng(2).random((50, 40))
    wide, narrow = betting_interval(y, 0.01), betting_interval(y, 0.2)
    assert (wide.low <= narrow.low).all()
    assert (wide.low < narrow.low).any()
    assert (wide.high >= narrow.high).all()


def test_bad_input_is_refused():
    """Values outside [0, 1] and levels outside (0, 1) are refused."""
    with pytest.raises(EvidenceError, match=r"got 1\.5 at index 0"):
        betting_interval([1.5])
    with pytest.raises(EvidenceError):
        hoeffding_sequence([[0.5, float("nan")]])
    with pytest.raises(InvalidValue):
        betting_interval([0.5], 1.0)
    with pytest.raises(InvalidValue):
        betting_interval([0.5], bets="cubic")
