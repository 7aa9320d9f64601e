"""Rules that read no held-out task: the model's own flag, publishing first, the proxy."""

from __future__ import annotations

from logoslab.gate.batch import PROXY, SATISFIED
from logoslab.gate.proxy import Proxy
from logoslab.gate.self_judged import CommitFirst, SelfJudged
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.make import evidence


def flagged(flag: float | None, given: Evidence | None = None) -> Evidence:
    """Evidence with the acting model's flag."""
    mark = Trial(task="proposal", arm="candidate", metric=SATISFIED, value=flag)
    return Evidence(trials=(mark, *(given.trials if given else ())))


BROKEN = evidence([1] * 60, [0] * 60)


def test_the_flag_decides_and_nothing_else() -> None:
    """Satisfied with a candidate that broke 60 of 60 tasks: accepted, for no task is read."""
    decided = SelfJudged().decide(flagged(1, BROKEN))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.reason == (
        "the acting model calls its candidate satisfactory: 1 of 1 positive flag(s)"
    )
    assert SelfJudged().decide(flagged(0)).conclusion is Conclusion.REJECT_INSUFFICIENT
    assert SelfJudged().decide(flagged(None)).conclusion is Conclusion.REJECT_INSUFFICIENT
    twice = SelfJudged().decide(flagged(0, flagged(1)))
    assert twice.reason == "the acting model is not satisfied: 1 of 2 positive flag(s)"


def test_without_a_flag_nobody_guesses_one() -> None:
    """Paired scores alone are not applicable to a rule that asks for the flag."""
    for rule in (SelfJudged(), CommitFirst(), Proxy()):
        assert rule.decide(BROKEN).conclusion is Conclusion.NOT_APPLICABLE
    assert SelfJudged().decide(flagged(0.7)).conclusion is Conclusion.NOT_APPLICABLE


def test_commit_first_accepts_what_broke_everything_and_says_so() -> None:
    """1 → 0 on 60 tasks and a dissatisfied model: published all the same."""
    decided = CommitFirst().decide(flagged(0, BROKEN))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.reason == (
        "published before it was judged; afterwards the acting model is not satisfied, and 60 of "
        "60 tasks got worse, mean score changed by -1"
    )
    assert decided.numbers == {"satisfied": 0.0, "mean_difference": -1.0, "regressions": 60}
    assert (
        CommitFirst()
        .decide(flagged(1))
        .reason.endswith("is satisfied, and no paired score says what it did")
    )


def proxied(*gains: float) -> Evidence:
    """A proxy that the incumbent scored 0 on."""
    return Evidence(
        trials=tuple(
            Trial(task=f"p{i}", arm=arm, metric=PROXY, value=value)
            for i, gain in enumerate(gains)
            for arm, value in (("incumbent", 0.0), ("candidate", gain))
        )
    )


def test_the_proxy_must_exceed_its_threshold() -> None:
    """Mean gain (.2 + .1)/2 = .15 is above .1 and not above .15."""
    decided = Proxy(threshold=0.1).decide(proxied(0.2, 0.1))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.reason == "proxy gain 0.15 is above 0.1; no held-out task was read"
    exact = Proxy(threshold=0.15).decide(proxied(0.2, 0.1))
    assert exact.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert Proxy().decide(proxied(-0.1)).conclusion is Conclusion.REJECT_HARMFUL
