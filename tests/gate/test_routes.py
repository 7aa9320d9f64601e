"""LOGOS rules over paired tasks: pass-set containment and the validated route."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.gate.pass_set import PassSet
from logoslab.gate.validated_route import ValidatedRoute
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.make import evidence, from_differences

flags = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=12)


def test_pass_sets_by_hand() -> None:
    """{b, c} ⊂ {a, b, c} is adopted; {a, b} does not contain {b, c}; equal sets add nothing."""
    decided = PassSet().decide(evidence([0, 1, 1], [1, 1, 1]))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.reason == "1 test(s) more: t000; 3 of 3 pass, 2 before"
    traded = PassSet().decide(evidence([0, 1, 1], [1, 1, 0]))
    assert traded.conclusion is Conclusion.REJECT_HARMFUL
    assert traded.reason == "1 test(s) lost: t002; 2 of 3 pass, 2 before"
    same = PassSet().decide(evidence([0, 1, 1], [0, 1, 1]))
    assert same.conclusion is Conclusion.REJECT_INSUFFICIENT


def test_a_test_that_was_not_returned_is_lost() -> None:
    """None is no pass, and half of a test's replicates is no pass either."""
    assert PassSet().decide(evidence([1], [None])).conclusion is Conclusion.REJECT_HARMFUL
    trials = [Trial(task="a", arm="incumbent", value=0)]
    trials += [Trial(task="a", arm="candidate", value=v, replicate=v) for v in (0, 1)]
    flaky = PassSet().decide(Evidence(trials=tuple(trials)))
    assert flaky.conclusion is Conclusion.REJECT_INSUFFICIENT


def test_partial_credit_is_no_pass_set() -> None:
    """A score of 0.5 is neither in nor out: not applicable."""
    decided = PassSet().decide(evidence([0.5], [1]))
    assert decided.conclusion is Conclusion.NOT_APPLICABLE
    assert decided.reason == "score takes values other than 0 and 1"


@given(flags)
def test_adoption_is_strict_containment_of_sets(pairs: list[tuple[bool, bool]]) -> None:
    """Eq. 105 with Python's own sets: adopt ⇔ the old pass set is a proper subset of the new."""
    old = {i for i, (before, _) in enumerate(pairs) if before}
    new = {i for i, (_, after) in enumerate(pairs) if after}
    given_evidence = evidence([float(a) for a, _ in pairs], [float(b) for _, b in pairs])
    assert PassSet().decide(given_evidence).accepted is (old < new)


@pytest.mark.parametrize(
    ("direct", "candidate", "selected"),
    [(99, 96, False), (93, 95, True), (80, 65, False)],
)
def test_the_routes_of_table_12(direct: int, candidate: int, selected: bool) -> None:
    """LOGOS Table 12 on 100 nested tasks: −3 and −15 points stay direct, +2 selects the team."""
    scores = [[float(i < passed) for i in range(100)] for passed in (direct, candidate)]
    assert ValidatedRoute().decide(evidence(*scores)).accepted is selected


def test_the_cap_is_a_share_and_goes_before_the_gain() -> None:
    """Four up and one down of 10 gain .3; a share of .1 is tolerated and .09 is not."""
    d = [1.0] * 4 + [-1.0] + [0.0] * 5
    kept = ValidatedRoute().decide(from_differences(d))
    assert kept.reason == (
        "the candidate route is selected: mean gain 0.3 clears 0.02 with 1 regressed task(s)"
    )
    capped = ValidatedRoute(regression_cap=0.09).decide(from_differences(d))
    assert capped.conclusion is Conclusion.REJECT_HARMFUL
    assert capped.reason == (
        "the direct route stays: 1 of 10 tasks regressed, a share of 0.09 tolerated"
    )


def test_a_gain_below_the_margin_keeps_the_direct_route() -> None:
    """+0.1 on one of ten tasks is 0.01, below 0.02; a fall is named as one."""
    short = ValidatedRoute().decide(from_differences([0.1] + [0.0] * 9))
    assert short.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert short.reason == "the direct route stays: mean gain 0.01 is below the margin 0.02"
    fell = ValidatedRoute().decide(from_differences([-0.1] + [0.0] * 9))
    assert fell.reason == "the direct route stays: the mean fell by 0.01"
    assert "report split" in fell.claim
