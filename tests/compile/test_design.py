"""The deterministic designer: what it reads off names and data, on the demo and on other work."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import logoslab.compile
from logoslab.compile.design import draft, normalise, title_of
from logoslab.compile.emit import CANONICAL
from logoslab.compile.ingest import ingest
from logoslab.compile.tables import clean, key_columns, lookup_of, number
from logoslab.pack.agent_pack import build_pack
from logoslab.pack.plan import HumanStep, ModelStep, ToolStep
from logoslab.pack.run import Blueprint
from logoslab.pack.skill import parse_skill
from logoslab.pack.source import Artefact, Provenance
from tests.compile.make import API, SOURCES, demo_pack

WHERE = Provenance(source="t.csv", content_digest="sha256:0")


def _table(columns, *rows, name="t"):
    return Artefact(
        name=name, kind="table", columns=tuple(columns), rows=tuple(rows), provenance=WHERE
    )


def test_demo_plan_is_the_dataflow_of_the_brief():
    """Phase → (agent, tool or kind, arguments), in order."""
    plan = demo_pack().plan
    seen = [
        (p.id, p.agent, getattr(p.step, "tool", p.step.kind), getattr(p.step, "arguments", None))
        for p in plan.in_order()
    ]
    assert seen[0] == (
        "intake_read", "intake_analyst", "tickets_lookup", {"ticket_id": "$inputs.ticket_id"},
    )  # fmt: skip
    assert seen[1] == ("intake_extract", "intake_analyst", "model", None)
    assert seen[2:6] == [
        ("classify", "policy_mapper", "definitions_lookup", {"data": "$intake_extract.data"}),
        ("inherent", "risk_assessor", "risk_matrix_inherent_lookup",
         {"data_class": "$classify.data_class", "exposure": "$intake_read.exposure"}),
        ("residual", "risk_assessor", "risk_matrix_residual_lookup",
         {"control": "$intake_read.control", "inherent_risk": "$inherent.inherent_risk"}),
        ("decide", "policy_mapper", "decisions_lookup",
         {"max_days": "$intake_read.requested_days", "residual_risk": "$residual.residual_risk"}),
    ]  # fmt: skip
    assert seen[6][:3] == ("control_review", "control_owner", "human")
    assert seen[7] == (
        "draft", "response_writer", "draft_exception",
        {"ticket_id": "$inputs.ticket_id", "decision": "$decide.decision",
         "residual_risk": "$residual.residual_risk", "clause": "$decide.clause"},
    )  # fmt: skip
    assert plan.output == {
        "data_class": "$classify.data_class",
        "inherent_risk": "$inherent.inherent_risk",
        "residual_risk": "$residual.residual_risk",
        "decision": "$decide.decision",
        "clause": "$decide.clause",
        "draft": "$draft",
    }


def test_model_step_copies_a_phrase_that_a_table_checks():
    """One short field; the check and the solver are the same table read two ways."""
    step = next(p.step for p in demo_pack().plan.phases if isinstance(p.step, ModelStep))
    assert step.skill == "intake"
    assert step.text == "$intake_read.description"
    assert step.output_schema == {
        "type": "object",
        "properties": {"data": {"type": "string", "maxLength": 40}},
        "required": ["data"],
        "additionalProperties": False,
    }
    assert step.check == ToolStep(tool="definitions_lookup", arguments={"data": "$output.data"})
    assert step.solver == ToolStep(
        tool="definitions_lookup", arguments={"data": "$intake_read.description"}
    )


def test_person_is_asked_when_a_clause_reserves_the_value():
    """Clause 4.10 quotes ``escalate`` and names the control owner; the draft comes later."""
    phases = {p.id: p for p in demo_pack().plan.phases}
    review = phases["control_review"]
    assert isinstance(review.step, HumanStep)
    assert review.step.question == (
        "The decision is escalate (clause 4.10). May this go ahead, and who says so?"
    )
    assert (review.when.ref, review.when.values) == ("$decide.decision", ("escalate",))
    assert "control_review" in phases["draft"].needs


def test_submit_is_a_tool_and_not_in_the_plan():
    """What reaches the outside world is never planned by the designer."""
    pack = demo_pack()
    assert pack.tools["submit_exception"].effect.value == "external_side_effect"
    assert "submit_exception" not in {getattr(p.step, "tool", None) for p in pack.plan.phases}
    assert pack.genome.safety == {"needs_authority": ["submit_exception"]}


def test_demo_has_the_seven_roles_and_the_pack_directory():
    """Table 30's agents and table 28's components."""
    pack = demo_pack()
    assert set(pack.agents) == {
        "team_lead", "intake_analyst", "policy_mapper", "risk_assessor", "control_owner",
        "response_writer", "verifier",
    }  # fmt: skip
    assert set(pack.skills) == {"intake", "policy", "lookup", "drafting", "task-playbook"}
    assert [s.name for s in pack.skills.values() if s.metadata.get(CANONICAL) == "true"] == [
        "task-playbook"
    ]
    assert len(pack.skills["intake"].examples) == 4
    assert {p for p in pack.files if "/" not in p} == {
        "execution_plan.json", "genome.json", "goal.json", "probes.json", "provenance.json",
        "verifiers.json",
    }  # fmt: skip
    assert {v.name for v in pack.verifiers} == {"schema", "security", "copied_span", "execution"}


def test_design_is_deterministic():
    """The same sources and brief give the same bytes."""
    first, second = (draft(ingest(SOURCES), "Review things.").files for _ in range(2))
    assert first == second


def test_designer_knows_no_word_of_the_demo():
    """No string in the room's code holds a fact, table or operation name of the demo."""
    words = (
        "ticket", "data_class", "residual", "inherent", "exposure", "exception", "cardholder",
        "escalate", "archive", "requested_days", "vendor", "press release",
    )  # fmt: skip
    for path in Path(logoslab.compile.__file__).parent.rglob("*.py"):
        docs = set()
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                docs.add(id(body[0].value))
        texts = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docs
        ]
        for word in words:
            assert not any(word in text for text in texts), (path.name, word)


def test_other_work_gets_its_own_plan(tmp_path):
    """Complaints about parcels: other names, no matrix, no person; the same dataflow."""
    (tmp_path / "complaints.csv").write_text(
        "case,city,weight,story\n"
        + "".join(
            f"C{n},{city},{n} kg,The box with the {thing} came late and I am not happy at all\n"
            for n, (city, thing) in enumerate(
                [("Oslo", "glass vase"), ("Rome", "wool scarf"), ("Oslo", "wool scarf")]
            )
        )
    )
    (tmp_path / "goods.csv").write_text("thing,kind\nglass vase,fragile\nwool scarf,soft\n")
    (tmp_path / "fees.csv").write_text("kind,max_weight,fee\nfragile,5,20\nsoft,1,3\nsoft,9,7\n")
    plan = build_pack("p", draft(ingest(sorted(tmp_path.iterdir())), "Handle it.").files).plan
    assert [(p.id, getattr(p.step, "tool", None)) for p in plan.in_order()] == [
        ("complaints_read", "complaints_lookup"),
        ("reading_extract", None),
        ("classify", "goods_lookup"),
        ("decide", "fees_lookup"),
    ]
    assert plan.phases[3].step.arguments == {
        "kind": "$classify.kind",
        "max_weight": "$complaints_read.weight",
    }
    assert plan.output == {"kind": "$classify.kind", "fee": "$decide.fee"}


@pytest.mark.parametrize(
    ("effect", "planned"),
    [("transactional_write", True), ("destructive", False), ("external_side_effect", False)],
)
def test_only_reversible_writes_are_planned(tmp_path, effect, planned):
    """The same operation, with every argument at hand, is left out once it reaches further."""
    head = "order_id,stars,story\n"
    row = "A1,5,I like this one very much and would buy it again\n"
    (tmp_path / "orders.csv").write_text(head + row)
    (tmp_path / "api.yaml").write_text(
        API.replace("operationId: addNote", f"operationId: addNote\n      x-effect: {effect}")
    )
    made = draft(ingest(sorted(tmp_path.iterdir())), "Note it.")
    plan = build_pack("p", made.files).plan
    assert ("addnote" in {getattr(p.step, "tool", None) for p in plan.phases}) is planned
    assert (f"addnote: {effect} needs authority, so it is not planned" in made.notes) is not planned


def test_without_anything_to_chain_a_person_must_accept_the_answer(tmp_path):
    """Prose alone gives one phase that answers a request and declares no check."""
    (tmp_path / "notes.md").write_text("Just some prose.")
    pack = build_pack("p", draft(ingest([tmp_path / "notes.md"]), "Help.").files)
    (phase,) = pack.plan.phases
    assert (phase.id, phase.agent, phase.step.check) == ("reply", "analyst", None)
    assert "analyst" in pack.agents


def test_keys_are_the_shortest_leading_run_that_tells_rows_apart():
    """By hand: a alone repeats, (a, b) does not; a full-width key leaves nothing to look up."""
    assert key_columns(_table("abc", ("1", "x", "p"), ("1", "y", "q"))) == ("a", "b")
    assert key_columns(_table("ab", ("1", "x"), ("2", "x"))) == ("a",)
    assert key_columns(_table("ab", ("1", "x"), ("1", "y"))) == ()
    assert key_columns(_table("ab", ("1", "x"), (None, "y"))) == ()
    assert key_columns(_table("ab", ("A", "x"), ("a ", "y"))) == ()  # the same to a lookup


def test_containment_is_read_off_the_data():
    """Half of the sentences hold a key cell → contained_in; fewer, or a known name → equals."""
    table = _table(("thing", "kind"), ("cat", "pet"), ("fir", "tree"))
    half = ["a cat sat", "nothing here"]
    assert lookup_of(table, half, ()).keys == {"thing": "contained_in"}
    assert lookup_of(table, [*half, "nor here"], ()).keys == {"thing": "equals"}
    assert lookup_of(table, half, ("thing",)).keys == {"thing": "equals"}


def test_bounds_are_read_off_the_name_and_the_numbers():
    """``max_`` and numeric cells → at_most; words in the column → equals."""
    rows = (("low", "5", "a"), ("low", "9 days", "b"))
    assert lookup_of(_table(("risk", "max_days", "d"), *rows), (), ()).keys == {
        "risk": "equals",
        "max_days": "at_most",
    }
    words = (("low", "five", "a"), ("low", "nine", "b"))
    assert lookup_of(_table(("risk", "max_days", "d"), *words), (), ()).keys["max_days"] == "equals"


@pytest.mark.parametrize(
    ("text", "value"),
    [("90 days", 90), (" 30 ", 30), ("180d", 180), ("-2.5 °C", -2.5), ("none", None), ("", None)],
)
def test_number_reads_the_first_number(text, value):
    """People write units; nothing numeric is None, never 0."""
    assert number(text) == value


def test_clean_follows_the_form_and_reports_what_it_cannot():
    """Allowed values as the form spells them, numbers bare, defaults for blanks, others kept."""
    fields = {
        "c": {"type": "string", "enum": ["None", "Some"], "default": "None"},
        "n": {"type": "integer"},
    }
    table = _table("cnx", (" some", "9 d", " x "), (None, "many", None), ("else", "7", "y"))
    made, notes = clean(table, fields)
    assert made.rows == (("Some", "9", "x"), ("None", "many", None), ("else", "7", "y"))
    assert [d.message for d in notes] == [
        "t.n: 1 cell(s) are not what the form allows, first 'many'",
        "t.c: 1 cell(s) are not what the form allows, first 'else'",
    ]


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1, max_size=8))
def test_cleaning_twice_changes_nothing_more(rows):
    """clean is idempotent."""
    fields = {"a": {"enum": ["x", "Y"], "default": "x"}, "b": {"type": "number"}}
    once, _ = clean(_table("ab", *rows), fields)
    assert clean(once, fields)[0] == once


@pytest.mark.parametrize(
    ("brief", "title"),
    [
        ("Review it. Then more.", "Review it"),
        ("# Do\n\nmore", "Do"),
        ("", "Unnamed work"),
        ("  \n ", "Unnamed work"),
        ("x" * 200, "x" * 80),
    ],
)
def test_title_is_the_first_sentence(brief, title):
    """It names the pack, so it is bounded and never empty."""
    assert title_of(brief) == title


@given(
    st.dictionaries(
        st.sampled_from(["agents/a.md", "skills/a/SKILL.md", "skills/b/SKILL.md", "goal.json"]),
        st.booleans(),
    )
)
def test_normalise_gives_a_role_and_exactly_one_canonical_playbook(shape):
    """Whatever a designer drafted, and a second pass changes nothing."""
    files = {}
    for path, canonical in shape.items():
        name = path.split("/")[-2] if "/" in path else ""
        mark = 'metadata:\n  canonical: "true"\n' if canonical else ""
        skill = f"---\nname: {name}\ndescription: d\n{mark}---\n\nBody.\n"
        files[path] = skill if path.startswith("skills/") else "text\n"
    made = normalise(Blueprint(name="n", domain="d", mode="team", files=files))
    skills = [parse_skill(t) for p, t in made.files.items() if p.startswith("skills/")]
    assert sum(s.metadata.get(CANONICAL) == "true" for s in skills) == 1
    assert any(p.startswith("agents/") for p in made.files)
    assert normalise(made).files == made.files
