"""Levels over a stream of gates: hand arithmetic, published tables, streaming = batch, replay."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.stats import (
    Ledger,
    SamplingContract,
    addis,
    alpha_investing,
    e_lond,
    javanmard_montanari_spending,
    lond,
    lord_plus_plus,
    power_spending,
    saffron,
)

JM = "javanmard_montanari"
p_values = st.lists(
    st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 1e-3), st.just(0.0)), min_size=1, max_size=30
)


def test_lord_levels_by_hand():
    """With γ = ½, ¼, ⅛ and α = .1, w0 = .04: .02, then a discovery, then .04, then .02."""
    # Gate 2: .04·¼ + (.1 − .04)·½ = .04. Gate 3, no discovery at 2: .04·⅛ + .06·¼ = .02.
    got = lord_plus_plus([0.01, 0.5, 0.5], 0.1, 0.04, [0.5, 0.25, 0.125])
    assert got.levels == pytest.approx([0.02, 0.04, 0.02], rel=1e-15)
    assert got.rejections.tolist() == [True, False, False]


def test_second_discovery_pays_alpha():
    """Discoveries at gates 1 and 2 pay .06 and then .1: level 3 is .005 + .015 + .05."""
    got = lord_plus_plus([0.01, 0.04, 0.5], 0.1, 0.04, [0.5, 0.25, 0.125])
    assert got.levels[2] == pytest.approx(0.04 / 8 + 0.06 / 4 + 0.1 / 2, rel=1e-15)


def test_e_lond_levels_by_hand():
    """α = .1 and γ = ½, ¼, ¼: level .05; e = 20 reaches it exactly; then .1·¼·2 twice."""
    got = e_lond([20.0, 19.9, 20.0], 0.1, [0.5, 0.25, 0.25])
    assert got.levels == pytest.approx([0.05, 0.05, 0.05])
    assert got.rejections.tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("name", "decide"),
    [
        ("LORD++ alpha=.05 w0=.005", lambda p, g: lord_plus_plus(p, 0.05, 0.005, JM)),
        ("LORD++ alpha=.1 w0=.05", lambda p, g: lord_plus_plus(p, 0.1, 0.05, JM)),
        ("SAFFRON alpha=.05 w0=.025 lambda=.5", lambda p, g: saffron(p, 0.05, 0.025, g)),
        (
            "SAFFRON alpha=.05 w0=.04 lambda=.25",
            lambda p, g: saffron(p, 0.05, 0.04, g, lam=0.25),
        ),
        ("ADDIS alpha=.05 w0=.025 lambda=.25 tau=.5", lambda p, g: addis(p, 0.05, 0.025, g)),
        ("LOND alpha=.05", lambda p, g: lond(p, 0.05, JM)),
        ("LOND dep alpha=.05", lambda p, g: lond(p, 0.05, JM, dependent=True)),
        ("alpha-investing(GAI) alpha=.05 w0=.025", lambda p, g: alpha_investing(p, 0.05, None, g)),
        (
            "LORD++ alpha=.05 w0=.025 gamma=2^-j",
            lambda p, g: lord_plus_plus(p, 0.05, 0.025, 0.5 ** np.arange(1, 16)),
        ),
    ],
)
def test_levels_match_published_tables(reference, name, decide):
    """The 15-row example: levels to 1e-13, the same rejections (origin: onlineFDR, online-fdr)."""
    table = reference["online_fdr"]
    key = next(k for k in table["values"] if k.startswith(f"{name} / example15"))
    expected = table["values"][key]
    # The tables use 1/ζ(1.6) rounded to ten digits; the same rounding makes levels comparable.
    rounded_power = 0.4374901658 * np.arange(1, 16) ** -1.6
    got = decide(table["example15_p"], rounded_power)
    levels = [float(x) for x in expected["alphai_20digits"]]
    np.testing.assert_allclose(got.levels, levels, rtol=1e-13)
    assert got.rejections.astype(int).tolist() == expected["R"]


def test_e_lond_matches_published_levels(reference):
    """Twelve e-values at α = .1: levels to 1e-13 and the same rejections."""
    expected = reference["e_fdr"]["e-LOND alpha=.1 [R, level]"]
    got = e_lond(reference["e_fdr"]["e_values"], 0.1, JM)
    np.testing.assert_allclose(got.levels, [float(x) for _, x in expected], rtol=1e-13)
    assert got.rejections.astype(int).tolist() == [r for r, _ in expected]


def test_published_lord3_levels_are_not_ours(reference):
    """A widely copied LORD 3 table credits the wrong discovery: gate 7 must not be .00724."""
    table = reference["online_fdr"]
    ours = lord_plus_plus(table["example15_p"], 0.05, 0.005, JM).levels[6]
    assert ours < 0.5 * float(table["LORD3_warning"]["peer_alphai"][6])


def test_spending_shares(reference):
    """The power sequence spends 82.2 % by gate 10 and 1 in all; the other 11.5 % and 97.6 %."""
    shares = reference["online_fdr"]["sum_gamma_JM"]
    assert javanmard_montanari_spending(10).sum() == pytest.approx(shares["first_10"], rel=1e-14)
    assert javanmard_montanari_spending(1000).sum() == pytest.approx(shares["first_1000"])
    assert power_spending(10).sum() == pytest.approx(0.822, abs=5e-4)
    # The tail beyond N of j^-1.6/ζ(1.6) is N^-0.6/(0.6·ζ(1.6)) up to O(N^-1.6).
    n = 100_000
    tail = n**-0.6 / 0.6 * power_spending(1)[0]
    assert power_spending(n).sum() + tail == pytest.approx(1.0, abs=1e-7)


def test_an_all_discovery_stream_stays_below_alpha(reference):
    """The lags are distinct, so 400 discoveries in a row reach .264 of α and no more."""
    levels = lord_plus_plus(np.zeros(400), 0.05, 0.005, JM).levels
    expected = float(reference["online_fdr"]["cap_at_alpha"]["max_alpha_k/alpha"])
    assert levels.max() / 0.05 == pytest.approx(expected, rel=1e-9)


def lord_by_definition(p, alpha, w0, gamma):
    """α_k term by term from the list of discoveries."""
    found, levels = [], []
    for k in range(1, len(p) + 1):
        level = w0 * gamma[k - 1]
        for j, tau in enumerate(found):
            level += (alpha - w0 if j == 0 else alpha) * gamma[k - tau - 1]
        levels.append(min(level, alpha))
        if p[k - 1] <= levels[-1]:
            found.append(k)
    return levels


@settings(deadline=None)
@given(p=p_values, alpha=st.floats(0.01, 0.5), share=st.floats(0.1, 1.0))
def test_scatter_form_equals_the_definition(p, alpha, share):
    """Adding one shifted sequence per discovery gives the levels of the formula."""
    w0 = alpha * share
    got = lord_plus_plus(p, alpha, w0, "power").levels
    expected = lord_by_definition(p, alpha, w0, power_spending(len(p)))
    np.testing.assert_allclose(got, expected, rtol=1e-12)


@settings(deadline=None)
@given(
    p=p_values, method=st.sampled_from(["lord_plus_plus", "saffron", "addis", "alpha_investing"])
)
def test_ledger_levels_equal_the_batch_form(p, method):
    """Opening and recording gate by gate gives the levels and rejections of the whole vector."""
    batch = {
        "lord_plus_plus": lord_plus_plus,
        "saffron": saffron,
        "addis": addis,
        "alpha_investing": alpha_investing,
    }[method](p, 0.1)
    ledger = Ledger(0.1, method=method)
    for number, value in enumerate(p):
        ledger.open(f"gate {number}")
        ledger.record(f"gate {number}", p_value=value)
    np.testing.assert_allclose([e.level for e in ledger.entries], batch.levels, rtol=1e-12)
    assert [e.rejected for e in ledger.entries] == batch.rejections.tolist()


@settings(deadline=None)
@given(e=st.lists(st.floats(0.0, 1e6), min_size=1, max_size=25), method=st.sampled_from(["e_lond"]))
def test_e_lond_ledger_equals_the_batch_form(e, method):
    """The same for e-values, given as logarithms."""
    batch = e_lond(e, 0.1)
    ledger = Ledger(0.1, contract=SamplingContract.SHARED_POOL)
    for number, value in enumerate(e):
        ledger.open(str(number))
        ledger.record(str(number), log_e=math.log(value) if value else -math.inf)
    assert ledger.method == method
    np.testing.assert_allclose([x.level for x in ledger.entries], batch.levels, rtol=1e-12)
    assert [x.rejected for x in ledger.entries] == batch.rejections.tolist()


@settings(deadline=None)
@given(p=p_values)
def test_replay_gives_the_same_ledger(p):
    """A ledger rebuilt from its JSON record has the same entries and the same next level."""
    ledger = Ledger(0.1, gamma=JM)
    for number, value in enumerate(p):
        ledger.open(str(number))
        ledger.record(str(number), p_value=value)
    again = Ledger.replay(json.loads(json.dumps(ledger.to_dict())))
    assert again.entries == ledger.entries
    assert again.next_level == ledger.next_level


@pytest.mark.parametrize(("key", "value"), [("level", 0.5), ("rejected", True), ("p_value", 1e-9)])
def test_replay_refuses_a_changed_record(key, value):
    """Changing a level, a decision or a p-value in the record is noticed."""
    ledger = Ledger(0.1)
    ledger.open("a")
    ledger.record("a", p_value=0.5)
    saved = ledger.to_dict()
    saved["events"][1][key] = value
    with pytest.raises(EvidenceError, match="ledger event of gate a: allowed what the rule gives"):
        Ledger.replay(saved)


def test_a_level_is_fixed_before_its_gate_starts():
    """Recording a gate that was never opened is refused, and so is opening a name twice."""
    ledger = Ledger(0.05)
    with pytest.raises(EvidenceError) as early:
        ledger.record("a", p_value=0.01)
    assert str(early.value) == (
        "gate: allowed a gate that was opened and not yet recorded; got a. "
        "Open the gate before it starts, so that its level is fixed in advance."
    )
    assert ledger.open("a") == ledger.record("a", p_value=0.01).level
    with pytest.raises(EvidenceError, match="a name not used before"):
        ledger.open("a")


def test_overlapping_gates_are_refused_with_a_reason():
    """LORD++ needs the earlier decision; e-LOND lets gates overlap and counts what it knows."""
    ledger = Ledger(0.05)
    ledger.open("a")
    with pytest.raises(EvidenceError) as refused:
        ledger.open("b")
    assert str(refused.value) == (
        "gate: allowed one open gate at a time under lord_plus_plus; got b while a is open. "
        "Record the open gate first, or use e_lond, which lets gates overlap."
    )
    pool = Ledger(0.1, contract=SamplingContract.SHARED_POOL, gamma=[0.5, 0.25, 0.125])
    assert [pool.open("a"), pool.open("b")] == pytest.approx([0.05, 0.025])
    assert pool.record("a", log_e=math.log(20.5)).rejected
    assert pool.open("c") == pytest.approx(0.1 * 0.125 * 2)


def test_dependent_gates_need_e_lond():
    """A p-value rule under a shared pool is refused; the pool's default is e-LOND."""
    with pytest.raises(EvidenceError) as refused:
        Ledger(0.05, method="lord_plus_plus", contract=SamplingContract.SHARED_POOL)
    assert str(refused.value) == (
        "method: allowed e_lond under the contract shared_pool; got lord_plus_plus. "
        "Use e_lond, or draw fresh observations for every gate."
    )
    pool = Ledger(0.05, contract=SamplingContract.SHARED_POOL)
    pool.open("a")
    with pytest.raises(EvidenceError, match="a p-value is not an e-value"):
        pool.record("a", p_value=0.001)
    with pytest.raises(EvidenceError, match="exactly one of the two"):
        pool.record("a")


def test_no_evidence_at_all_stays_plain_json():
    """An e-value of 0 is recorded as a finite logarithm; NaN and infinite wealth are refused."""
    ledger = Ledger(0.05)
    ledger.open("a")
    for bad in (float("nan"), float("inf")):
        with pytest.raises(EvidenceError, match="log_e: allowed a finite number"):
            ledger.record("a", log_e=bad)
    assert ledger.record("a", log_e=-math.inf).log_e == -1e9
    assert Ledger.replay(json.loads(json.dumps(ledger.to_dict(), allow_nan=False))).entries


def test_log_evidence_counts_as_its_inverse():
    """Under LORD++ a crossing of 1/level is a discovery, and e = 1/p gives the same next level."""
    by_e, by_p = Ledger(0.05), Ledger(0.05)
    level = by_e.open("a")
    by_p.open("a")
    assert by_e.record("a", log_e=-math.log(level)).rejected
    assert by_p.record("a", p_value=level).rejected
    assert by_e.next_level == by_p.next_level


def test_the_ledger_explains_its_level():
    """Words, numbers and the same level that `open` gives."""
    ledger = Ledger(0.1, w0=0.04, gamma=[0.5, 0.25, 0.125])
    assert ledger.explain() == (
        "Level 0.02 for gate 1 under lord_plus_plus: "
        "starting wealth 0.04 × share 0.5 = wealth 0.02."
    )
    ledger.open("a")
    ledger.record("a", p_value=0.0)
    assert ledger.explain() == (
        "Level 0.04 for gate 2 under lord_plus_plus: "
        "starting wealth 0.04 × share 0.25 + 0.06 × share 0.5 from discovery 1 = wealth 0.04."
    )
    assert ledger.next_level == pytest.approx(0.04)
    pool = Ledger(0.1, contract=SamplingContract.SHARED_POOL, gamma=[0.5])
    assert pool.explain() == (
        "Level 0.05 for gate 1 under e_lond: alpha 0.1 × share 0.5 × (0 discoveries + 1)."
    )
    assert pool.claim == SamplingContract.SHARED_POOL.claim


@pytest.mark.parametrize(
    "bad",
    [
        {"alpha": 0.0},
        {"alpha": 0.05, "w0": 0.06},
        {"alpha": 0.05, "w0": 0.0},
        {"alpha": 0.05, "gamma": "linear"},
        {"alpha": 0.05, "gamma": [0.7, 0.5]},
        {"alpha": 0.05, "gamma": [0.1, 0.2]},
        {"alpha": 0.05, "gamma": [0.1, -0.2]},
    ],
)
def test_ledger_parameters_are_checked(bad):
    """Batch form and ledger refuse the same parameters."""
    with pytest.raises(InvalidValue):
        lord_plus_plus([0.5], **bad)
    with pytest.raises(InvalidValue):
        Ledger(**bad)


def test_bad_p_and_e_values_are_named():
    """A p-value above 1 and a negative e-value are refused with index and value."""
    with pytest.raises(EvidenceError, match=r"p: allowed numbers in \[0, 1\]; got 1.5 at index 1"):
        saffron([0.5, 1.5], 0.05)
    with pytest.raises(EvidenceError, match=r"numbers in \[0, inf\]; got -2.0 at index 1"):
        e_lond([3.0, -2.0], 0.05)
    with pytest.raises(InvalidValue, match="lam"):
        addis([0.5], 0.05, lam=0.6)


@pytest.mark.parametrize("contract", SamplingContract)
def test_every_contract_states_its_claim(contract):
    """Each contract prints its claim; only a finite holdout read through supports none."""
    assert str(contract) == f"{contract.value}: {contract.claim}"
    assert contract.sequential == (not contract.claim.startswith("Audit account only"))
    assert contract.default_ledger == ("lord_plus_plus" if contract.gates_independent else "e_lond")
    assert Ledger(0.05, contract=contract).method == contract.default_ledger
