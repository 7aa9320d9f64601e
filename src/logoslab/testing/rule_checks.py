"""The contract of admission rules: one suite for shipped and third-party rules alike."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic.fields import FieldInfo

from logoslab.errors import InvalidValue
from logoslab.gate.batch import Batch, decide_one_by_one
from logoslab.gate.rule import Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence
from logoslab.stats import Decisions, NullAudit, null_audit
from logoslab.testing.rule_evidence import (
    Scores,
    all_broken,
    evidence_for,
    half_fixed,
    mixed,
    random_batch,
    without_each_need,
)

BLIND: Final = ("accept_all", "commit_first")
"""Negative controls, which accept whatever happened."""


def admission_rule_checks() -> list[Callable[[Rule], None]]:
    """What every admission rule must hold, as functions of a rule."""
    return [
        rule_names_itself_and_its_source,
        rule_parameters_fit_their_own_ranges,
        rule_refuses_parameters_out_of_range,
        rule_judges_evidence_with_all_its_needs,
        rule_declines_evidence_without_a_need,
        rule_declines_evidence_without_a_candidate,
        rule_is_a_pure_function,
        rule_explains_itself,
        rule_can_be_made_again_from_its_record,
        rule_reads_the_order_only_if_it_says_so,
        rule_never_accepts_what_broke_everything,
        rule_concludes_the_same_of_a_batch,
    ]


def rule_names_itself_and_its_source(rule: Rule) -> None:
    """A rule has a name, a source, a claim, and says in words what it accepts."""
    assert rule.name
    assert rule.source
    assert rule.claim
    assert type(rule).__doc__


def rule_parameters_fit_their_own_ranges(rule: Rule) -> None:
    """Every parameter has a description, and its default passes its own check."""
    assert all(field.description for field in type(rule).model_fields.values())
    try:
        made = type(rule)(**_values(rule))
    except InvalidValue as refusal:
        raise AssertionError(f"a default is out of range: {refusal}") from refusal
    assert made == type(rule)(**_required(rule))


def rule_refuses_parameters_out_of_range(rule: Rule) -> None:
    """A value beyond a range, not a number, or an unknown parameter is an ``InvalidValue``."""
    wrong = [(name, bad) for name, f in type(rule).model_fields.items() for bad in _beyond(f)]
    for name, bad in [*wrong, ("no_such_parameter", 1)]:
        try:
            type(rule)(**{**_required(rule), name: bad})
        except InvalidValue:
            continue
        raise AssertionError(f"{rule.name} takes {name}={bad!r}")


def rule_judges_evidence_with_all_its_needs(rule: Rule) -> None:
    """Evidence with everything in ``needs`` is never ``not_applicable``: the needs are complete."""
    decision = rule.decide(_evidence(rule))
    assert decision.conclusion is not Conclusion.NOT_APPLICABLE, decision.reason
    assert decision.tasks > 0


def rule_declines_evidence_without_a_need(rule: Rule) -> None:
    """Whichever need is missing, the answer is ``not_applicable`` with a reason, not a guess."""
    for need, evidence in without_each_need(rule.needs, rule.metric).items():
        decision = rule.decide(evidence)
        assert decision.conclusion is Conclusion.NOT_APPLICABLE, need
        assert decision.reason, need


def rule_declines_evidence_without_a_candidate(rule: Rule) -> None:
    """Without any trial of the candidate there is nothing to admit."""
    trials = tuple(
        t.replace(arm="incumbent") if t.arm == "candidate" else t for t in _evidence(rule).trials
    )
    decision = rule.decide(_evidence(rule).replace(trials=trials))
    assert decision.conclusion is Conclusion.NOT_APPLICABLE
    assert decision.reason


def rule_is_a_pure_function(rule: Rule) -> None:
    """Judging twice gives one decision, and the evidence is as before."""
    evidence = _evidence(rule)
    before = evidence.digest
    assert rule.decide(evidence) == rule.decide(evidence)
    assert evidence.digest == before


def rule_explains_itself(rule: Rule) -> None:
    """Every decision has a reason, the digests and the parameters, and survives JSON unchanged."""
    for scores in (half_fixed, all_broken):
        decision = rule.decide(_evidence(rule, scores))
        assert decision.rule == rule.name
        assert decision.reason
        assert decision.claim
        assert decision.evidence.startswith("sha256:")
        assert set(rule.params) <= set(decision.params)
        assert Decision.model_validate_json(decision.model_dump_json()) == decision


def rule_can_be_made_again_from_its_record(rule: Rule) -> None:
    """The recorded parameters make a rule that concludes the same: anyone can recompute it."""
    assert type(rule)(**json.loads(json.dumps(rule.params))) == rule
    evidence = _evidence(rule)
    decision = rule.decide(evidence)
    again = type(rule)(**decision.params).decide(evidence)
    assert (again.conclusion, again.numbers) == (decision.conclusion, decision.numbers)


def rule_reads_the_order_only_if_it_says_so(rule: Rule) -> None:
    """The order of rows never matters; that of arrival only where the rule is ``sequential``."""
    rng = np.random.default_rng(7)
    evidence = _evidence(rule, mixed)
    expected = rule.decide(evidence)
    rows = tuple(evidence.trials[i] for i in rng.permutation(len(evidence.trials)))
    assert _same(rule.decide(evidence.replace(trials=rows)), expected)
    if not rule.sequential:
        for arrival in _arrivals(rng):
            moved = tuple(t.replace(order=int(arrival[t.order])) for t in evidence.trials)
            assert _same(rule.decide(evidence.replace(trials=moved)), expected)


def rule_never_accepts_what_broke_everything(rule: Rule) -> None:
    """1 → 0 on every task is never an adoption, except by the named negative controls."""
    assert rule.decide(_evidence(rule, all_broken)).accepted == (rule.name in BLIND)


def rule_concludes_the_same_of_a_batch(rule: Rule) -> None:
    """``decide_many`` concludes of each row what ``decide`` does, after as many tasks."""
    rng = np.random.default_rng(11)
    for graded in (False, True):
        full = random_batch(rng, rows=24, graded=graded)
        for batch in (full, Batch(full.incumbent, full.candidate)):
            fast, slow = rule.decide_many(batch), decide_one_by_one(rule, batch)
            assert fast.conclusions.tolist() == slow.conclusions.tolist()
            assert fast.tasks.tolist() == slow.tasks.tolist()


def error_level_checks() -> list[Callable[..., None]]:
    """What a rule that states an error level must hold besides; give ``level`` and ``rng``."""
    return [rule_passes_the_a_a_audit]


def rule_passes_the_a_a_audit(
    rule: Rule,
    *,
    level: float,
    rng: np.random.Generator,
    streams: int = 600,
    tasks: int = 60,
    p: float = 0.5,
) -> None:
    """On identical arms a rule accepts no more often than its level allows.

    See :func:`a_a_audit`. A rule that peeks, or that looks at no error at all, fails it.
    """
    audit = a_a_audit(rule, level=level, rng=rng, streams=streams, tasks=tasks, p=p)
    assert audit.passed, (
        f"{rule.name} accepted {audit.false_adoptions} of {audit.runs} candidates that are the "
        f"incumbent; a rule of level {level:g} does so with probability {audit.chance:.2g}"
    )


def a_a_audit(
    rule: Rule,
    *,
    level: float,
    rng: np.random.Generator,
    streams: int = 600,
    tasks: int = 60,
    p: float = 0.5,
) -> NullAudit:
    """Count how often a rule accepts when both arms score Bernoulli(p) on fresh tasks.

    Null: the two arms have one distribution. ``passed`` compares the count with the exact
    binomial bound at one in a million, so a valid rule fails about never; 600 streams convict a
    rule of twice its level more often than not.
    """

    def draw(rng: np.random.Generator, runs: int) -> NDArray[np.float64]:
        return (rng.random((runs, 2, tasks)) < p).astype(np.float64)

    def decide(scores: NDArray[np.float64]) -> Decisions:
        outcome = rule.decide_many(Batch(scores[:, 0], scores[:, 1], sampling="iid"))
        return Decisions(outcome.accepted, outcome.tasks.astype(np.float64))

    return null_audit(decide, draw, level=level, rng=rng, runs=streams)


def _evidence(rule: Rule, scores: Scores = half_fixed) -> Evidence:
    return evidence_for(rule.needs, rule.metric, scores=scores)


def _arrivals(rng: np.random.Generator, tasks: int = 60) -> list[NDArray[np.intp]]:
    """Places of the tasks in other orders: losses first, gains first, and at random."""
    change = [after - before for before, after in map(mixed, range(tasks))]
    losses_first = np.argsort(np.argsort(change, kind="stable"))
    return [losses_first, tasks - 1 - losses_first, *(rng.permutation(tasks) for _ in range(3))]


def _required(rule: Rule) -> dict[str, Any]:
    """The rule's own values of parameters without a default."""
    fields = type(rule).model_fields
    return {name: getattr(rule, name) for name, field in fields.items() if field.is_required()}


def _values(rule: Rule) -> dict[str, Any]:
    fields = type(rule).model_fields.items()
    return {**{name: field.default for name, field in fields}, **_required(rule)}


def _beyond(field: FieldInfo) -> Iterator[Any]:
    """Values outside the range of a parameter."""
    steps = {"gt": 0.0, "ge": -1.0, "lt": 0.0, "le": 1.0}
    for part in field.metadata:
        for bound, step in steps.items():
            limit = getattr(part, bound, None)
            if limit is not None:
                yield limit + step
                yield math.inf * (1 if bound in ("lt", "le") else -1)
    if field.annotation in (float, int, float | None, int | None):
        yield math.nan


def _same(one: Decision, other: Decision) -> bool:
    return (one.conclusion, one.tasks) == (other.conclusion, other.tasks) and _close(
        one.numbers, other.numbers
    )


def _close(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> bool:
    def near(a: float | None, b: float | None) -> bool:
        return a is b if a is None or b is None else math.isclose(a, b, abs_tol=1e-9)

    return set(one) == set(other) and all(near(one[name], other[name]) for name in one)
