"""The harness's replay rules: numbers by hand, and regression to the mean by enumeration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.batch import Batch, Cases
from logoslab.gate.controlled import ReplayControlled
from logoslab.gate.corpus import CorpusGuard
from logoslab.gate.harness import CapturedReplay, ReplayCaptured, ReplayNarrowed, TargetOnly
from logoslab.gate.rule import Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.cases import case, corpus

CAPTURED: list[type[CapturedReplay]] = [TargetOnly, ReplayCaptured, ReplayNarrowed]

# The worked example of the paper: the target gains .30, and a protected case either holds or not.
HOLDS = (
    case("lost", {"score": 0.4}, {"score": 0.7}),
    case("won", {"score": 0.9, "coherence": 0.8}, {"score": 0.9, "coherence": 0.8},
         role="protected"),
)  # fmt: skip
BREAKS = (
    case("lost", {"score": 0.4}, {"score": 0.7}),
    case("won", {"score": 0.9}, {"score": 0.3}, role="protected"),
)


@pytest.mark.parametrize("rule", CAPTURED)
def test_a_gain_of_point_three_without_a_drop_is_accepted(rule: type[CapturedReplay]) -> None:
    """The paper's worked example: target +0.30 and no regression is promoted by each variant."""
    decided = rule().decide(corpus(*HOLDS))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.numbers["best_gain"] == pytest.approx(0.3)
    assert decided.reason.startswith(
        "score of failure case lost changed by +0.3, at least delta_prom 0.05; "
    )


def test_a_protected_drop_vetoes_except_for_the_target_only_rule() -> None:
    """Target +0.30, protected −0.60 (the paper's largest drop): 211 of 383 were of this kind."""
    assert TargetOnly().decide(corpus(*BREAKS)).conclusion is Conclusion.ACCEPT
    for rule in (ReplayCaptured(), ReplayNarrowed()):
        decided = rule.decide(corpus(*BREAKS))
        assert decided.conclusion is Conclusion.REJECT_HARMFUL
        assert decided.reason.startswith(
            "score of protected case won changed by -0.6, a drop of at least delta_reg 0.05"
        )


def test_the_margins_are_inclusive_on_the_paper_s_side() -> None:
    """0.45 → 0.50 is δ_prom and promotes; 0.70 → 0.65 is not above −δ_reg and vetoes."""
    gain = case("lost", {"score": 0.45}, {"score": 0.5})
    assert ReplayCaptured().decide(corpus(gain)).accepted
    fell = case("won", {"score": 0.7}, {"score": 0.65}, role="protected")
    assert ReplayCaptured().decide(corpus(gain, fell)).conclusion is Conclusion.REJECT_HARMFUL
    short = case("lost", {"score": 0.45}, {"score": 0.499})
    decided = ReplayCaptured().decide(corpus(short))
    assert decided.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert decided.reason == (
        "no failure case improved by delta_prom 0.05: at best, score of failure case lost "
        "changed by +0.049"
    )


@pytest.mark.parametrize(
    ("before", "after", "accepted"),
    [
        ({"score": 0.4, "outcome": 0}, {"score": 0.9, "outcome": 0}, False),
        ({"score": 0.4, "outcome": 0}, {"score": 0.9}, True),
        (
            {"score": 0.4, "tools": 0.2, "outcome": 0},
            {"score": 0.4, "tools": 0.9, "outcome": 0},
            False,
        ),
        ({"score": 0.4, "tools": 0.2}, {"score": 0.9, "tools": 0.2}, False),
        ({"score": 0.4, "tools": 0.2}, {"score": 0.4, "tools": 0.6}, True),
    ],
)
def test_the_target_is_the_most_authoritative_measured_metric(
    before: dict[str, float], after: dict[str, float], accepted: bool
) -> None:
    """Outcome, else the declared metric, else the signature's; one not measured is passed over."""
    decided = ReplayCaptured(target="tools").decide(corpus(case("lost", before, after)))
    assert decided.accepted is accepted


def test_narrowed_forgives_other_metrics_of_failure_cases_only() -> None:
    """Coherence −0.09 on a failure case retires under the paper's rule and not under 0.9.0."""
    mixed = case("lost", {"score": 0.4, "coherence": 0.8}, {"score": 0.7, "coherence": 0.71})
    assert ReplayCaptured().decide(corpus(mixed)).conclusion is Conclusion.REJECT_HARMFUL
    assert ReplayNarrowed().decide(corpus(mixed)).accepted
    protected = [t.replace(role="protected", task="won") for t in mixed]
    both = corpus(mixed, protected)
    assert ReplayNarrowed().decide(both).conclusion is Conclusion.REJECT_HARMFUL


def test_a_replay_that_never_read_the_change_is_inconclusive() -> None:
    """Metric ``read`` 0 leaves it undecided, 1 counts, and silence counts but is said."""
    outcomes = {}
    for read in (0.0, 1.0, None):
        after = {"score": 0.7} if read is None else {"score": 0.7, "read": read}
        outcomes[read] = ReplayNarrowed().decide(corpus(case("lost", {"score": 0.4}, after)))
    assert outcomes[0.0].conclusion is Conclusion.UNDECIDED
    assert outcomes[0.0].reason == (
        "inconclusive: no failure case gave a score to compare; replay again, at most three "
        "attempts in all, then hold a forward trial"
    )
    assert outcomes[1.0].accepted
    assert "does not say" not in outcomes[1.0].reason
    assert outcomes[None].accepted
    assert outcomes[None].reason.endswith("(the evidence does not say whether 1 replay(s) read it)")


def test_a_replay_that_returned_nothing_scores_m_fail() -> None:
    """None is 0 and vetoes; a failure case without a captured score is no evidence at all."""
    crashed = case("won", {"score": 0.9}, {"score": None}, role="protected")
    gain = case("lost", {"score": 0.4}, {"score": 0.7})
    decided = ReplayCaptured().decide(corpus(gain, crashed))
    assert decided.numbers["worst_change"] == -0.9
    assert decided.conclusion is Conclusion.REJECT_HARMFUL
    blank = case("lost", {"score": None}, {"score": 1.0})
    assert ReplayCaptured().decide(corpus(blank)).conclusion is Conclusion.UNDECIDED


def test_at_most_three_failure_and_two_protected_cases_are_read() -> None:
    """Case 4 would be the gain and win 3 the drop: neither is read, and both are counted."""
    flat = [case(f"f{i}", {"score": 0.4}, {"score": 0.4}) for i in range(3)]
    gain = case("f3", {"score": 0.4}, {"score": 0.9})
    wins = [case(f"w{i}", {"score": 0.9}, {"score": 0.9}, role="protected") for i in range(2)]
    drop = case("w2", {"score": 0.9}, {"score": 0.0}, role="protected")
    decided = ReplayCaptured().decide(corpus(*flat, gain, *wins, drop))
    assert decided.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert (decided.tasks, decided.numbers["cases_left_out"]) == (5, 2)
    wider = ReplayCaptured(max_failures=4, max_protected=3).decide(corpus(*flat, gain, *wins, drop))
    assert wider.conclusion is Conclusion.REJECT_HARMFUL


@pytest.mark.parametrize("rule", [*CAPTURED, ReplayControlled, CorpusGuard])
def test_paired_holdout_trials_are_no_cases(rule: type[Rule]) -> None:
    """Evidence without replayed cases is not applicable, and the reason says what is missing."""
    trials = (Trial(task="a", arm="incumbent", value=0), Trial(task="a", arm="candidate", value=1))
    decided = rule().decide(Evidence(trials=trials))
    assert decided.conclusion is Conclusion.NOT_APPLICABLE
    assert "no trial of score in arm" in decided.reason


def test_an_infinite_value_on_any_compared_metric_is_refused() -> None:
    """Coherence is not the rule's metric, and infinity there is still no score."""
    bad = case("lost", {"score": 0.4, "coherence": 0.5}, {"score": 0.7, "coherence": float("inf")})
    with pytest.raises(EvidenceError, match="coherence of task 'lost', candidate"):
        ReplayCaptured().decide(corpus(bad))


def test_a_margin_of_nought_is_refused() -> None:
    """δ_prom lies above 0: a tie is no improvement."""
    with pytest.raises(InvalidValue) as caught:
        ReplayCaptured(delta_prom=0)
    assert str(caught.value) == (
        "replay_captured delta_prom: allowed a number > 0; got 0. Choose a value in this domain."
    )


# --- fresh control ------------------------------------------------------------------------------


def controlled(*pairs: tuple[Any, Any], protected: int = 1, **parameters: Any) -> Decision:
    """Cases by their control and candidate score; the last ones are protected."""
    cases = [
        case(f"c{i}", {"score": old}, {"score": new}, reference="control",
             role="protected" if i >= len(pairs) - protected else "failure")
        for i, (old, new) in enumerate(pairs)
    ]  # fmt: skip
    return ReplayControlled(**parameters).decide(corpus(*cases))


def test_the_mean_gain_is_over_unprotected_cases() -> None:
    """(.6 − .4 + .4 − .4)/2 = .1 reaches .05; the protected +.1 is not counted."""
    decided = controlled((0.4, 0.6), (0.4, 0.4), (0.8, 0.9))
    assert decided.conclusion is Conclusion.ACCEPT
    assert decided.numbers["mean_gain"] == pytest.approx(0.1)
    assert decided.reason == (
        "mean gain 0.1 on unprotected cases reaches 0.05; none of 3 cases got worse"
    )


@pytest.mark.parametrize(
    ("pairs", "conclusion", "words"),
    [
        ([(0.4, 0.9), (0.9, 0.9)], Conclusion.UNDECIDED, "2 case(s), at least 3 needed"),
        (
            [(0.4, 0.9), (0.4, 0.9), (0.4, 0.9)],
            Conclusion.UNDECIDED,
            "protected case c2 no longer succeeds under control: score 0.4",
        ),
        (
            [(0.51, 0.495), (0.1, 0.9), (0.9, 0.9)],
            Conclusion.REJECT_HARMFUL,
            "score of failure case c0 went from success 0.51 to failure 0.495",
        ),
        (
            [(0.4, 0.37), (0.1, 0.9), (0.9, 0.9)],
            Conclusion.REJECT_HARMFUL,
            "score of failure case c0 fell by 0.03, 0.02 tolerated",
        ),
        (
            [(0.4, 0.38), (0.4, 0.4), (0.9, 0.9)],
            Conclusion.UNDECIDED,
            "mean gain -0.01 on unprotected cases, 0.05 needed; the proposal stays pending",
        ),
        (
            [(0.4, 0.9), (None, 0.9), (0.9, 0.9)],
            Conclusion.UNDECIDED,
            "failure case c1 lacks a run of control or candidate, or its two runs measured "
            "different metrics",
        ),
    ],
)
def test_each_way_to_miss_is_named(
    pairs: list[tuple[Any, Any]], conclusion: Conclusion, words: str
) -> None:
    """The released checks, each with the case and the number that decided."""
    decided = controlled(*pairs)
    assert (decided.conclusion, decided.reason) == (conclusion, words)


def test_the_first_case_that_settles_it_decides() -> None:
    """As in the release, cases are walked in order: a broken case before the unheld one rejects."""
    broken, unheld = (0.9, 0.1), (0.2, 0.9)
    assert controlled(broken, (0.4, 0.4), unheld).conclusion is Conclusion.REJECT_HARMFUL
    late = controlled((0.4, 0.4), (0.2, 0.9), (0.9, 0.1), protected=2)
    assert late.conclusion is Conclusion.UNDECIDED


def test_a_controlled_replay_that_never_read_the_change_settles_nothing() -> None:
    """The candidate arm was not exposed in case c0: undecided, as in the release."""
    gain = [
        case(f"c{i}", {"score": 0.4}, {"score": 0.9, "read": float(i)}, reference="control")
        for i in range(2)
    ]
    held = case("won", {"score": 0.9}, {"score": 0.9}, role="protected", reference="control")
    decided = ReplayControlled().decide(corpus(*gain, held))
    assert decided.conclusion is Conclusion.UNDECIDED
    assert decided.reason == "failure case c0 was replayed without reading the change"


# --- the corpus guard ---------------------------------------------------------------------------


def test_the_corpus_holds_below_the_margin_and_fails_at_it() -> None:
    """−0.04 holds, −0.05 fails, and +0.5 elsewhere offsets nothing."""
    better = case("a", {"score": 0.3}, {"score": 0.8})
    held = case("b", {"score": 0.9}, {"score": 0.86}, role="protected")
    fell = case("b", {"score": 0.9, "tools": 0.9}, {"score": 0.9, "tools": 0.85})
    assert CorpusGuard().decide(corpus(better, held)).accepted
    decided = CorpusGuard().decide(corpus(better, fell))
    assert decided.conclusion is Conclusion.REJECT_HARMFUL
    assert decided.reason == (
        "tools of case b changed by -0.05; a drop of 0.05 fails the corpus (1 such drop(s))"
    )


def test_the_guard_reads_the_whole_corpus() -> None:
    """A captured case that was not replayed leaves it undecided, unless another one fell."""
    held = case("a", {"score": 0.9}, {"score": 0.9})
    unseen = case("b", {"score": 0.9}, {})
    decided = CorpusGuard().decide(corpus(held, unseen))
    assert decided.conclusion is Conclusion.UNDECIDED
    assert decided.reason == (
        "1 captured case(s) were not replayed, b first; the guard reads the whole corpus"
    )
    assert decided.numbers["not_measured_again"] == 1


# --- regression to the mean ---------------------------------------------------------------------


def replay_of_nothing(failing: tuple[int, ...], won: tuple[int, ...]) -> dict[str, float]:
    """P(accept) of a zero-effect change: each run of a session succeeds with its probability q.

    The failure cases were captured at 0, the protected ones at 1; control and candidate are one
    agent. Exact: every 0/1 result of the fresh runs, weighted by its probability.
    """
    q = [0.6] * len(failing) + [0.9] * len(won)
    captured, roles = (
        np.array([failing + won]),
        ("failure",) * len(failing) + ("protected",) * len(won),
    )
    accepted = {"replay_captured": 0.0, "replay_controlled": 0.0}
    for bits in itertools.product((0.0, 1.0), repeat=2 * len(q)):
        runs = np.array(bits).reshape(2, 1, len(q), 1)
        weight = float(np.prod([p if b else 1 - p for b, p in zip(bits, q * 2, strict=True)]))
        cases = Cases(roles, captured.astype(float), runs[0], runs[1])
        one = Batch(np.zeros((1, 1)), np.zeros((1, 1)), cases=cases)
        for rule in (ReplayCaptured(), ReplayControlled()):
            accepted[rule.name] += weight * float(rule.decide_many(one).accepted[0])
    return accepted


def test_regression_to_the_mean_by_hand() -> None:
    """Three failures of q = .6 and one win of .9, no effect: captured .8424, controlled .2417.

    Captured: the win must hold (.9) and one of three replays succeed (1 − .4³ = .936): .8424.
    Controlled: the win holds in both arms (.81), no failure case falls and one or more rise. A
    case rises or falls with .24 and ties with .52: (.76³ − .52³)·.81 = .298368·.81 = .24167808.
    """
    exact = replay_of_nothing((0, 0, 0), (1,))
    assert exact["replay_captured"] == pytest.approx(0.9 * (1 - 0.4**3), abs=1e-12)
    assert exact["replay_controlled"] == pytest.approx((0.76**3 - 0.52**3) * 0.81, abs=1e-12)


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_one_captured_failure_is_promoted_as_often_as_it_succeeds(q: float) -> None:
    """A case captured at 0 that succeeds with probability q: accepted with q, for no effect."""
    rng = np.random.default_rng(7)
    runs = (rng.random((20_000, 1, 1)) < q).astype(float)
    cases = Cases(("failure",), np.zeros((20_000, 1)), runs, runs)
    flat = np.zeros((20_000, 1))
    rate = ReplayCaptured().decide_many(Batch(flat, flat, cases=cases)).accepted.mean()
    assert rate == pytest.approx(q, abs=4 * np.sqrt(q * (1 - q) / 20_000))


@given(st.data())
def test_target_only_accepts_whatever_the_paper_s_rule_accepts(data: st.DataObject) -> None:
    """Dropping the veto can only admit more, and narrowing it lies between the two."""
    tenths = st.integers(0, 10).map(lambda i: i / 10)
    scores = st.dictionaries(st.sampled_from(["score", "tools"]), tenths, min_size=1)
    roles = st.sampled_from(["failure", "protected"])
    cases = [
        case(f"c{i}", before, after, role=role)
        for i, (before, after, role) in enumerate(
            data.draw(st.lists(st.tuples(scores, scores, roles), min_size=1, max_size=5))
        )
    ]
    evidence = corpus(*cases)
    strict, narrow, loose = (
        rule().decide(evidence).accepted for rule in (ReplayCaptured, ReplayNarrowed, TargetOnly)
    )
    assert strict <= narrow <= loose
