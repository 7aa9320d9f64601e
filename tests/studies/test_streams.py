"""Candidate streams: what is drawn is what is true, and depends on (seed, candidate) alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from logoslab.errors import InvalidValue
from logoslab.studies.arms import a_a_stream, captured_stream, placebo_stream
from logoslab.studies.streams import CandidateFamily, CandidateStream

SMALL = CandidateStream(candidates=60, tasks=12)
SURE = 1e-7
"""Two-sided chance at which a count contradicts its rate."""


def arrays(drawn):
    """Every array of a draw, by name."""
    batch = drawn.batch
    found = {name: getattr(batch, name) for name in ("incumbent", "candidate", "proxy")}
    found |= {"satisfied": batch.satisfied, "recurrence": batch.recurrence}
    found |= {f"case {k}": getattr(batch.cases, k) for k in ("captured", "control", "candidate")}
    return found | drawn.truth._asdict()


def agrees(hits, rate):
    """Whether a 0/1 array is compatible with a rate, by an exact test."""
    return binomtest(int(np.sum(hits)), np.size(hits), rate).pvalue > SURE


@given(st.integers(0, 2**64 - 1), st.integers(0, 59), st.integers(1, 60))
def test_a_candidate_depends_on_seed_and_number_alone(seed, first, count):
    """Any span of candidates has the same numbers as in the whole stream."""
    last = min(first + count, 60)
    whole, part = arrays(SMALL.draw(seed, 0, 60)), arrays(SMALL.draw(seed, first, last))
    for name, values in part.items():
        np.testing.assert_array_equal(values, whole[name][first:last], err_msg=name)


def test_seeds_differ_and_the_length_of_the_stream_does_not_matter():
    """Another seed gives other scores; more candidates leave the first ones as they were."""
    one, other = SMALL.draw(1, 0, 60), SMALL.draw(2, 0, 60)
    assert (one.batch.incumbent != other.batch.incumbent).any()
    longer = SMALL.replace(candidates=600).draw(1, 0, 60)
    np.testing.assert_array_equal(one.batch.candidate, longer.batch.candidate)


def test_what_is_drawn_is_what_is_true():
    """Rates of every family agree with its description, by exact binomial tests."""
    stream = CandidateStream(candidates=4_000)
    batch, truth = stream.draw(3, 0, 4_000)
    assert agrees(batch.incumbent, stream.base)
    for family in stream.families:
        mine = truth.family == family.name
        d = batch.difference[mine]
        assert agrees(d > 0, family.fixed + stream.noise / 2)
        assert agrees(d < 0, family.broken + stream.noise / 2)
        assert truth.regression_rate[mine] == pytest.approx(family.broken + stream.noise / 2)
        assert agrees(batch.recurrence[mine], family.recurrence)
        assert agrees(batch.satisfied[mine], family.satisfied)
        shown = batch.proxy[mine] - family.effect - family.proxy_bias
        assert abs(shown.mean()) < 5.4 * stream.proxy_noise / np.sqrt(mine.sum())
        assert shown.std() == pytest.approx(stream.proxy_noise, rel=0.2)


def test_every_round_holds_each_family_by_its_weight():
    """Weights 3, 3, 6, 3, 3, 2: of 20 candidates 6 gain, 6 do nothing and 8 harm."""
    labels = CandidateStream(candidates=40).truth(20, 40).label.tolist()
    assert {label: labels.count(label) for label in set(labels)} == {
        "beneficial": 6,
        "neutral": 6,
        "harmful": 8,
    }


@pytest.mark.parametrize(
    ("fixed", "broken", "label"),
    [
        (0.1, 0.05, "beneficial"),
        (0.2, 0.06, "harmful"),
        (0.0, 0.01, "harmful"),
        (0.03, 0.03, "neutral"),
        (0.0, 0.0, "neutral"),
    ],
)
def test_truth_by_hand(fixed, broken, label):
    """With .05 tolerated: more broken tasks are harm whatever the mean, a loss is, a tie is not."""
    family = CandidateFamily(name="it", fixed=fixed, broken=broken)
    assert CandidateStream(families=(family,)).label(family) == label


def test_only_failing_tasks_are_fixed_and_only_passing_ones_broken():
    """Scores stay 0 or 1 at either end of the base rate."""
    harm = CandidateFamily(name="harm", broken=0.5)
    gain = CandidateFamily(name="gain", fixed=0.5)
    for base, family, scores in ((1.0, harm, (1, 0)), (0.0, gain, (0, 1))):
        stream = CandidateStream(families=(family,), base=base, noise=0.0, candidates=50)
        batch = stream.draw(1, 0, 50).batch
        assert set(batch.incumbent.ravel()) == {float(scores[0])}
        assert set(batch.candidate.ravel()) == {0.0, 1.0}


def test_identical_arms_without_noise_are_equal():
    """A/A with no run-to-run flips: no task differs."""
    batch = a_a_stream(SMALL.replace(noise=0.0)).draw(5, 0, 60).batch
    np.testing.assert_array_equal(batch.incumbent, batch.candidate)


def test_a_placebo_is_a_fresh_draw_of_the_same_distribution():
    """At a base rate of .6 each arm succeeds at .6 and 2 · .6 · .4 = .48 of the tasks differ."""
    stream = placebo_stream(CandidateStream(candidates=500))
    batch = stream.draw(7, 0, 500).batch
    assert stream.noise == pytest.approx(0.48)
    assert agrees(batch.incumbent, 0.6)
    assert agrees(batch.candidate, 0.6)
    assert agrees(batch.difference != 0, 0.48)
    independent = batch.candidate[batch.incumbent == 0]
    assert agrees(independent, 0.6)


def test_cases_captured_low_regress_to_the_mean_by_the_amount_worked_out_by_hand():
    """True scores uniform on [.4, 1]: E[a | failed] = (E a − E a²)/(1 − E a) = (.7 − .52)/.3 = .6.

    Captured failures scored 0. Without any change they score .6 when they are run again, and a
    protected case, captured at 1, falls to E a²/E a = .52/.7.
    """
    stream = captured_stream(CandidateStream(candidates=4_000, runs=1))
    cases = stream.draw(11, 0, 4_000).batch.cases
    assert cases.roles == ("failure",) * 3 + ("protected",) * 2
    assert not cases.captured[:, :3].any()
    assert cases.captured[:, 3:].all()
    for rerun in (cases.control, cases.candidate):
        assert agrees(rerun[:, :3], 0.6)
        assert agrees(rerun[:, 3:], 0.52 / 0.7)


def test_cases_taken_unseen_do_not_regress():
    """Without selection captured and rerun scores have one mean, .7."""
    cases = a_a_stream(CandidateStream(candidates=4_000, runs=1)).draw(11, 0, 4_000).batch.cases
    for scores in (cases.captured, cases.control, cases.candidate):
        assert agrees(scores, 0.7)


def test_a_cure_gains_its_share_of_what_is_missing():
    """From .6, a cure of .5 leads to .8 and a spill of −.5 on protected cases to half."""
    family = CandidateFamily(name="it", cure=0.5, spill=-0.5)
    stream = CandidateStream(families=(family,), candidates=4_000, runs=1)
    cases = stream.draw(13, 0, 4_000).batch.cases
    assert agrees(cases.candidate[:, :3], 0.8)
    assert agrees(cases.candidate[:, 3:], 0.26 / 0.7)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CandidateStream(tasks=0),
            "CandidateStream tasks: allowed Input should be greater than or equal to 1; got 0. "
            "Correct the description.",
        ),
        (
            lambda: SMALL.replace(base=0.95),
            "CandidateStream: allowed family large gain with noise fixes 0.17 and "
            "breaks 0.03 of the tasks; a base of 0.95 has room for 0.05 and 0.95; got fields that "
            "do not fit together. Correct the description.",
        ),
        (
            lambda: SMALL.replace(pool=4),
            "CandidateStream: allowed the pool must hold as many sessions as there "
            "are cases; got fields that do not fit together. Correct the description.",
        ),
        (
            lambda: CandidateFamily(name="it", gain=0.1),
            "CandidateFamily gain: allowed the fields name, weight, fixed, broken, proxy_bias, "
            "satisfied, cure, spill, recurrence; got 0.1. Correct the description.",
        ),
        (
            lambda: SMALL.draw(-1, 0, 1),
            "seed of a stream: allowed a whole number from 0 to 2**64 - 1; got -1. "
            "Choose another seed.",
        ),
        (
            lambda: SMALL.draw(0, 3, 61),
            "candidates to draw: allowed 0 <= first < last <= 60; got 3 to 61. "
            "Ask for candidates of the stream.",
        ),
    ],
)
def test_bad_descriptions_are_named(make, message):
    """Which field, what is allowed, what came and what to do."""
    with pytest.raises(InvalidValue) as caught:
        make()
    assert str(caught.value) == message
