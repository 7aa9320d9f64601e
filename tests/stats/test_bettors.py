"""Single bettors and closed-form sequences against published paths, and merging of e-values."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.stats import (
    BettingProcess,
    agrapa_bet,
    bettor_log_wealth,
    empirical_bernstein_sequence,
    fixed_bet,
    hedged_log_wealth,
    merge_average,
    merge_minimum,
    merge_product,
    plug_in_bet,
    predictable_hoeffding_sequence,
)
from logoslab.stats.bettors import past_moments

STREAMS = ["Y30", "B60", "ones20", "zeros20", "alt20"]


def entries(reference, stream, pattern):
    """(null mean or None, key, published numbers) of every entry whose name matches."""
    for key, value in reference["single_bettors"]["values"][stream].items():
        if re.search(pattern, key):
            mean = re.search(r"m0?=([\d.]+)", key)
            yield float(mean.group(1)) if mean else None, key, np.array(value, dtype=float)


def tails(y, m0, strategy):
    return (
        bettor_log_wealth(y, m0, strategy),
        bettor_log_wealth(y, m0, strategy, tail="lower"),
    )


@pytest.mark.parametrize("stream", STREAMS)
def test_plug_in_wealth_matches_published_paths(reference, stream):
    """Upper, lower and hedged plug-in wealth (origin: confseq, in linear space; ville, in logs)."""
    y, seen = reference["streams"][stream], 0
    for m0, key, expected in entries(reference, stream, "betting_mart"):
        up, down = tails(y, m0, plug_in_bet(0.025 if "theta=.5" in key else 0.05))
        how = "average" if "convex" in key else "max"
        hedged = hedged_log_wealth(up, down, how=how)
        got = up if "theta=1" in key else down if "theta=0 " in key else hedged
        np.testing.assert_allclose(np.exp(got), expected, rtol=1e-12, err_msg=key)
        seen += 1
    for m0, key, expected in entries(reference, stream, "ville BettingTest"):
        up, down = tails(y, m0, plug_in_bet(0.025))
        got = {"greater": up, "less": down}.get(key.split()[3], hedged_log_wealth(up, down))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12, err_msg=key)
        seen += 1
    assert seen == 21


@pytest.mark.parametrize("stream", STREAMS)
def test_agrapa_wealth_matches_published_paths(reference, stream):
    """Upper, lower and two-sided adaptive wealth (origin: sequential-analysis)."""
    seen = 0
    for m0, key, expected in entries(reference, stream, "BettingMeanTest"):
        up, down = tails(reference["streams"][stream], m0, agrapa_bet())
        got = {"greater": up, "less": down}.get(key.split()[3], hedged_log_wealth(up, down))
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12, err_msg=key)
        seen += 1
    assert seen == 9


@pytest.mark.parametrize("stream", STREAMS)
def test_closed_form_sequences_match_published_ends(reference, stream):
    """Predictable weights, empirical Bernstein (both centres) and Hoeffding ends."""
    y = np.array(reference["streams"][stream])
    weights = plug_in_bet(0.05)(past_moments(y[None]), 0.5)[0]
    plain = {"side": "lower", "running": False, "centre": "plain"}
    # The two-sided form is two one-sided ones at alpha/2; the plain centre starts at 0 for both.
    low = empirical_bernstein_sequence(y, 0.025, **plain).low[-1]
    high = 1 - empirical_bernstein_sequence(1 - y, 0.025, **plain).low[-1]
    got = {
        "lambda_predmix_eb": weights,
        "predmix_empbern_lower_cs": empirical_bernstein_sequence(y, 0.05, **plain).low,
        "predmix_empbern_twosided_cs": np.array([low, high]),
        "ville EmpiricalBernsteinCS lower": empirical_bernstein_sequence(y, running=False).low,
        "predmix_hoeffding_cs": predictable_hoeffding_sequence(y, running=False).low,
    }
    for name, ours in got.items():
        ((_, key, expected),) = entries(reference, stream, name)
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-12, err_msg=f"{stream} {key}")


def hedged_rejects(y, m, alpha):
    up, down = tails(y, m, plug_in_bet(alpha / 2))
    return hedged_log_wealth(up, down, how="max") >= math.log(1 / alpha)


@pytest.mark.parametrize("stream", STREAMS)
def test_hedged_inversion_matches_published_sequence(reference, stream):
    """Inverting the hedged bettor on a grid of 1,000 steps and at its continuous root."""
    y = np.array(reference["streams"][stream])
    grid = np.arange(1, 1000) / 1000
    kept = np.array([~hedged_rejects(y, m, 0.05) for m in grid])
    ((_, _, low),) = entries(reference, stream, "betting_cs breaks=1000 lower")
    ((_, _, high),) = entries(reference, stream, "betting_cs breaks=1000 upper")
    ((_, _, root),) = entries(reference, stream, "continuous root")
    first = grid[kept.argmax(axis=0)]
    last = grid[len(grid) - 1 - kept[::-1].argmax(axis=0)]
    # The published grid includes 0 and 1 and steps outwards by one cell.
    assert np.abs(np.where(low == 0, first * (first > 0.0021), first) - low).max() <= 0.0021
    assert (
        np.abs(np.where(high == 1, 1 - (1 - last) * (last < 0.9979), last) - high).max() <= 0.0021
    )
    for end, inside in ((root[0], 1), (root[1], -1)):
        if 0 < end < 1:
            assert hedged_rejects(y, end - inside * 1e-9, 0.05)[-1]
            assert not hedged_rejects(y, end + inside * 1e-9, 0.05)[-1]


def test_fixed_bet_by_hand():
    """Bet 1 against ½ on 1, 0, 1: 1.5 · 0.5 · 1.5 = 9/8; the cap c/m0 = 1 changes nothing."""
    path = bettor_log_wealth([1, 0, 1], 0.5, fixed_bet(1.0))
    assert np.exp(path) == pytest.approx([1.5, 0.75, 1.125])
    capped = bettor_log_wealth([1, 0, 1], 0.5, fixed_bet(9.0))
    np.testing.assert_array_equal(capped, path)


@settings(deadline=None)
@given(
    y=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=30),
    m0=st.floats(0.01, 0.99),
    tail=st.sampled_from(["upper", "lower"]),
    name=st.sampled_from(["fixed", "plug_in", "agrapa"]),
)
def test_streaming_bettor_equals_the_batch_form(y, m0, tail, name):
    """The same strategy gives the same wealth one observation at a time."""
    strategy = {"fixed": fixed_bet(0.4), "plug_in": plug_in_bet(), "agrapa": agrapa_bet()}[name]
    process = BettingProcess(m0, strategy, tail=tail)
    path = [process.update(value).log_wealth for value in y]
    batch = bettor_log_wealth(y, m0, strategy, tail=tail)
    np.testing.assert_allclose(path, batch, rtol=1e-9, atol=1e-9)
    assert process.n == len(y)
    assert process.p_value == pytest.approx(math.exp(-max(0.0, batch.max())), rel=1e-8)


@given(y=st.lists(st.floats(0.0, 1.0), min_size=2, max_size=20), last=st.floats(0.0, 1.0))
def test_no_bet_sees_its_own_outcome(y, last):
    """Changing the last observation changes no moment that any bet so far was made from."""
    before = past_moments(np.array([y]))
    after = past_moments(np.array([[*y[:-1], last]]))
    for one, other in zip(before, after, strict=True):
        np.testing.assert_array_equal(one, other)


def test_merging_by_hand():
    """e-values 2, 8, 4: product 64, average 14/3, weighted (½, ¼, ¼) 4, smallest 2."""
    logs = np.log([2.0, 8.0, 4.0])
    assert math.exp(merge_product(logs)) == pytest.approx(64)
    assert math.exp(merge_average(logs)) == pytest.approx(14 / 3)
    assert math.exp(merge_average(logs, [0.5, 0.25, 0.25])) == pytest.approx(4)
    assert math.exp(merge_minimum(logs)) == pytest.approx(2)
    assert merge_average([2000.0, 0.0]) == pytest.approx(2000 - math.log(2))
    with pytest.raises(InvalidValue, match="shares that sum to 1"):
        merge_average(logs, [0.5, 0.5, 0.5])


def test_one_sided_sequences_leave_the_other_end_open():
    """side='lower' keeps high at 1 and is tighter below than the two-sided form."""
    y = np.random.default_rng(0).random(200)
    low, both = empirical_bernstein_sequence(y, side="lower"), empirical_bernstein_sequence(y)
    assert (low.high == 1).all()
    assert (low.low >= both.low).all()
    assert (low.low > both.low).any()
    assert (empirical_bernstein_sequence(y, side="upper").low == 0).all()
    with pytest.raises(EvidenceError, match=r"got nan at index \(0, 1\)"):
        empirical_bernstein_sequence([[0.1, float("nan")]])
