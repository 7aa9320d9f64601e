"""Rules, evidence and parameters that somebody got wrong, or wrote to get past a gate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from logoslab.errors import EvidenceError, InvalidValue, LogoslabError
from logoslab.gate import (
    AcceptAll,
    Adoption,
    AnytimeGate,
    Batch,
    GateLedger,
    Guarded,
    MeanImproves,
    Outcomes,
    PairedGate,
    PassSet,
    Rule,
    SafetyAxis,
    Wilcoxon,
    accepted_loss,
    baseline_audit,
    decide_one_by_one,
    false_adoptions_per_100,
    judge,
    reaudit,
    rule_named,
    rule_on_record,
)
from logoslab.gate.asking import asked_many
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.make import evidence

ONE = evidence([0, 1], [1, 1])


class Theirs:
    """Somebody else's rule, which does what it was told to."""

    name = "theirs"
    source = "a test"

    def __init__(self, one: Any = None, many: Any = None) -> None:
        self._one, self._many = one, many

    def decide(self, evidence: Evidence) -> Decision:
        """One answer, or an exception."""
        if isinstance(self._one, Exception):
            raise self._one
        found: Decision = self._one
        return found

    def decide_many(self, batch: Batch) -> Outcomes:
        """Another, of a batch."""
        if isinstance(self._many, Exception):
            raise self._many
        found: Outcomes = self._many
        return found


def adopted_once(rule: Rule) -> tuple[Adoption, Evidence]:
    """An adoption on t000, and the candidate silent on fresh task new, where the other had -½."""
    before = evidence([-0.5], [-0.25])
    fresh = tuple(
        Trial(task="new", arm=arm, value=value)
        for arm, value in (("incumbent", -0.5), ("candidate", None))
    )
    decision = rule.decide(before)
    return Adoption(decision=decision, tasks=("t000",)), Evidence(trials=fresh)


def tasks_named(*names: str, **more: Any) -> Evidence:
    """The first task falls from 1 to 0, the others rise."""
    trials = tuple(
        Trial(task=name, arm=arm, value=value, order=i, **more)
        for i, name in enumerate(names)
        for arm, value in (("incumbent", float(i == 0)), ("candidate", float(i > 0)))
    )
    return Evidence(trials=trials)


@pytest.mark.parametrize("veto", [{"critical_slices": ("core",)}, {"safety_veto": True}])
def test_no_name_of_a_task_gets_past_a_veto(veto: dict[str, Any]) -> None:
    """A lost task whose name ends in a zero character vetoes as any other does."""
    lost = tasks_named("bad\0", *(f"g{i}" for i in range(9)), slice="core", role="safety")
    found = PairedGate(r_max=1, **veto).decide(lost)
    assert found.conclusion is Conclusion.REJECT_HARMFUL
    assert PassSet().decide(lost).reason.startswith("1 test(s) lost: bad\0")


@pytest.mark.parametrize("rule", [PairedGate(r_max=1), PassSet()])
def test_one_long_name_costs_no_more_than_itself(rule: Any) -> None:
    """A name of 2 MB among 20,000 tasks: padding all to its length would take 149 GiB."""
    many = tasks_named("L" * 2_000_000, *(f"g{i}" for i in range(20_000)))
    assert rule.decide(many).tasks == 20_001


def test_a_critical_slice_that_is_not_there_is_no_veto_that_holds() -> None:
    """A misspelt slice could trip on nothing: not applicable, in evidence and in a batch."""
    rule = PairedGate(critical_slices=("corre",))
    found = rule.decide(ONE)
    assert found.conclusion is Conclusion.NOT_APPLICABLE
    assert found.reason == "no task of critical slice corre"
    batch = Batch(np.zeros((1, 3)), np.ones((1, 3)))
    assert rule.decide_many(batch).conclusions.tolist() == ["not_applicable"]
    assert decide_one_by_one(rule, batch).conclusions.tolist() == ["not_applicable"]


def test_a_safety_stream_may_read_the_metric_itself() -> None:
    """200 fixed tasks pass a safety bound on the same metric; it was never fed before."""
    rule = AnytimeGate(safety_metric="score", rho_safety=0.1)
    found = rule.decide(evidence([0] * 200, [1] * 200))
    assert found.conclusion is Conclusion.ACCEPT
    assert found.numbers["p_safety"] == found.numbers["p_reg"]


@pytest.mark.parametrize("tasks", [17, 20, 25])
@pytest.mark.parametrize("level", [0.05, 0.1])
def test_signed_ranks_hold_their_level_on_0_1_scores(tasks: int, level: float) -> None:
    """Every task changes: P(accept) summed over Bin(n, ½) was .072 at 17 and level .05."""
    up = np.arange(tasks + 1)
    gains = (np.arange(tasks) < up[:, None]).astype(np.float64)
    found = Wilcoxon(level=level).decide_many(Batch(1 - gains, gains))
    assert binom.pmf(up, tasks, 0.5)[found.accepted].sum() <= level


@pytest.mark.parametrize("value", [1e101, -1.7e308])
def test_a_value_too_large_to_be_summed_is_refused(value: float) -> None:
    """Sums of such values overflow; it is a typed refusal for one and for many."""
    with pytest.raises(EvidenceError, match=r"a finite number up to 1e\+100"):
        MeanImproves().decide(evidence([0, 0], [value, value]))
    with pytest.raises(EvidenceError, match="too large"):
        Batch(np.zeros((1, 2)), np.full((1, 2), value))


@pytest.mark.parametrize("given", [PairedGate, {"rule": "paired"}, None, 5, ["paired"]])
@pytest.mark.parametrize(
    "ask",
    [
        lambda rule: judge(ONE, rule),
        lambda rule: Guarded(rule, SafetyAxis()),
        lambda rule: false_adoptions_per_100(rule, [ONE]),
    ],
)
def test_what_is_no_rule_is_named(ask: Callable[[Any], object], given: Any) -> None:
    """A class, a mapping, nothing, a number and a list are refused wherever a rule is taken."""
    with pytest.raises(InvalidValue, match="admission rule: allowed a rule's name, or an object"):
        ask(given)


def test_what_is_no_evidence_is_named() -> None:
    """A file name in place of evidence."""
    with pytest.raises(InvalidValue, match="evidence for rule paired: allowed an Evidence"):
        judge("results.csv", "paired")  # type: ignore[arg-type]


@pytest.mark.parametrize("answer", [None, "accept", True, KeyError("boom"), MemoryError()])
def test_a_rule_that_breaks_or_answers_junk_is_named(answer: Any) -> None:
    """Somebody else's rule raises or returns something else: the message says which rule."""
    with pytest.raises(InvalidValue, match="answer of rule theirs"):
        judge(ONE, Theirs(answer))
    with pytest.raises(InvalidValue, match="answer of rule theirs"):
        Guarded(Theirs(answer), SafetyAxis()).decide(ONE)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        Outcomes(np.array(["great"] * 2), np.zeros(2, int)),
        Outcomes(np.array(["accept"]), np.zeros(1, int)),
        Outcomes(np.array(["accept"] * 2), np.array([1, -1])),
        Outcomes(np.array(["accept"] * 2), np.array([0.5, np.nan])),
        ZeroDivisionError("boom"),
    ],
)
def test_junk_of_a_batch_is_named(answer: Any) -> None:
    """An unknown word, too few rows, and counts that are none never become a frame."""
    batch = Batch(np.zeros((2, 3)), np.ones((2, 3)))
    with pytest.raises(InvalidValue, match="answer of rule theirs"):
        asked_many(Theirs(many=answer), batch)


@pytest.mark.parametrize("name", ["name", "evaluator", "self", "rule", "evidence"])
@pytest.mark.parametrize("make", [rule_named, rule_on_record, lambda n, **p: judge(ONE, n, **p)])
def test_no_parameter_on_record_collides_with_ours(make: Callable[..., Any], name: str) -> None:
    """A record may hold a parameter of any name; an unknown one is told as such."""
    with pytest.raises(InvalidValue, match=f"parameters of rule paired: .*got {name}"):
        make("paired", **{name: "x"})


def test_a_rule_is_guarded_once() -> None:
    """The record holds one axis, so a second one would be lost when the decision is made again."""
    once = Guarded(PairedGate(), SafetyAxis(role=None))
    with pytest.raises(InvalidValue, match="guarded rule: allowed a rule that no axis guards yet"):
        Guarded(once, SafetyAxis(role=None, margin=0.5))
    with pytest.raises(InvalidValue, match="guarded rule"):
        Guarded(PairedGate(), {"margin": 0})  # type: ignore[arg-type]
    with pytest.raises(InvalidValue, match="safety axis"):
        rule_on_record("paired", safety=0.5)


def test_a_hard_check_that_the_candidate_left_out_is_lacking() -> None:
    """Ten incumbent trials of the hard verifier and one of the candidate: nine are not passes."""
    trials = [Trial(task=f"t{i}", arm="incumbent", metric="safe", value=1) for i in range(10)]
    trials.append(Trial(task="t0", arm="candidate", metric="safe", value=1))
    axis = SafetyAxis(margin=None, hard=("safe",))
    found = axis.judge(Evidence(trials=tuple(trials)))
    assert found.lacking == ("9 trial(s) of safe that the incumbent alone has",)
    assert not found.passed


@pytest.mark.parametrize("alpha", [0, 1, -1, 2, float("nan"), "x", None])
def test_an_audit_needs_a_level(alpha: Any) -> None:
    """Outside (0, 1) an audit is refused; 2 was taken before, and called nothing harmful."""
    with pytest.raises(InvalidValue, match="alpha of an audit"):
        baseline_audit(ONE, alpha=alpha)
    with pytest.raises(InvalidValue, match="alpha of an audit"):
        reaudit([], alpha=alpha)


def test_a_history_may_be_read_once() -> None:
    """Adoptions from a generator are audited like those of a list."""
    adopted = [adopted_once(MeanImproves())]
    assert reaudit(pair for pair in adopted) == reaudit(adopted)


def test_a_re_audit_counts_a_missing_value_as_the_gate_did() -> None:
    """Scores from -1 to 0: nothing came back on the fresh task, and 0 would be the best score."""
    lost = reaudit([adopted_once(MeanImproves(m_fail=-1.0))]).adoptions[0]
    assert (lost.mean_difference, lost.holds) == (-0.5, False)
    fresh = adopted_once(MeanImproves())[1]
    assert baseline_audit(fresh, m_fail=-1.0).mean_difference == -0.5


@pytest.mark.parametrize("n", [0, -1, 1.5])
def test_a_number_of_null_candidates_is_whole(n: Any) -> None:
    """For recorded evidence as well as for a callable."""
    with pytest.raises(InvalidValue, match="null stream"):
        false_adoptions_per_100(AcceptAll(), [ONE], n=n)


@pytest.mark.parametrize(
    "call",
    [
        lambda: GateLedger(0.05, "bogus"),  # type: ignore[arg-type]
        lambda: GateLedger.replay(None),  # type: ignore[arg-type]
        lambda: GateLedger.replay([]),  # type: ignore[arg-type]
    ],
)
def test_a_ledger_of_junk_is_refused(call: Callable[[], object]) -> None:
    """An unknown contract, and records that are none."""
    with pytest.raises(LogoslabError):
        call()


def test_a_whole_number_is_a_failure_value_too() -> None:
    """m_fail 1 came back from JSON as a whole number: a missing task is then no regression."""
    kept = evidence([1, 1], [1, None])
    found = AcceptAll(m_fail=1).decide(kept)
    read = found.replace(params={**found.params, "m_fail": 1})
    assert accepted_loss(found, kept) == accepted_loss(read, kept) == 0
