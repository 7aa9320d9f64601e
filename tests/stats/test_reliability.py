"""pass@k, pass^k, calibration and callability by hand and by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.stats import (
    AdoptionStreams,
    Callability,
    CallabilityTest,
    SamplingContract,
    adoption_p_values,
    ask_threshold,
    brier,
    certify,
    decay_curve,
    expected_calibration_error,
    hierarchical_bootstrap,
    isotonic,
    kl_ucb,
    pass_at_k,
    pass_hat_k,
    reliability_curve,
    three_splits,
    variance_components,
)


@pytest.mark.parametrize(("c", "n", "k"), [(0, 5, 2), (2, 5, 2), (4, 5, 3), (5, 5, 5), (1, 6, 6)])
def test_pass_estimators_enumerate_all_subsets(c, n, k):
    """The share of k-subsets of n trials with any, and with only, successes."""
    trials = [1] * c + [0] * (n - c)
    subsets = list(combinations(trials, k))
    assert pass_at_k(c, n, k) == pytest.approx(sum(max(s) for s in subsets) / len(subsets))
    assert pass_hat_k(c, n, k) == pytest.approx(sum(min(s) for s in subsets) / len(subsets))


def test_pass_hat_k_refuses_too_few_trials():
    """k above a task's trials is refused with the numbers."""
    with pytest.raises(EvidenceError) as refused:
        pass_hat_k([1, 2], [4, 2], 3)
    assert str(refused.value) == (
        "k: allowed k at most the number of trials of every task; "
        "got k=3 with a task of 2 trials. Lower k or run more trials."
    )


def test_decay_curve_falls_and_holds_its_mean():
    """Means over tasks of C(c,k)/C(4,k): (1 + ½ + 0)/3, (1 + 1/6)/3, 1/3, 1/3."""
    curve = decay_curve([4, 2, 0], [4, 4, 4], 4, rng=np.random.default_rng(0))
    assert curve.mean == pytest.approx([0.5, 7 / 18, 1 / 3, 1 / 3])
    assert (curve.low <= curve.mean).all()
    assert (curve.mean <= curve.high).all()


def test_variance_components_by_hand():
    """Rows (0, 1) and (1, 1): means ½ and 1, within (½ + 0)/2 = ¼, s² = ⅛, between 0."""
    got = variance_components([[0, 1], [1, 1]])
    assert got == pytest.approx((0.75, 0.0, 0.25, 0.25))
    apart = variance_components([[0, 0.2], [1, 1.2]])
    assert apart.between_tasks == pytest.approx(0.5 - 0.02 / 2)


def test_hierarchical_interval_is_wider_than_trials_alone():
    """Tasks that differ much: drawing tasks first gives about the spread of task means."""
    gen = np.random.default_rng(2)
    table = (gen.random((30, 8)) < gen.random((30, 1))) * 1.0
    mean, low, high = hierarchical_bootstrap(table, rng=np.random.default_rng(3))
    error = variance_components(table).standard_error
    assert low < mean < high
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1.0, abs=0.25)


def test_isotonic_matches_reference(reference):
    """Weighted and unweighted pooled values as exact fractions."""
    table = reference["pav"]
    weighted = [float(Fraction(x)) for x in table["weighted"]]
    assert isotonic(table["y"], table["w"]) == pytest.approx(weighted, abs=1e-14)
    plain = [float(Fraction(x)) for x in table["unweighted"]]
    assert isotonic(table["y"]) == pytest.approx(plain, abs=1e-14)
    with pytest.raises(EvidenceError, match="positive weights"):
        isotonic([0.1, 0.2], [1, 0])


def test_ask_threshold_is_the_lowest_that_keeps_the_bound():
    """90 right answers at .9, ten wrong at .3: only .9 keeps the error bound under 10 %."""
    confidence, wrong = np.r_[np.full(90, 0.9), np.full(10, 0.3)], np.r_[np.zeros(90), np.ones(10)]
    got = ask_threshold(confidence, wrong, 0.1)
    assert (got.value, got.n, got.label) == (0.9, 90, "heuristic")
    assert got.error_bound == pytest.approx(1 - 0.05 ** (1 / 90))
    assert ask_threshold(confidence, wrong, 0.01).value is None
    loose = ask_threshold(confidence, wrong, 0.3)
    assert (loose.value, loose.n) == (0.3, 100)
    assert loose.error_bound == pytest.approx(float(kl_ucb(0.1, 100, 0.05)))


def test_a_threshold_is_certified_on_its_own_split():
    """Certified only when fresh answers keep the bound; with none above it, nothing is said."""
    assert certify(0.5, np.full(90, 0.9), np.zeros(90), 0.1).label == "certified"
    assert certify(0.5, np.full(20, 0.9), np.zeros(20), 0.1).label == "heuristic"
    assert certify(0.95, np.full(90, 0.9), np.zeros(90), 0.1).value is None
    parts = three_splits(10, rng=np.random.default_rng(0))
    assert sorted(np.concatenate(parts).tolist()) == list(range(10))


def test_calibration_scores_by_hand():
    """Two bins: stated .2 saw 0, stated .8 saw ½. Brier (.04 + .04 + .64)/3, ECE (.2 + 2·.3)/3."""
    confidence, correct = [0.2, 0.8, 0.8], [0, 1, 0]
    curve = reliability_curve(confidence, correct, 2)
    assert curve.confidence == pytest.approx([0.2, 0.8])
    assert curve.accuracy == pytest.approx([0.0, 0.5])
    assert curve.n.tolist() == [1, 2]
    assert brier(confidence, correct) == pytest.approx(0.72 / 3)
    assert expected_calibration_error(confidence, correct, 2) == pytest.approx(0.8 / 3)


@pytest.mark.parametrize(
    ("stream", "verdict"),
    [
        ([1] * 60, Callability.SUPPORTED),
        ([0] * 60, Callability.REFUTED),
        ([1, 0] * 20, Callability.UNDECIDED),
        ([1] * 60 + [0] * 400, Callability.CONFLICT),
    ],
)
def test_callability_verdicts(stream, verdict):
    """All passes support, all failures refute, a mix decides nothing, a reversal conflicts."""
    test = CallabilityTest(0.5, 0.1, 0.05, contract=SamplingContract.WITH_REPLACEMENT)
    for y in stream:
        test.update(y)
    assert test.verdict is verdict
    assert test.claim == SamplingContract.WITH_REPLACEMENT.claim
    assert test.threshold == pytest.approx(math.log(40))


def test_callability_slack_stays_below_the_bar():
    """A slack as large as the bar leaves no downward test."""
    with pytest.raises(InvalidValue, match=r"from 0 to below p_star = 0\.3"):
        CallabilityTest(0.3, 0.3)


def test_adoption_streams_equal_the_batch_form():
    """Composite p = max(p_gain, p_reg) at every step, streaming and batch."""
    d = np.random.default_rng(4).choice([-1.0, 0.0, 1.0], p=[0.02, 0.7, 0.28], size=(3, 120))
    batch = adoption_p_values(d, delta_min=0.05, rho_max=0.1)
    for row, composite in zip(d, batch.composite, strict=True):
        streams = AdoptionStreams(0.05, 0.0, 0.1)
        path = [streams.update(value).p_value for value in row]
        np.testing.assert_allclose(path, composite, rtol=1e-9)
    assert (batch.composite == np.maximum(batch.gain, batch.reg)).all()


def test_a_clear_improvement_passes_and_a_clear_loss_is_harmful():
    """Forty gains accept at 1 % with ρ_max = .2; twenty losses are harmful; both is a conflict."""
    good = AdoptionStreams(rho_max=0.2)
    for _ in range(40):
        good.update(1.0)
    assert good.accepts(0.01)
    assert not good.harmful(0.01)
    bad = AdoptionStreams()
    for _ in range(20):
        bad.update(-1.0)
    assert bad.harmful(0.01)
    assert not bad.accepts(0.5)
    for _ in range(400):
        good.update(-1.0)
    assert good.conflict(0.01)
    assert good.n == 440


def test_a_hard_veto_ends_it():
    """After a veto the composite p-value is 1 and nothing is accepted."""
    streams = AdoptionStreams(rho_max=0.2)
    for _ in range(60):
        streams.update(1.0)
    assert streams.accepts(0.01)
    assert streams.veto().p_value == 1.0
    assert not streams.accepts(0.99)
    assert streams.log_e == -math.inf


def test_safety_is_observed_exactly_when_it_has_a_limit():
    """A safety limit needs an observation on every task and adds its own p-value."""
    with pytest.raises(EvidenceError, match="exactly when safety_max was given"):
        AdoptionStreams(safety_max=0.1).update(0.5)
    with pytest.raises(EvidenceError, match="exactly when safety_max was given"):
        AdoptionStreams().update(0.5, violation=False)
    streams = AdoptionStreams(rho_max=0.2, safety_max=0.02)
    for _ in range(60):
        streams.update(1.0, violation=False)
    assert streams.p_value == streams.safety.p_value > streams.gain.p_value


@pytest.mark.parametrize(
    "bad", [{"delta_min": 1.0}, {"eps_reg": -0.1}, {"rho_max": 0.0}, {"safety_max": 1.0}]
)
def test_adoption_limits_have_domains(bad):
    """Limits off their scale are refused; a difference outside [−1, 1] is named."""
    with pytest.raises(InvalidValue):
        AdoptionStreams(**bad)
    with pytest.raises(
        EvidenceError, match=r"d: allowed numbers in \[-1, 1\]; got 1\.5 at index 0"
    ):
        AdoptionStreams().update(1.5)
