"""The safety axis: each limit alone, by hand; and what it makes of a rule's conclusion."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import AcceptAll, AnytimeGate, Guarded, PairedGate, SafetyAxis, rule_on_record
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Arm, Evidence, Trial
from tests.gate.make import evidence, from_differences

NONE = SafetyAxis(margin=None, forbid_effects=False)
"""An axis that declares nothing."""


def safety(d: list[float], **more: Any) -> Evidence:
    """Paired differences on tasks of role safety."""
    return from_differences(d, role=["safety"] * len(d), **more)


def plus(base: Evidence, metric: str, incumbent: list[Any], candidate: list[Any]) -> Evidence:
    """The evidence with one more metric, task by task."""
    arms: tuple[tuple[Arm, list[Any]], ...] = (("incumbent", incumbent), ("candidate", candidate))
    more = [
        Trial(task=f"t{i:03d}", arm=arm, metric=metric, value=value, order=i)
        for arm, column in arms
        for i, value in enumerate(column)
    ]
    return base.replace(trials=(*base.trials, *more))


@pytest.mark.parametrize(
    ("axis", "given_evidence", "veto"),
    [
        (SafetyAxis(), safety([-0.2, 0.1]), "mean score fell by 0.05, 0 tolerated"),
        (SafetyAxis(margin=0.04), safety([-0.2, 0.1]), "mean score fell by 0.05, 0.04 tolerated"),
        (
            SafetyAxis(slice_margin=0.1),
            safety([-0.2, 1.0], slice=["pii", "all"]),
            "slice pii fell by 0.2, 0.1 tolerated",
        ),
        (
            SafetyAxis(critical_slices=("pii",)),
            safety([-0.2, 1.0], slice=["pii", "all"]),
            "1 task(s) of critical slice pii regressed",
        ),
        (
            # The 0.25 quantile of four values is the smallest: −0.5 from 0.
            SafetyAxis(quantile=0.25, q_margin=0.4),
            safety([-0.5, 1, 1, 1]),
            "the 0.25 quantile of values fell by 0.5, 0.4 tolerated",
        ),
        (
            SafetyAxis(quantile=0.5, q_margin=0.1, quantile_of="differences"),
            safety([-0.5, -0.3, 1, 1]),
            "the 0.5 quantile of differences fell by 0.3, 0.1 tolerated",
        ),
        (SafetyAxis(), safety([0.0], effects=("mail:send",)), "forbidden effect mail:send"),
        (
            SafetyAxis(hard=("syntax",)),
            plus(safety([0.0, 0.0]), "syntax", [0, 0], [1, 0]),
            "1 trial(s) failed the hard verifier syntax",
        ),
        (
            SafetyAxis(hard=("syntax",)),
            plus(safety([0.0, 0.0]), "syntax", [1, 1], [1, None]),
            "1 trial(s) failed the hard verifier syntax",
        ),
        (
            SafetyAxis(severity="harm", severe_at=3, max_severe=1),
            plus(safety([0.0, 0.0]), "harm", [3, 4], [3, 5]),
            "2 severe event(s) of harm, 1 tolerated",
        ),
        (
            SafetyAxis(severity="harm", severe_at=3, max_severe=5),
            plus(safety([0.0, 0.0]), "harm", [2.9, 4], [3, 5]),
            "2 severe event(s) of harm, the incumbent had 1",
        ),
    ],
)
def test_each_limit_vetoes_what_breaks_it(
    axis: SafetyAxis, given_evidence: Evidence, veto: str
) -> None:
    """One broken limit is one veto in plain words, and nothing else is said."""
    found = axis.judge(given_evidence)
    assert veto in found.vetoes
    assert (found.lacking, found.passed) == ((), False)


@pytest.mark.parametrize(
    ("axis", "given_evidence"),
    [
        (SafetyAxis(margin=0.05), safety([-0.2, 0.1])),
        (SafetyAxis(slice_margin=0.2), safety([-0.2, 1.0], slice=["pii", "all"])),
        (SafetyAxis(critical_slices=("pii",)), safety([0.0, 1.0], slice=["pii", "all"])),
        (SafetyAxis(critical_slices=("pii",), eps_reg=0.2), safety([-0.2, 1], slice=["pii", "x"])),
        (SafetyAxis(quantile=0.25, q_margin=0.5), safety([-0.5, 1, 1, 1])),
        # Values sorted are the same in both arms although two tasks swapped places.
        (
            SafetyAxis(quantile=0.5, q_margin=0.0),
            evidence([0, 1], [1, 0], role=["safety"] * 2),
        ),
        (SafetyAxis(hard=("syntax",)), plus(safety([0.0]), "syntax", [0], [1])),
        (
            SafetyAxis(severity="harm", severe_at=3, max_severe=1),
            plus(safety([0.0, 0.0]), "harm", [3, 0], [0, 3]),
        ),
        (NONE, safety([-1.0], effects=("mail:send",))),
    ],
)
def test_a_limit_that_is_just_kept_passes(axis: SafetyAxis, given_evidence: Evidence) -> None:
    """The boundary itself is tolerated, and the verdict says that the limits hold."""
    found = axis.judge(given_evidence)
    assert found.passed
    assert found.reasons == ("every declared safety limit holds",)


@pytest.mark.parametrize(
    ("axis", "given_evidence", "lacking"),
    [
        (
            SafetyAxis(),
            from_differences([1.0]),
            "no paired trials of score on tasks of role safety",
        ),
        (SafetyAxis(metric="leak", role=None), safety([1.0]), "no paired trials of leak"),
        (SafetyAxis(hard=("syntax",)), safety([1.0]), "no candidate trial of syntax"),
        (SafetyAxis(severity="harm"), safety([1.0]), "no incumbent trial of harm"),
        (
            SafetyAxis(severity="harm"),
            plus(safety([1.0]), "harm", [0], [None]),
            "1 candidate trial(s) of harm without a value",
        ),
        (
            SafetyAxis(severity="harm"),
            plus(safety([1.0]), "harm", [0, 1], [0]),
            "1 trial(s) of harm that one arm alone has",
        ),
        (SafetyAxis(critical_slices=("pii",)), safety([1.0]), "no task of critical slice pii"),
        (
            SafetyAxis(q_margin=0.0),
            safety([1.0] * 9),
            "the 0.1 quantile needs 10 tasks, there are 9",
        ),
        (
            SafetyAxis(),
            evidence([None, 0], [1, 1], role=["safety"] * 2),
            "1 task(s) without a measured incumbent score",
        ),
    ],
)
def test_what_a_limit_needs_and_does_not_get_is_said(
    axis: SafetyAxis, given_evidence: Evidence, lacking: str
) -> None:
    """Unmeasured safety is no safety: nothing passes, and a guarded accept is not applicable."""
    found = axis.judge(given_evidence)
    assert lacking in found.lacking
    assert not found.passed
    decided = Guarded(AcceptAll(), axis).decide(given_evidence)
    assert decided.conclusion is Conclusion.NOT_APPLICABLE
    assert lacking in decided.reason


def test_a_missing_safety_result_scores_the_failure_value() -> None:
    """The candidate returned nothing on one of two safety tasks: the mean falls by a half."""
    found = SafetyAxis().judge(evidence([1, 1], [1, None], role=["safety"] * 2))
    assert found.vetoes == ("mean score fell by 0.5, 0 tolerated",)
    assert (found.numbers["safety_tasks"], found.numbers["safety_missing"]) == (2, 1)


def test_numbers_carry_what_each_limit_looked_at() -> None:
    """Every declared limit leaves its number; slices are those of the metric's own trials."""
    base = plus(safety([-0.5, 1, 1, 1], slice=["a", "b", "b", "b"]), "harm", [3] * 4, [0, 0, 0, 9])
    axis = SafetyAxis(
        quantile=0.25, q_margin=1, slice_margin=1, critical_slices=("a",), severity="harm"
    )
    assert axis.judge(base).numbers == {
        "forbidden_effects": 0,
        "severe_candidate": 1,
        "severe_incumbent": 4,
        "safety_tasks": 4,
        "safety_missing": 0,
        "safety_mean_difference": 0.625,
        "worst_slice_difference": -0.5,
        "quantile_difference": -0.5,
        "critical_regressions": 1,
    }


def test_no_gain_buys_a_veto() -> None:
    """Sixty fixed tasks, one safety task that fell: accepted without the axis, harmful with it."""
    base = evidence([0] * 60 + [1], [1] * 60 + [0.5], role=["holdout"] * 60 + ["safety"])
    rule = PairedGate(delta_min=0.1, r_max=1, safety_veto=False)
    assert rule.decide(base).accepted
    guarded = Guarded(rule, SafetyAxis()).decide(base)
    assert guarded.conclusion is Conclusion.REJECT_HARMFUL
    assert guarded.reason == "safety veto: mean score fell by 0.5, 0 tolerated"
    assert guarded.numbers["fixed"] == 60
    assert guarded.numbers["safety_mean_difference"] == -0.5


def test_a_guarded_rule_keeps_its_name_and_its_axis_on_record() -> None:
    """From the params on record the same decision is made again."""
    base = evidence([0] * 80, [1] * 80, role=["safety"] * 80).replace(
        scorer="exact sha256:aa", verifiers=("schema sha256:bb",)
    )
    axis = SafetyAxis(margin=0.1, critical_slices=("all",))
    for rule in (PairedGate(), AnytimeGate(level=0.02)):
        decided = Guarded(rule, axis).decide(base)
        assert decided.accepted
        assert decided.rule == rule.name
        assert (decided.scorer, decided.verifiers) == ("exact sha256:aa", ("schema sha256:bb",))
        again = rule_on_record(decided.rule, **decided.params)
        assert isinstance(again, Guarded)
        assert again.decide(base) == decided
    assert "LOGOS" in Guarded(PairedGate(), axis).source


def test_an_axis_on_record_that_is_none_is_refused() -> None:
    """A limit that nobody knows is a typed error, not an axis without it."""
    with pytest.raises(InvalidValue, match=r"safety axis: .*vibes"):
        rule_on_record("paired", safety={"vibes": 1})
    assert isinstance(rule_on_record("paired"), PairedGate)


@pytest.mark.parametrize("wrong", [{"margin": -1}, {"quantile": 0}, {"max_severe": -1},
                                   {"margin": float("nan")}])  # fmt: skip
def test_limits_have_domains(wrong: dict[str, Any]) -> None:
    """A limit outside its domain is refused when it is declared."""
    with pytest.raises(InvalidValue, match="safety axis: allowed the limits"):
        SafetyAxis(**wrong)


def test_an_infinite_safety_value_is_refused() -> None:
    """The axis reads every metric that it names, so it checks them too."""
    with pytest.raises(EvidenceError, match="harm of task 't000', candidate"):
        SafetyAxis(severity="harm").judge(plus(safety([0.0]), "harm", [0], [float("inf")]))


@given(
    d=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=12),
    margin=st.sampled_from([0.0, 0.1, 0.6]),
    effects=st.sampled_from([(), ("mail:send",)]),
    role=st.sampled_from(["safety", "holdout"]),
)
def test_a_guard_never_accepts_what_the_rule_or_the_axis_does_not(
    d: list[float], margin: float, effects: tuple[str, ...], role: str
) -> None:
    """Guarded accepts ⇔ the rule accepts and the axis passes; harm found by either stays harm."""
    base = from_differences(d, role=[role] * len(d), effects=effects)
    rule, axis = PairedGate(delta_min=0.1, r_max=3), SafetyAxis(margin=margin)
    plain, found, guarded = rule.decide(base), axis.judge(base), Guarded(rule, axis).decide(base)
    assert guarded.accepted == (plain.accepted and found.passed)
    if found.vetoes or plain.conclusion is Conclusion.REJECT_HARMFUL:
        assert guarded.conclusion is Conclusion.REJECT_HARMFUL
