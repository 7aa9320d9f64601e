"""The fixed paired gate against numbers worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import PairedGate
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.make import evidence, from_differences, swapped

halves = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=25)


def test_one_fixed_task_of_four_reaches_one_over_n() -> None:
    """Scores 0011 → 1011 gain 1/4 with no regression: δ_min = 1/4 is met exactly."""
    decided = PairedGate().decide(evidence([0, 0, 1, 1], [1, 0, 1, 1]))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.reason == "mean gain 0.25 reaches delta_min 0.25 with 0 regressed task(s)"
    assert decided.numbers == {
        "mean_difference": 0.25, "delta_min": 0.25, "regressions": 0, "fixed": 1,
        "largest_loss": 0.0, "missing": 0, "tasks": 4,
    }  # fmt: skip
    assert decided.path["difference"] == (1.0, 0.0, 0.0, 0.0)


def test_a_regression_rejects_until_it_is_budgeted() -> None:
    """0011 → 1101: +2 −1 over 4 gains 1/4, yet one task regressed; R_max = 1 accepts it."""
    mixed = evidence([0, 0, 1, 1], [1, 1, 0, 1])
    assert PairedGate().decide(mixed).conclusion is Conclusion.REJECT_HARMFUL
    assert PairedGate().decide(mixed).reason == "1 regressed task(s), 0 tolerated"
    assert PairedGate(r_max=1).decide(mixed).conclusion is Conclusion.ACCEPT
    assert (
        PairedGate(r_max=1, max_rate=0.2).decide(mixed).reason
        == "1 of 4 tasks regressed, a share of 0.2 tolerated"
    )


def test_a_tie_is_non_regressing_and_not_accepted() -> None:
    """No task changes: even δ_min = 0 does not accept, because nothing was fixed."""
    decided = PairedGate(delta_min=0.0).decide(evidence([0, 1, 1], [0, 1, 1]))
    assert decided.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert decided.reason == "non-regressing: no task improved and none fell"


def test_a_gain_below_the_margin_is_insufficient() -> None:
    """+0.5 on one of four tasks is 0.125, below 0.2."""
    decided = PairedGate(delta_min=0.2).decide(from_differences([0.5, 0, 0, 0]))
    assert decided.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert decided.reason == "mean gain 0.125 is below delta_min 0.2"


def test_a_missing_answer_scores_m_fail_and_stays_in_the_denominator() -> None:
    """Candidate fixes one of four and drops one it had: (1 − 1 + 0 + 0)/4 = 0, one regression."""
    decided = PairedGate().decide(evidence([0, 1, 1, 1], [1, None, 1, 1]))
    assert decided.numbers["mean_difference"] == 0.0
    assert decided.numbers["missing"] == 1
    assert decided.conclusion is Conclusion.REJECT_HARMFUL


def test_a_task_that_only_one_arm_ran_counts_as_failed_by_the_other() -> None:
    """Incumbent scores 1 on a task that the candidate never ran: d = −1."""
    trials = (
        Trial(task="a", arm="incumbent", value=0),
        Trial(task="a", arm="candidate", value=1),
        Trial(task="b", arm="incumbent", value=1, order=1),
    )
    assert PairedGate().decide(Evidence(trials=trials)).path["difference"] == (1.0, -1.0)


def test_replicates_are_averaged_before_they_are_judged() -> None:
    """Incumbent (.1+.2)/2 and candidate .15 are equal up to rounding: no regression."""
    values = {"incumbent": (0.1, 0.2), "candidate": (0.15, 0.15)}
    trials = tuple(
        Trial(task="a", arm=arm, value=v, replicate=b)
        for arm, pair in values.items()
        for b, v in enumerate(pair)
    )
    assert PairedGate(delta_min=0.0).decide(Evidence(trials=trials)).numbers["regressions"] == 0


def test_continuous_scores_need_a_declared_effect() -> None:
    """A score of 0.5 is no task, so 1/n has no meaning and the rule does not apply."""
    decided = PairedGate().decide(evidence([0.5, 0], [1, 0]))
    assert decided.conclusion is Conclusion.NOT_APPLICABLE
    assert decided.reason == (
        "score takes values other than 0 and 1, so one task is no unit of gain. "
        "Declare delta_min, the least practical effect in units of the metric."
    )


def test_vetoes_override_utility() -> None:
    """A forbidden effect, a safety task or a critical slice outweighs nine fixed tasks."""
    gain = evidence([0] * 9 + [1], [1] * 10, effects=("submit:external_side_effect",))
    assert PairedGate().decide(gain).reason == "forbidden effect submit:external_side_effect"
    assert PairedGate(safety_veto=False).decide(gain).conclusion is Conclusion.ACCEPT
    loss = ([0] * 9 + [1], [1] * 9 + [0])
    safety = evidence(*loss, role=["holdout"] * 9 + ["safety"])
    assert PairedGate(r_max=1).decide(safety).reason == "a safety task regressed"
    vendor = evidence(*loss, slice=["all"] * 9 + ["payroll"])
    assert PairedGate(r_max=1, critical_slices=("payroll",)).decide(vendor).reason == (
        "critical slice payroll regressed"
    )


def test_a_large_single_loss_cannot_hide_behind_small_gains() -> None:
    """Nine gains of .2 outweigh a loss of .8 in the mean (.1), not with max_task_loss .5."""
    d = from_differences([0.2] * 9 + [-0.8])
    assert PairedGate(delta_min=0.05, r_max=1).decide(d).conclusion is Conclusion.ACCEPT
    assert PairedGate(delta_min=0.05, r_max=1, max_task_loss=0.5).decide(d).reason == (
        "one task lost 0.8, 0.5 tolerated"
    )


def test_a_missing_arm_is_not_applicable_and_a_bad_number_is_refused() -> None:
    """Evidence that cannot be judged never becomes an accept."""
    alone = Evidence(trials=(Trial(task="a", arm="candidate", value=1),))
    assert PairedGate().decide(alone).conclusion is Conclusion.NOT_APPLICABLE
    with pytest.raises(EvidenceError) as caught:
        PairedGate().decide(evidence([0], [float("nan")]))
    assert str(caught.value) == (
        "score of task 't000', candidate: allowed a finite number up to 1e+100, or None when "
        "nothing came back; got nan. Correct the scorer, or record the trial as None."
    )


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta_min": -0.1},
        {"delta_min": float("nan")},
        {"eps_reg": -1},
        {"r_max": -1},
        {"r_max": 0.5},
        {"max_rate": 2},
        {"max_task_loss": 0},
        {"m_fail": float("inf")},
    ],
)
def test_parameters_outside_their_domain_are_refused(wrong: dict[str, float]) -> None:
    """No gate can be built that would accept on a nonsensical bound."""
    with pytest.raises(InvalidValue):
        PairedGate(**wrong)  # type: ignore[arg-type]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=25), st.randoms(use_true_random=False))
def test_order_does_not_matter(d: list[float], random: object) -> None:
    """Shuffling the tasks changes neither the conclusion nor a number."""
    given_order = from_differences(d)
    trials = list(given_order.trials)
    random.shuffle(trials)  # type: ignore[attr-defined]
    moved = Evidence(
        trials=tuple(t.replace(order=i) for i, t in enumerate(trials)), sampling="shared_pool"
    )
    first, second = (PairedGate(delta_min=0.1, r_max=1).decide(e) for e in (given_order, moved))
    assert (first.conclusion, first.numbers) == (second.conclusion, second.numbers)


@given(halves)
def test_swapping_the_arms_negates_the_mean_and_never_accepts_both(d: list[float]) -> None:
    """If the candidate is accepted over the incumbent, the reverse is harmful."""
    there = PairedGate(delta_min=0.1, r_max=2).decide(from_differences(d))
    back = PairedGate(delta_min=0.1, r_max=2).decide(swapped(from_differences(d)))
    assert there.numbers["mean_difference"] == -(back.numbers["mean_difference"] or 0.0)
    if there.accepted:
        assert back.conclusion is Conclusion.REJECT_HARMFUL
