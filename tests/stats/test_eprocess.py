"""The portfolio e-process: hand-worked wealth, the definition, exact Ville, exact recovery."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.stats import (
    PortfolioEProcess,
    PortfolioStreams,
    SamplingContract,
    geometric_bets,
    linear_bets,
    portfolio_log_wealth,
    quadratic_bets,
)
from logoslab.stats.eprocess import PortfolioSpec, safe_block
from logoslab.stats.portfolio import anchor_bets

shares = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0))
means = st.floats(0.001, 0.999)


def log_wealth_by_definition(y, m0, c=0.9, w=0.5, bets=None, v_min=1e-3, n_min=5):
    """Eq. 89-90 term by term, one sum of logarithms for each bet."""
    grid = quadratic_bets(m0, c) if bets is None else bets
    logs, anchor, path = [0.0] * len(grid), 0.0, []
    for s, value in enumerate(y):
        bet = 0.0
        if s >= n_min:
            past = np.asarray(y[:s])
            bet = float(np.clip((past.mean() - m0) / max(past.var(), v_min), 0.0, c / m0))
        anchor += math.log1p(bet * (value - m0))
        logs = [log + math.log1p(b * (value - m0)) for log, b in zip(logs, grid, strict=True)]
        parts = [(w, anchor), *[((1 - w) / len(grid), log) for log in logs]]
        top = max(log for weight, log in parts if weight > 0)
        path.append(top + math.log(sum(k * math.exp(log - top) for k, log in parts)))
    return np.array(path)


def streamed(y, m0, **settings):
    process = PortfolioEProcess(m0, **settings)
    return np.array([process.update(value).log_wealth for value in y]), process


def test_two_wins_one_loss():
    """Betting 1/2 against m0 = 1/2 on 1, 1, 0 leaves wealth 75/64."""  # 1.25 · 1.25 · 0.75
    path, process = streamed([1, 1, 0], 0.5, anchor_weight=0.0, bets=[0.5])
    assert np.exp(path) == pytest.approx([5 / 4, 25 / 16, 75 / 64], rel=1e-15)
    assert process.p_value == pytest.approx(16 / 25, rel=1e-15)


def test_anchor_bets_from_the_past_alone():
    """After 1, 1 the anchor bets c/m0 = 1.8, so 0 then multiplies its half by 1 − 1.8/2 = 0.1."""
    # Bets 0 and 0: the other half stays at 1/2. K_3 = 1/2 · 0.1 + 1/2.
    path, _ = streamed([1, 1, 0], 0.5, bets=[0.0, 0.0], n_min=2)
    assert np.exp(path) == pytest.approx([1.0, 1.0, 0.55], rel=1e-14)


def test_anchor_bet_divides_by_population_variance():
    """After 1, 0.5 against 0.5 the mean is 3/4 and the variance 1/16, so the bet is 4, capped."""
    # At c = 1/4 the cap is 1/2: y = 1 multiplies by 1.25. With v_min = 1 the bet is 1/4: 1.125.
    capped, _ = streamed([1, 0.5, 1], 0.5, c=0.25, anchor_weight=1.0, n_min=2)
    floored, _ = streamed([1, 0.5, 1], 0.5, anchor_weight=1.0, n_min=2, v_min=1.0)
    spread, _ = streamed([1, 0, 1, 1], 0.5, anchor_weight=1.0, n_min=3)
    assert np.exp(capped[-1]) == pytest.approx(1.25)
    assert np.exp(floored[-1]) == pytest.approx(1.125)
    # After 1, 0, 1: (2/3 − 1/2)/(2/9) = 3/4, so 1 multiplies by 1 + 3/8.
    assert np.exp(spread[-1]) == pytest.approx(11 / 8)


def test_grids_are_the_stated_ones():
    """At m0 = 1/2, c = 0.9 and k = 2: quadratic .45, 1.8; linear .9, 1.8; geometric .9, 1.8."""
    assert quadratic_bets(0.5, 0.9, 2) == pytest.approx([0.45, 1.8])
    assert linear_bets(0.5, 0.9, 2) == pytest.approx([0.9, 1.8])
    assert geometric_bets(0.5, 0.9, 3) == pytest.approx([0.45, 0.9, 1.8])


def test_parity_with_reference_paths(reference):
    """Twenty published paths of log K, to 1e-12, streaming and in both batch forms."""
    table = reference["portfolio"]
    for name, expected in table["values"].items():
        params, stream, tail = name.split("/")
        chosen = table["params"][params]
        mean = chosen["m0"] if tail == "upper" else 1 - chosen["m0"]
        settings = {
            "c": chosen["c"],
            "anchor_weight": chosen["w"],
            "v_min": chosen["vmin"],
            "n_min": chosen["nmin"],
            "bets": linear_bets(mean, chosen["c"], chosen["ng"]),
            "tail": tail,
        }
        y, log_k = reference["streams"][stream], [float(x) for x in expected["logK"]]
        path, process = streamed(y, chosen["m0"], **settings)
        batch = portfolio_log_wealth(y, chosen["m0"], **settings)
        wide = portfolio_log_wealth(np.tile(y, (70, 1)), chosen["m0"], **settings)
        np.testing.assert_allclose(path, log_k, rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(batch, log_k, rtol=0, atol=1e-12, err_msg=name)
        np.testing.assert_allclose(wide[[0, 69]], [log_k] * 2, rtol=0, atol=1e-12, err_msg=name)
        assert process.sup_log_wealth == pytest.approx(max(0, float(expected["max_logK"])))
        assert math.exp(batch[-1]) == pytest.approx(float(expected["K_last"]), rel=1e-12)
        seen = np.array(y) if tail == "upper" else 1 - np.array(y)
        spec = PortfolioSpec.checked(chosen["m0"], **settings)
        bets, _, _ = anchor_bets(spec, seen[:, None], 0, np.zeros(1), np.zeros(1))
        published = [float(x) for x in expected["lam_agrapa"]]
        np.testing.assert_allclose(bets[:, 0], published, rtol=1e-12, atol=1e-13, err_msg=name)


@settings(deadline=None)
@given(
    y=st.lists(shares, min_size=1, max_size=40),
    m0=means,
    c=st.floats(0.05, 0.95),
    w=st.sampled_from([0.0, 0.3, 1.0]),
    n_min=st.integers(1, 6),
)
def test_streaming_batch_and_definition_agree(y, m0, c, w, n_min):
    """Streaming = one-stream batch = many-streams batch = Eq. 89-90 written out."""
    path, _ = streamed(y, m0, c=c, anchor_weight=w, n_min=n_min)
    one = portfolio_log_wealth(y, m0, c=c, anchor_weight=w, n_min=n_min)
    many = portfolio_log_wealth(np.tile(y, (64, 1)), m0, c=c, anchor_weight=w, n_min=n_min)
    expected = log_wealth_by_definition(y, m0, c=c, w=w, n_min=n_min)
    np.testing.assert_allclose(path, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(one, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(many[[0, -1]], [expected] * 2, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("m0", [0.02, 0.5, 0.9])
@pytest.mark.parametrize("seed", [0, 1])
def test_all_forms_agree_over_many_blocks(m0, seed):
    """Over 300 observations that first beat the null and then fall behind it."""
    gen = np.random.default_rng(seed)
    y = np.r_[gen.random(150) < m0 + 0.08, gen.random(150) < m0 / 2] * 1.0
    path, process = streamed(y, m0)
    expected = log_wealth_by_definition(y, m0)
    np.testing.assert_allclose(path, expected, rtol=0, atol=1e-11)
    np.testing.assert_allclose(portfolio_log_wealth(y, m0), expected, rtol=0, atol=1e-11)
    wide = portfolio_log_wealth(np.tile(y, (64, 1)), m0)
    np.testing.assert_allclose(wide[[0, 63]], [expected] * 2, rtol=0, atol=1e-11)
    again = PortfolioEProcess.restore(process.snapshot())
    assert process.sup_log_wealth == pytest.approx(expected.max(), abs=1e-11)
    assert again.sup_log_wealth == process.sup_log_wealth > process.log_wealth + 1


@settings(deadline=None)
@given(y=st.lists(shares, min_size=1, max_size=200), m0=means, grid=st.sampled_from([1, 3, 8, 12]))
def test_lower_tail_is_the_mirrored_upper_tail(y, m0, grid):
    """H0: mean >= m0 on Y is H0: mean <= 1 − m0 on 1 − Y, whatever the size of the grid."""
    bets = quadratic_bets(1 - m0, 0.9, grid)
    lower, _ = streamed(y, m0, tail="lower", bets=bets)
    upper, _ = streamed([1 - value for value in y], 1 - m0, bets=bets)
    batch = portfolio_log_wealth(y, m0, tail="lower", bets=bets)
    np.testing.assert_allclose(lower, upper, rtol=0, atol=1e-12)
    np.testing.assert_allclose(batch, upper, rtol=1e-11, atol=1e-11)


@settings(deadline=None)
@given(y=st.lists(shares, min_size=2, max_size=300), cut=st.integers(1, 299), m0=means)
def test_snapshot_continues_bit_for_bit(y, cut, m0):
    """A process restored from JSON text ends exactly where the uninterrupted one ends."""
    cut = min(cut, len(y) - 1)
    _, whole = streamed(y, m0)
    _, first = streamed(y[:cut], m0)
    second = PortfolioEProcess.restore(json.loads(json.dumps(first.snapshot(), allow_nan=False)))
    for value in y[cut:]:
        second.update(value)
    assert (second.log_wealth, second.sup_log_wealth, second.n) == (
        whole.log_wealth,
        whole.sup_log_wealth,
        whole.n,
    )
    assert second.snapshot() == whole.snapshot()


def test_restore_refuses_foreign_or_incomplete_snapshots():
    """A snapshot of another kind, or one that lacks a part, is refused by name."""
    with pytest.raises(EvidenceError) as foreign:
        PortfolioEProcess.restore({"kind": "ledger", "version": 1})
    assert str(foreign.value) == (
        "snapshot: allowed kind 'portfolio_e_process', version 1; got kind 'ledger', version 1. "
        "Pass what PortfolioEProcess.snapshot() returned."
    )
    torn = PortfolioEProcess(0.5).snapshot()
    del torn["state"]["logs"]
    with pytest.raises(EvidenceError, match="every part of the state; got 'logs'"):
        PortfolioEProcess.restore(torn)


@pytest.mark.parametrize("m0", [0.1, 0.5, 0.8])
@pytest.mark.parametrize("bets", ["quadratic", "linear", "geometric"])
@pytest.mark.parametrize("tail", ["upper", "lower"])
def test_ville_holds_over_every_coin_path(m0, bets, tail):
    """All 2^14 coin paths at the edge of the null: E[K_n] = 1 and P(sup K >= 1/α) <= α, exactly."""
    paths = np.array(list(product((0.0, 1.0), repeat=14)))
    heads = paths.sum(axis=1)
    chance = m0**heads * (1 - m0) ** (14 - heads)
    log_k = portfolio_log_wealth(paths, m0, bets=bets, tail=tail, n_min=2)
    wealth = np.exp(log_k)
    assert chance @ wealth == pytest.approx(np.ones(14), rel=1e-12)
    for alpha in (0.5, 0.2, 0.1, 0.05, 0.01):
        assert chance @ (wealth.max(axis=1) >= 1 / alpha) <= alpha
    # Stop when K >= 3, when K <= 1/3, or at the sixth head, else at the end: each is fair.
    for stop in (wealth >= 3, wealth <= 1 / 3, paths.cumsum(axis=1) >= 6):
        last = np.where(stop.any(axis=1), stop.argmax(axis=1), 13)
        assert chance @ wealth[np.arange(len(paths)), last] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("n", range(1, 15))
def test_wealth_is_fair_in_exact_fractions(n):
    """With bets 1/2 and 1 and no anchor, expected wealth over fair coins is the fraction 1."""
    total = Fraction(0)
    for heads in range(n + 1):
        wealth = sum(
            (1 + bet / 2) ** heads * (1 - bet / 2) ** (n - heads)
            for bet in (Fraction(1, 2), Fraction(1))
        )
        total += math.comb(n, heads) * wealth / 2 / 2**n
        path = portfolio_log_wealth(
            [1.0] * heads + [0.0] * (n - heads), 0.5, anchor_weight=0.0, bets=[0.5, 1.0]
        )
        assert np.exp(path[-1]) == pytest.approx(float(wealth / 2), rel=1e-13)
    assert total == 1


def test_wealth_recovers_from_underflow():
    """1,200 losses then 4,000 wins at the single bet 1: log K = 1200·log ½ + 4000·log 1.5 > 0."""
    y = [0.0] * 1200 + [1.0] * 4000
    expected = 1200 * math.log(0.5) + 4000 * math.log(1.5)  # 790.1
    path, process = streamed(y, 0.5, anchor_weight=0.0, bets=[1.0])
    batch = portfolio_log_wealth(y, 0.5, anchor_weight=0.0, bets=[1.0])
    assert path[-1] == pytest.approx(expected, abs=1e-9)
    assert batch[-1] == pytest.approx(expected, abs=1e-9)
    assert process.p_value == pytest.approx(math.exp(-expected), rel=1e-9, abs=0)


def test_wealth_returns_from_overflow():
    """4,000 wins then 12,000 losses: log K falls from 1,622 to 4000·log 1.5 + 12000·log ½."""
    y = [1.0] * 4000 + [0.0] * 12000
    expected = 4000 * math.log(1.5) + 12000 * math.log(0.5)
    path, process = streamed(y, 0.5, anchor_weight=0.0, bets=[1.0])
    batch = portfolio_log_wealth(np.tile(y, (64, 1)), 0.5, anchor_weight=0.0, bets=[1.0])
    assert path[-1] == pytest.approx(expected, abs=1e-8)
    assert batch[[0, -1], -1] == pytest.approx([expected] * 2, abs=1e-8)
    assert process.sup_log_wealth == pytest.approx(4000 * math.log(1.5), abs=1e-9)


def test_a_beaten_bet_recovers_inside_the_portfolio():
    """A large bet ruined by 2,000 losses still leads again after enough wins."""
    y = np.r_[np.zeros(2000), np.ones(9000)]
    path = portfolio_log_wealth(y, 0.5, anchor_weight=0.0, bets=[0.01, 1.8])
    big = 2000 * math.log1p(-0.9) + 9000 * math.log1p(0.9)
    assert path[-1] == pytest.approx(big + math.log(0.5), abs=1e-8)


def test_extreme_means_shorten_the_block():
    """At m0 = 1e-9 one win multiplies by 9e8; 100 wins stay finite and exact."""
    assert safe_block(1e-9, 0.9) == 7  # 150/log(9e8)
    y = [1.0] * 100
    path, _ = streamed(y, 1e-9, anchor_weight=0.0, bets=[0.9e9])
    assert path[-1] == pytest.approx(100 * math.log1p(0.9e9 * (1 - 1e-9)), rel=1e-13)


def test_a_long_stream_keeps_nine_digits():
    """At 10⁶ observations the blocked product is within 1e-9 of the sum of logarithms."""
    y = np.random.default_rng(7).random(1_000_000) * 0.99 + 0.005
    path = portfolio_log_wealth(y, 0.5, anchor_weight=0.0, bets=[0.002])
    expected = math.fsum(np.log1p(0.002 * (y - 0.5)))
    assert path[-1] == pytest.approx(expected, abs=1e-9)


@settings(deadline=None)
@given(width=st.integers(1, 5), cuts=st.lists(st.integers(1, 90), min_size=1, max_size=4), m0=means)
def test_incremental_streams_equal_the_whole_batch(width, cuts, m0):
    """Feeding many streams in pieces, or one by one, gives the path of the whole matrix."""
    y = np.random.default_rng(width).random((width, sum(cuts)))
    streams = PortfolioStreams(m0, width)
    ends = np.cumsum(cuts)
    pieces = [streams.extend(y[:, end - cut : end]) for cut, end in zip(cuts, ends, strict=True)]
    whole = portfolio_log_wealth(y, m0)
    np.testing.assert_allclose(np.hstack(pieces), whole, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(streams.log_wealth, whole[:, -1], rtol=1e-11, atol=1e-11)
    best = np.maximum(whole.max(axis=1), 0.0)
    np.testing.assert_allclose(streams.sup_log_wealth, best, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(streams.p_value, np.exp(-best), rtol=1e-10)
    assert streams.n == y.shape[1]


def test_streams_update_takes_one_observation_of_each():
    """`update` is `extend` by one column."""
    y = np.random.default_rng(3).random((4, 9))
    streams = PortfolioStreams(0.4, 4)
    path = np.stack([streams.update(column) for column in y.T], axis=1)
    np.testing.assert_allclose(path, portfolio_log_wealth(y, 0.4), rtol=1e-12, atol=1e-12)
    with pytest.raises(EvidenceError, match=r"allowed shape \(4, steps\); got shape \(3, 1\)"):
        streams.update([0.1, 0.2, 0.3])


def test_streams_keep_no_past():
    """The arrays of 100 streams hold the same bytes after 1 and after 1,000 observations."""

    def held(streams):
        state = vars(vars(streams)["_streams"])
        return sum(part.nbytes for part in state.values() if isinstance(part, np.ndarray))

    y = np.random.default_rng(0).random((100, 1000))
    streams = PortfolioStreams(0.5, 100)
    streams.extend(y[:, :1])
    before = held(streams)
    streams.extend(y[:, 1:])
    assert held(streams) == before
    assert before < 100 * 8 * 40


@pytest.mark.parametrize(
    ("y", "shown"),
    [
        ([0.5, float("nan"), 2.0], "nan at index 1"),
        ([0.5, 0.5, 1.5], "1.5 at index 2"),
        ([-1e-12, 0.5], "-1e-12 at index 0"),
        ([0, 1, 2], "2.0 at index 2"),
        ([0.5, None], "None at index 1"),
        (np.array([0.5, "bad"], dtype=object), "'bad' at index 1"),
        ([0.5, "0.5"], "'0.5' at index 1"),
        ([[0.5, 0.5], [0.5, 7.0]], "7.0 at index (1, 1)"),
        ([0.5, 1j], "1j at index 1"),
        ([float("inf")], "inf at index 0"),
        ([], "no values"),
        ([[0.5], [0.5, 0.5]], "rows of different lengths"),
    ],
)
def test_bad_observations_are_named(y, shown):
    """Missing, out-of-range and non-numeric values are refused with index and value."""
    with pytest.raises(EvidenceError) as refused:
        portfolio_log_wealth(y, 0.5)
    assert f"got {shown}." in str(refused.value)


def test_the_refusal_reads_in_full():
    """The message says which, allowed, got and next."""
    with pytest.raises(EvidenceError) as refused:
        portfolio_log_wealth([0.2, 1.2], 0.5)
    assert str(refused.value) == (
        "y: allowed numbers in [0, 1]; got 1.2 at index 1. "
        "Rescale or repair the values; they are never clipped."
    )


@pytest.mark.parametrize("bad", [float("nan"), 1.0000001, -0.1, None, "1", np.ones(2), 2])
def test_update_refuses_and_keeps_its_state(bad):
    """A refused observation changes nothing, and the next good one continues."""
    _, process = streamed([0.9, 0.8, 0.7], 0.5)
    before = process.snapshot()
    with pytest.raises(EvidenceError, match="at index 3"):
        process.update(bad)
    assert process.snapshot() == before


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.bool_, np.float32, object])
def test_pass_fail_dtypes_give_one_answer(dtype):
    """0/1 data count the same whatever the dtype that carries them."""
    y = np.array([0, 1, 1, 0, 1, 1, 1, 1]).astype(dtype)
    np.testing.assert_array_equal(
        portfolio_log_wealth(y, 0.5), portfolio_log_wealth(y.astype(float), 0.5)
    )
    np.testing.assert_allclose(streamed(y, 0.5)[0], portfolio_log_wealth(y, 0.5), atol=1e-13)


@pytest.mark.parametrize(
    "bad",
    [
        {"m0": 0.0},
        {"m0": 1.0},
        {"m0": float("nan")},
        {"m0": 0.5, "c": 1.0},
        {"m0": 0.5, "anchor_weight": 1.1},
        {"m0": 0.5, "v_min": 0.0},
        {"m0": 0.5, "n_min": 0},
        {"m0": 0.5, "n_min": 2.5},
        {"m0": 0.5, "bets": "cubic"},
        {"m0": 0.5, "bets": [1.9]},
        {"m0": 0.5, "bets": [-0.1]},
        {"m0": 0.5, "tail": "both"},
    ],
)
def test_parameters_outside_their_domain_are_refused(bad):
    """Each parameter has its domain, in the scalar and in the batch form."""
    with pytest.raises(InvalidValue):
        PortfolioEProcess(**bad)
    with pytest.raises(InvalidValue):
        portfolio_log_wealth([0.5], **bad)


def test_zero_mean_is_refused_in_words():
    """m0 = 0 would make the bet unbounded."""
    with pytest.raises(InvalidValue) as refused:
        PortfolioEProcess(0)
    assert str(refused.value) == (
        "m0: allowed a number strictly between 0 and 1; got 0. Choose a value inside (0, 1)."
    )


def test_evidence_prints_what_it_supports():
    """The printed process names its null, its numbers and the claim of its sampling contract."""
    process = PortfolioEProcess(
        0.5, anchor_weight=0.0, bets=[0.5], contract=SamplingContract.FIXED_HOLDOUT
    ).update(1)
    assert repr(process) == (
        "PortfolioEProcess(H0: mean <= 0.5, n=1, log_wealth=0.2231, p_value=0.8; fixed_holdout: "
        "Audit account only: a finite holdout read without replacement gives no sequential error "
        "bound, and repeated gates on it wear it out.)"
    )
    restored = PortfolioEProcess.restore(process.snapshot())
    assert restored.claim == SamplingContract.FIXED_HOLDOUT.claim


def test_wealth_before_the_first_observation_is_one():
    """K_0 = 1: log wealth 0 and p-value 1."""
    process = PortfolioEProcess(0.3)
    assert (process.log_wealth, process.sup_log_wealth, process.p_value, process.n) == (0, 0, 1, 0)
