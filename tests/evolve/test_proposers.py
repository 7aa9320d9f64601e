"""The three proposers: what they write, and when they abstain."""

from __future__ import annotations

import json
from typing import Any

import pytest

from logoslab.evolve import Feedback, Rewording, SkillRuleFromFailure, ToolSchemaRepair
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.patch import Patch
from logoslab.pack.run import Abstention
from logoslab.ports import Proposer
from tests.evolve.make import (
    CLASSES,
    DRAFT,
    PLAN,
    POLICY,
    RISKS,
    SKILL,
    ended,
    observed,
    pack,
    refusal,
)

PACK = pack()


def repaired(given: AgentPack = PACK, **changes: Any) -> AgentPack:
    """The pack after the repair for this refusal; the test fails on an abstention."""
    patch = ToolSchemaRepair().propose(given, [observed("a", refusal(**changes))], POLICY)
    assert isinstance(patch, Patch), patch
    return patch.apply(given)


def why_not(given: AgentPack = PACK, **changes: Any) -> str:
    """The reason for which the repair abstains."""
    found = ToolSchemaRepair().propose(given, [observed("a", refusal(**changes))], POLICY)
    assert isinstance(found, Abstention), found
    return found.reason


def test_the_drift_of_the_demo_is_repaired() -> None:
    """The body sends the new name from the old argument, and the new field from the plan."""
    after = repaired()
    tool = after.tools["draft_exception"]
    assert tool.binding.body == {  # type: ignore[union-attr]
        "decision": "decision", "risk_rating": "residual_risk", "data_class": "data_class",
    }  # fmt: skip
    properties: Any = tool.input_schema["properties"]
    assert properties["residual_risk"] == {"type": "string", "enum": RISKS}
    assert properties["data_class"] == {"type": "string", "enum": CLASSES}
    assert tool.input_schema["required"] == ["ticket_id", "decision", "residual_risk", "data_class"]
    draft: Any = after.plan.phases[-1].step
    assert draft.arguments["data_class"] == "$classify.data_class"
    assert after.plan.phases[-1].needs == ("residual",)


def test_an_answer_that_echoes_the_body_follows() -> None:
    """The closed echo gets the same rename and addition; another object stays as it is."""
    echo = {
        "type": "object",
        "additionalProperties": False,
        "properties": {"decision": {"type": "string"}, "residual_risk": {"type": "string"}},
        "required": ["decision", "residual_risk"],
    }
    other = {"type": "object", "properties": {"decision": {"type": "string"}}}
    answer = {"type": "object", "properties": {"draft": echo, "last": other}}
    given = pack(draft=json.dumps({**DRAFT, "output_schema": answer}))
    after: Any = repaired(given).tools["draft_exception"].output_schema["properties"]
    assert sorted(after["draft"]["properties"]) == ["data_class", "decision", "risk_rating"]
    assert after["draft"]["required"] == ["decision", "risk_rating", "data_class"]
    assert after["draft"]["additionalProperties"] is False
    assert after["last"] == other


def test_the_patch_names_its_target_and_touches_two_files() -> None:
    """What a reviewer sees first."""
    trace = [observed(t, refusal()) for t in ("a", "b")]
    proposer: Proposer = ToolSchemaRepair()
    patch = proposer.propose(PACK, trace, POLICY)
    assert isinstance(patch, Patch)
    assert patch.title == (
        "Repair draft_exception: residual_risk is now risk_rating, data_class is now required"
    )
    assert patch.target == "tool/draft_exception@1"
    assert patch.rationale.startswith("The service refused 2 proposal task(s)")
    footprint = patch.footprint(PACK, POLICY)
    assert footprint.files == ("execution_plan.json", "tools/draft_exception.json")
    assert footprint.permissions == ()


def test_names_decide_when_schemas_do_not() -> None:
    """Plain strings: risk_rating shares a word with residual_risk, data_class does not."""
    plain = json.loads(json.dumps(DRAFT))
    plain["input_schema"]["properties"]["residual_risk"] = {"type": "string"}
    expected = {"risk_rating": {"type": "string"}, "data_class": {"type": "string"}}
    after = repaired(pack(draft=json.dumps(plain)), expected=expected)
    assert after.tools["draft_exception"].binding.body["risk_rating"] == "residual_risk"  # type: ignore[union-attr]


def test_a_source_phase_that_is_no_ancestor_becomes_one() -> None:
    """The plan stays a DAG in which the new fact is ready before it is used."""
    plan = json.loads(json.dumps(PLAN))
    plan["phases"][3]["needs"] = ["intake_read"]
    after = repaired(pack(plan=json.dumps(plan)))
    assert after.plan.phases[-1].needs == ("residual", "classify")


STRING = {"type": "string"}
CLOSED = {"type": "string", "enum": RISKS}
ABSTENTIONS: list[tuple[dict[str, Any], str]] = [
    (
        {
            "missing": ["risk_rating", "owner"],
            "expected": {"risk_rating": CLOSED, "owner": STRING},
        },
        "owner is newly required and no answer field of that name fills it",
    ),
    ({"missing": ["data_class"]}, "no missing field takes the place of residual_risk"),
    ({"unexpected": ["severity"]}, "draft_exception does not send severity"),
    ({"expected": {}}, "the service does not say what it expects of risk_rating"),
    (
        {"missing": ["a/b"], "expected": {"a/b": {"type": "string"}}},
        "a required field has a name that is no plain identifier",
    ),
    (
        {"missing": ["x"], "expected": {"x": {"$ref": "http://127.0.0.1/x"}}},
        "the expected schema of x is too large or refers elsewhere",
    ),
    (
        {"missing": ["risk_a", "risk_b"], "expected": {"risk_a": CLOSED, "risk_b": CLOSED}},
        "risk_b and risk_a fit residual_risk equally well",
    ),
    (
        {"unexpected": ["residual_risk", "decision"], "missing": ["data_class"]},
        "no missing field takes the place of decision",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "reason"), ABSTENTIONS, ids=[r for _, r in ABSTENTIONS])
def test_what_cannot_be_mapped_is_not_guessed(change: dict[str, Any], reason: str) -> None:
    """Each gap in the evidence is a reason, not a repair."""
    assert why_not(**change) == reason


def test_refusals_that_differ_are_not_averaged() -> None:
    """Two tasks met two different services, or the service moved again."""
    trace = [observed("a", refusal()), observed("b", refusal(missing=["data_class"]))]
    found = ToolSchemaRepair().propose(PACK, trace, POLICY)
    assert isinstance(found, Abstention)
    assert found.reason == "the service refused in 2 different ways"


def test_without_a_tool_failure_there_is_no_repair() -> None:
    """The reason says what was found instead."""
    found = ToolSchemaRepair().propose(PACK, [ended("a", 0.0, data_class="x")], POLICY)
    assert found == Abstention(
        proposer="tool_schema_repair",
        reason="no failure is put down to a tool: accepted answers with a low score",
    )
    none = ToolSchemaRepair().propose(PACK, [], POLICY)
    assert isinstance(none, Abstention)
    assert none.reason.endswith("no failed rollout")


TEXTS = {
    "a": "The tape archive stores consolidated price lists. No payroll files.",
    "b": "Our archive keeps minutes. It never held payroll files.",
    "c": "The archive contains payroll files.",
    "d": "A shop stores payroll files.",
}


def told(*wrong: str, value: str = "internal") -> tuple[list[Feedback], list[Any]]:
    """Feedback on four tickets and the trace in which ``wrong`` ones got another class."""
    feedback = [
        Feedback(task=t, text={"description": text, "vendor": "X"}, expected={"data_class": value})
        for t, text in TEXTS.items()
    ]
    trace = [
        ended(t, 0.5 if t in wrong else 1.0, data_class="confidential" if t in wrong else value)
        for t in TEXTS
    ]
    return feedback, trace


def test_the_rule_takes_the_word_with_the_longest_reach() -> None:
    """ "archive" is in three of four tickets, and "payroll" belongs to the definitions."""
    feedback, trace = told("a", "b")
    proposer: Proposer = SkillRuleFromFailure(feedback)
    patch = proposer.propose(PACK, trace, POLICY)
    assert isinstance(patch, Patch)
    after = patch.apply(PACK)
    line = '- when description mentions "archive", data_class is "internal"'
    assert after.files["skills/intake/SKILL.md"] == f"{SKILL}\n## Rules\n{line}\n"
    assert [r.line() for r in after.skills["intake"].rules] == [line]
    assert patch.title == "Skill rule: archive means internal"
    assert patch.target == "skill/intake@1"
    assert patch.rationale == "2 proposal task(s) should have had data_class internal; first a."


def test_a_second_rule_joins_the_first_section() -> None:
    """No second heading, and the new rule is the last, which wins."""
    old = '\n## Rules\n- when description mentions "shop", data_class is "public"\n'
    feedback, trace = told("a", "b")
    given = pack(skill=SKILL + old)
    patch = SkillRuleFromFailure(feedback).propose(given, trace, POLICY)
    assert isinstance(patch, Patch)
    after = patch.apply(given)
    assert after.files["skills/intake/SKILL.md"].count("## Rules") == 1
    assert [r.text for r in after.skills["intake"].rules] == ["shop", "archive"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (told(), "no failure is put down to a skill: no failed rollout"),
        (told("a", value='in"ternal'), "the corrected value cannot stand in a rule"),
        (([], told("a")[1]), "the feedback holds no text field"),
    ],
)
def test_the_rule_abstains(given: tuple[list[Feedback], list[Any]], reason: str) -> None:
    """Nothing wrong, a value that would break the grammar, no text to take a word from."""
    found = SkillRuleFromFailure(given[0]).propose(PACK, given[1], POLICY)
    assert isinstance(found, Abstention)
    assert found.reason == reason


def test_a_rewording_changes_one_sentence_only() -> None:
    """ "Copy the words …" → "Repeat the terms …"; nothing else moves."""
    proposer: Proposer = Rewording()
    patch = proposer.propose(PACK, [], POLICY)
    assert isinstance(patch, Patch)
    assert patch.apply(PACK).files["skills/intake/SKILL.md"] == SKILL.replace(
        "Copy the words that name the data.", "Repeat the terms that name the data."
    )
    assert patch.footprint(PACK, POLICY).safety_surfaces == ()


def test_a_sentence_that_stands_twice_is_left_alone() -> None:
    """An anchor must be unique; the next sentence that has one is reworded instead."""
    sentence = "Copy the words that name the data."
    given = pack(skill=SKILL.replace(sentence, f"{sentence} {sentence}"))
    patch = Rewording().propose(given, [], POLICY)
    assert isinstance(patch, Patch)
    assert (
        patch.apply(given)
        .files["skills/intake/SKILL.md"]
        .endswith(f"{sentence} {sentence} Reply with JSON only.\n")
    )


def test_a_rewording_abstains_without_a_listed_word() -> None:
    """Nothing to say in other words, or no such skill."""
    bare = pack(skill=SKILL.replace("Copy the words that name the data. Answer with", "See"))
    bare = pack(skill=bare.files["skills/intake/SKILL.md"].replace("only", ""))
    for proposer, given in ((Rewording(), bare), (Rewording("absent"), PACK)):
        found = proposer.propose(given, [], POLICY)
        assert isinstance(found, Abstention)
        assert found.reason == "no instruction sentence holds a word with a listed synonym"


@pytest.mark.parametrize(
    "proposer", [ToolSchemaRepair(), SkillRuleFromFailure(told("a")[0]), Rewording()]
)
def test_proposing_changes_nothing_and_is_deterministic(proposer: Proposer) -> None:
    """The pack keeps its digest and the same trace gives the same patch."""
    before = PACK.digest
    trace = [observed("z", refusal()), *told("a")[1]]
    assert proposer.propose(PACK, trace, POLICY) == proposer.propose(PACK, trace, POLICY)
    assert PACK.digest == before
