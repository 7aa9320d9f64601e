"""The adoption report and the rollout of AgentEvolver."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from logoslab.errors import InvalidValue
from logoslab.gate.adoption import CONSUMER, AdoptionReport
from logoslab.gate.batch import Batch
from logoslab.gate.rollout import Rollout
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.make import evidence

NEW = "candidate"


def report(*values: float | None, **marks: Any) -> list[Trial]:
    """Cases c0, c1… that cite one call each, with a failing baseline."""
    cited = {"component": NEW, "calls": ("call-1",), **marks}
    return [
        trial
        for i, value in enumerate(values)
        for trial in (
            Trial(task=f"c{i}", arm="incumbent", value=0, order=i),
            Trial(task=f"c{i}", arm="candidate", value=value, order=i, **cited),
        )
    ]


def judged(trials: list[Trial], **parameters: Any) -> tuple[Conclusion, str]:
    """Conclusion and reason of the report."""
    decided = AdoptionReport(**parameters).decide(Evidence(trials=tuple(trials), candidate=NEW))
    return decided.conclusion, decided.reason


def test_every_case_must_pass() -> None:
    """One case that passes is enough, one that fails is too many; a lost baseline is harm."""
    assert judged(report(1)) == (
        Conclusion.ACCEPT, "all 1 case(s) pass and cite calls of candidate",
    )  # fmt: skip
    assert judged(report(1, 0)) == (
        Conclusion.REJECT_INSUFFICIENT, "1 case(s) fail, c1 first",
    )  # fmt: skip
    assert judged(report(1, None))[0] is Conclusion.REJECT_INSUFFICIENT
    lost = [t.replace(value=1.0) if t.arm == "incumbent" else t for t in report(0)]
    assert judged(lost) == (Conclusion.REJECT_HARMFUL, "case c0 fails and its baseline passed")


def test_a_report_about_another_version_supports_nothing() -> None:
    """Passing cases of version 1 say nothing of version 2."""
    assert judged(report(1, component="older")) == (
        Conclusion.REJECT_INSUFFICIENT,
        "the report is about another version: case c0 ran older, not candidate",
    )


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        (report(1, calls=()), "1 candidate trial(s) without calls"),
        (report(1, component=None), "1 candidate trial(s) without component"),
        ([t for t in report(1) if t.arm == "candidate"], "no trial of score in arm incumbent"),
        (report(0.5), "score takes values other than 0 and 1"),
    ],
)
def test_a_report_without_its_evidence_is_not_applicable(trials: list[Trial], words: str) -> None:
    """Calls, version, a recorded baseline and a clear verdict are needs, not guesses."""
    assert judged(trials) == (Conclusion.NOT_APPLICABLE, words)


@pytest.mark.parametrize(
    ("order", "value", "component", "accepted"),
    [(9, 1, NEW, True), (0, 1, NEW, False), (9, 0, NEW, False), (9, 1, "older", False)],
)
def test_a_later_consumer_must_succeed_with_this_version(
    order: int, value: float, component: str, accepted: bool
) -> None:
    """Only a later success with this version counts; else it stays undecided."""
    use = Trial(
        task="work", arm="candidate", metric=CONSUMER, value=value, order=order,
        component=component,
    )  # fmt: skip
    conclusion, reason = judged([*report(1), use], consumer=True)
    assert conclusion is (Conclusion.ACCEPT if accepted else Conclusion.UNDECIDED)
    assert ("work later succeeded" in reason) is accepted


# --- rollout ------------------------------------------------------------------------------------

OFF = {"max_latency_ratio": None}


def test_a_clean_canary_of_fifty_is_activated() -> None:
    """Three shadow pairs and fifty canary samples without a failure; at 10 % 503 requests."""
    decided = Rollout(**OFF).decide(evidence([1] * 53, [1] * 53))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.reason == "no regression at any look up to canary sample 50"
    assert decided.tasks == 53
    assert decided.numbers["requests"] == 503


def test_a_shadow_regression_reverts_before_any_canary() -> None:
    """One failure more of three is +.333, above .05."""
    decided = Rollout(**OFF).decide(evidence([1] * 53, [0] + [1] * 52))
    assert decided.conclusion is Conclusion.REJECT_HARMFUL
    assert decided.reason == (
        "reverted at the end of shadow: failure rate changed by +0.333 from the baseline's 3 "
        "samples"
    )
    assert decided.tasks == 3


def test_the_canary_is_looked_at_from_the_tenth_sample_on() -> None:
    """A failure at sample 1 is .1 at sample 10, above .05: reverted there, not earlier."""
    decided = Rollout(**OFF).decide(evidence([1] * 53, [1, 1, 1, 0] + [1] * 49))
    assert decided.reason.startswith("reverted at canary sample 10: failure rate changed by +0.1 ")
    late = Rollout(**OFF).decide(evidence([1] * 53, [1] * 52 + [0]))
    assert late.conclusion is Conclusion.ACCEPT
    # One of 20 is +.05, which is tolerated, but the score's tolerance is .02: 1 of 43 is .0233.
    assert (
        Rollout(**OFF)
        .decide(evidence([1] * 53, [1] * 45 + [0] + [1] * 7))
        .reason.startswith("reverted at canary sample 43: mean score changed by -0.0233 ")
    )


def test_a_rise_of_exactly_the_tolerance_is_tolerated() -> None:
    """With the score's check out of the way, 1 failure of 20 is +.05, and 1 of 19 is above it."""
    wide = Rollout(**OFF, max_score_drop=1.0)
    for sample, accepted in ((20, True), (19, False)):
        new = [1] * 53
        new[3 + sample - 1] = 0
        assert wide.decide(evidence([1] * 53, new)).accepted is accepted


def test_replayed_cases_are_no_traffic() -> None:
    """Three failed replays beside a clean rollout are not read."""
    clean = evidence([1] * 53, [1] * 53)
    replays = [
        Trial(task=f"r{i}", arm="candidate", role="failure", value=0, order=i) for i in range(3)
    ]
    mixed = clean.replace(trials=(*replays, *clean.trials))
    assert Rollout(**OFF).decide(mixed).accepted


def test_too_little_traffic_is_undecided() -> None:
    """Two shadow pairs, and then forty canary samples of fifty."""
    two = Rollout(**OFF).decide(evidence([1, 1], [1, 1]))
    assert (two.conclusion, two.reason) == (
        Conclusion.UNDECIDED, "2 of 3 shadow samples seen",
    )  # fmt: skip
    forty = Rollout(**OFF).decide(evidence([1] * 43, [1] * 43))
    assert (forty.conclusion, forty.reason) == (
        Conclusion.UNDECIDED, "40 of 50 canary samples seen",
    )  # fmt: skip


def timed(old: float, new: float) -> Evidence:
    """Fifty-three perfect tasks with a latency for each arm."""
    seconds = {"incumbent": old, "candidate": new}
    given = evidence([1] * 53, [1] * 53)
    return given.replace(trials=tuple(t.replace(latency=seconds[t.arm]) for t in given.trials))


def test_latency_is_checked_unless_it_is_switched_off() -> None:
    """×1.25 is tolerated and ×1.3 is not; without latencies the default is not applicable."""
    assert Rollout().decide(timed(2.0, 2.5)).accepted
    slow = Rollout().decide(timed(2.0, 2.6))
    assert slow.reason.startswith("reverted at the end of shadow: mean latency changed by +0.6 ")
    assert Rollout(**OFF).decide(timed(2.0, 2.6)).accepted
    silent = Rollout().decide(evidence([1] * 53, [1] * 53))
    assert silent.conclusion is Conclusion.NOT_APPLICABLE
    assert silent.reason == (
        "56 of 56 trials state no latency; set max_latency_ratio to None to judge without it"
    )


def test_a_trial_that_returned_nothing_is_a_failure() -> None:
    """None in the first canary sample is 1 failure of 10, whatever its score counts as."""
    gone = Rollout(**OFF, m_fail=1.0).decide(evidence([1] * 53, [1, 1, 1, None] + [1] * 49))
    assert gone.conclusion is Conclusion.REJECT_HARMFUL


def test_the_first_look_cannot_come_after_the_last() -> None:
    """min_canary 20 with max_canary 10 is refused."""
    with pytest.raises(InvalidValue, match="min_canary no larger than max_canary"):
        Rollout(min_canary=20, max_canary=10)


def test_an_identical_candidate_is_often_reverted() -> None:
    """A/A at a failure rate of .2, fixed seed: activated in 39 % of 4,000 rollouts.

    An independent simulation of the released policy gave .39 (and .28 at a rate of .1).
    """
    rng = np.random.default_rng(11)
    for rate, expected in ((0.2, 0.39), (0.1, 0.28)):
        old, new = (rng.random((2, 4_000, 53)) >= rate).astype(float)
        found = Rollout(**OFF, max_score_drop=1.0).decide_many(Batch(old, new)).accepted.mean()
        assert found == pytest.approx(expected, abs=0.03)
