"""The shipped checks and the exact scorer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from logoslab.errors import InvalidValue
from logoslab.pack.agent_pack import AgentPack, build_pack
from logoslab.pack.run import TaskResult
from logoslab.pack.task import Task
from logoslab.pack.verdict import Outcome, Verdict, VerifierSpec
from logoslab.ports import VerifyContext
from logoslab.verify import (
    CopiedSpanCheck,
    ExactCheck,
    ExactScorer,
    ExecutionCheck,
    Part,
    SchemaCheck,
    SecurityCheck,
    VerifierStack,
    fields_equal,
    step_echoes,
    verifiers_for,
)

TICKET = "Vendor keeps the  Customer Archive on a shared drive"
SCHEMA = {
    "type": "object",
    "properties": {"data": {"type": "string", "maxLength": 40}},
    "required": ["data"],
}


def spec(name: str, kind: Any = "execution", **more: Any) -> VerifierSpec:
    """A declaration."""
    return VerifierSpec(name=name, kind=kind, assurance="deterministic_oracle", **more)


def context(output: dict[str, Any], **changes: Any) -> VerifyContext:
    """What a verifier sees of one answer to the ticket."""
    base = VerifyContext(Task(id="t1"), {"row": {"description": TICKET}}, output, SCHEMA)
    return base._replace(**changes)


def said(verdict: Verdict) -> tuple[Outcome, str]:
    """Outcome and detail."""
    return verdict.outcome, verdict.detail


def test_schema() -> None:
    """The rule that broke is named, and never the value."""
    check = SchemaCheck(spec("schema", "schema"))
    assert said(check.check(context({"data": "x"}))) == (Outcome.PASS, "satisfies its schema")
    assert said(check.check(context({"data": "s3cret" * 20}))) == (
        Outcome.FAIL,
        "$.data breaks 'maxLength'",
    )
    assert said(check.check(context({}))) == (Outcome.FAIL, "$ breaks 'required'")


@pytest.mark.parametrize(
    "schema",
    [{"type": 3}, {"$ref": "http://127.0.0.1:9/x.json"}, {"$ref": "file:///etc/hostname"}],
)
def test_a_broken_or_outside_schema_rejects(schema: dict[str, Any]) -> None:
    """A schema that cannot be used, or that points out of itself, is an error; nothing is read."""
    stack = VerifierStack([SchemaCheck(spec("schema", "schema"))])
    verdict = stack(context({"data": "x"}, output_schema=schema))
    assert not verdict.accepted
    assert verdict.verdicts[0].outcome is Outcome.ERROR


HOSTILE = {
    "a private key": "-----BEGIN RSA PRIVATE KEY-----",
    "a cloud access key": "AKIAABCDEFGHIJKLMNOP",
    "an API token": "sk-abcdefghijklmnopqrstuv",
    "a signed web token": "eyJhbGciOiJI.eyJzdWIiOiIx.x",
    "a password assignment": "password = hunter22",
    "markup": "archive <img src=x onerror=alert(1)>",
    "a chat control token": "data <|im_start|>system",
    "a fetched image link": "![x](http://example.invalid/?q=1)",
    "control characters": "archive\u202egnp",
}


@pytest.mark.parametrize(("what", "text"), HOSTILE.items(), ids=list(HOSTILE))
def test_security_findings(what: str, text: str) -> None:
    """Each kind of hostile text is found, at any depth, and not repeated in the detail."""
    check = SecurityCheck(spec("security", "security"))
    assert said(check.check(context({"data": text}))) == (Outcome.FAIL, f"field 1 holds {what}")
    nested = check.check(context({"data": [{"deep": text}]}))
    assert said(nested) == (Outcome.FAIL, f"field 1 holds {what}")
    key = check.check(context({"data": {text: 1}}))
    assert said(key) == (Outcome.FAIL, f"field 1 holds {what}")


def test_security_accepts_ordinary_text_and_refuses_undeclared_fields() -> None:
    """Fewer than 5 days, an e-mail, a line break: ordinary. A field nobody declared: not."""
    check = SecurityCheck(spec("security", "security"))
    fine = "customer archive, <5 days, a@b.example\nnext line"
    assert check.check(context({"data": fine})).outcome is Outcome.PASS
    assert said(check.check(context({"data": "x", "approve": "yes"}))) == (
        Outcome.FAIL,
        "1 field(s) that the schema does not declare",
    )


def test_hostile_nesting_is_an_error_not_a_stall() -> None:
    """A thousand levels end at 32."""
    deep: Any = "x"
    for _ in range(1000):
        deep = [deep]
    stack = VerifierStack([SecurityCheck(spec("security", "security"))])
    verdict = stack(context({"data": deep}))
    assert verdict.reason == (
        "security: error, crashed with ValueError: nested deeper than 32 levels (hard check)"
    )


@pytest.mark.parametrize(
    ("execute", "outcome"),
    [
        (None, Outcome.NOT_APPLICABLE),
        (lambda: (True, "found"), Outcome.PASS),
        (lambda: (False, "no row"), Outcome.FAIL),
        (lambda: ("yes", "truthy is not true"), Outcome.FAIL),
    ],
)
def test_execution(execute: Any, outcome: Outcome) -> None:
    """The declared check decides; without one there is no execution evidence."""
    verdict = ExecutionCheck(spec("execution")).check(context({"data": "x"}, execute=execute))
    assert verdict.outcome is outcome


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ({"data": "customer archive"}, Outcome.PASS),
        ({"data": "CUSTOMER\nARCHIVE"}, Outcome.PASS),
        ({"data": "customer records"}, Outcome.FAIL),
        ({"data": "  "}, Outcome.FAIL),
        ({"data": 3}, Outcome.NOT_APPLICABLE),
    ],
)
def test_copied_span(output: dict[str, Any], outcome: Outcome) -> None:
    """A span of the input, up to case and white space; numbers are no spans."""
    assert CopiedSpanCheck(spec("copied_span", "lint")).check(context(output)).outcome is outcome


def test_closed_answers_are_not_spans() -> None:
    """An enum value is an answer and need not occur in the ticket."""
    schema = {"properties": {"data": {"enum": ["restricted"]}}}
    check = CopiedSpanCheck(spec("copied_span", "lint"))
    verdict = check.check(context({"data": "restricted"}, output_schema=schema))
    assert verdict.outcome is Outcome.NOT_APPLICABLE


def pack_with(*declared: VerifierSpec) -> AgentPack:
    """A pack that declares these verifiers."""
    text = json.dumps([d.model_dump(mode="json") for d in declared])
    return build_pack("p", {"verifiers.json": text})


def test_declared_verifiers_are_found_by_name_then_kind() -> None:
    """Names that are not shipped fall back to their kind."""
    declared = [
        spec("schema", "schema"),
        spec("no-secrets", "security"),
        spec("copied_span", "lint"),
        spec("lookup", "execution"),
    ]
    found = [type(v) for v in verifiers_for(pack_with(*declared))]
    assert found == [SchemaCheck, SecurityCheck, CopiedSpanCheck, ExecutionCheck]


@pytest.mark.parametrize("declared", [spec("vibes", "judge"), spec("schema", "execution")])
def test_an_unknown_or_misdeclared_verifier_rejects(declared: VerifierSpec) -> None:
    """A judge nobody ships, or a schema check that poses as execution evidence."""
    stack = VerifierStack(verifiers_for(pack_with(declared)))
    assert stack(context({"data": "x"}, execute=lambda: (True, ""))).reason == (
        f"{declared.name}: error, no verifier of this name has kind {declared.kind!r}"
    )


def test_an_evaluator_can_give_labels() -> None:
    """The exact check compares with labels that no pack holds."""
    declared = spec("exact", "exact_scorer", sufficient=True)
    exact = ExactCheck(declared, {"t1": {"data": "archive"}})
    stack = VerifierStack(verifiers_for(pack_with(declared), {"exact": exact}))
    assert stack(context({"data": "archive"})).accepted
    assert stack(context({"data": "drive"})).reason == (
        "exact: fail, differs in data (all_of: 0 of 1 passed)"
    )
    assert not stack(context({"data": "archive"}, task=Task(id="t2"))).accepted


LABELS = {"t1": {"decision": "approve", "residual_risk": "low"}}
SCORER = ExactScorer(
    LABELS,
    [
        Part(0.5, fields_equal("decision", "residual_risk")),
        Part(0.5, step_echoes("draft", {"residual_risk": ("residual_risk", "risk_rating")})),
    ],
)


def result(risk: str, draft: Any) -> TaskResult:
    """A finished review."""
    output = {"decision": "approve", "residual_risk": risk}
    return TaskResult(
        task="t1", arm="incumbent", status="completed", output=output, steps={"draft": draft}
    )


@pytest.mark.parametrize(
    ("risk", "draft", "score"),
    [
        ("low", {"draft": {"risk_rating": "low"}}, 1.0),
        ("low", {"residual_risk": "low"}, 1.0),
        ("low", {"draft": {"risk_rating": "high"}}, 0.5),
        ("low", None, 0.5),
        ("high", {"residual_risk": "high"}, 0.0),
    ],
)
def test_the_exact_score_has_two_halves(risk: str, draft: Any, score: float) -> None:
    """½ for the answer and ½ for a draft that the service took with the labelled content."""
    assert SCORER.score(Task(id="t1"), result(risk, draft)) == score


def test_what_cannot_be_scored_is_none_and_a_failure_is_zero() -> None:
    """No label: None. No output: nothing holds."""
    assert SCORER.score(Task(id="t2"), result("low", None)) is None
    failed = TaskResult(task="t1", arm="incumbent", status="failed", output=None)
    assert ExactScorer(LABELS).score(Task(id="t1"), failed) == 0.0
    with pytest.raises(InvalidValue):
        ExactScorer(LABELS, [Part(0.7, fields_equal())])
