"""The model designer: team, playbook or draft, and a bounded number of calls (L29)."""

from __future__ import annotations

import pytest

from logoslab.compile import ModelDesigner, ProbeValidatedPack
from logoslab.errors import ModelReplyInvalid, ModelUnavailable
from logoslab.pack.skill import parse_skill
from logoslab.testing.models import ScriptedModel
from tests.compile.make import DEMO, SOURCES, built, demo

TEAM = {
    "roles": [{"name": "team_lead", "responsibility": "keeps\nthe   order"}],
    "instructions": 'Read first.\n## Rules\n- when x mentions "a", y is "b"',
}
BAD = {"roles": [], "instructions": ""}
INVALID = ModelReplyInvalid("reply", got="{oops", allowed="JSON", next_step="Ask again.")


def _built(script):
    model = ScriptedModel(script)
    brief = (DEMO / "brief.md").read_text()
    return built(*SOURCES, brief=brief, designer=ModelDesigner(model)), model


def test_valid_answer_refines_the_team_and_nothing_else():
    """Role sentence and playbook change; plan, tools and the other files do not."""
    made, model = _built([TEAM])
    plain = demo()
    assert isinstance(made, ProbeValidatedPack)
    assert made.pack.manifest.compiler["designer"] == "team"
    changed = {p for p, t in made.pack.files.items() if plain.pack.files[p] != t}
    assert changed == {"agents/team_lead.md", "skills/task-playbook/SKILL.md"}
    assert "**Responsibility:** keeps the order\n" in made.pack.agents["team_lead"]
    assert model.calls == 1


def test_model_text_cannot_become_a_rule():
    """Its lines are quoted, so the skill parser sees no rule in them."""
    made, _ = _built([TEAM])
    skill = made.pack.skills["task-playbook"]
    assert '> - when x mentions "a", y is "b"' in skill.instructions
    assert skill.rules == ()
    assert parse_skill(made.pack.files["skills/task-playbook/SKILL.md"]).rules == ()


def test_repair_prompt_says_what_was_wrong():
    """The second request carries the reason, and a good second answer is used."""
    made, model = _built([INVALID, TEAM])
    assert made.pack.manifest.compiler["designer"] == "team"
    assert model.requests[1].messages[-1].content == (
        "That does not fit the schema: {oops. Answer again in JSON."
    )


def test_prose_after_the_last_repair_becomes_one_playbook():
    """r_max = 2: three schema-bound calls, then one for prose; one analyst does every phase."""
    made, model = _built([INVALID, INVALID, INVALID, "Read the row, then use the tables in order."])
    assert model.calls == 4
    assert isinstance(made, ProbeValidatedPack)
    assert made.pack.manifest.compiler["designer"] == "playbook"
    assert set(made.pack.agents) == {"analyst"}
    assert {p.agent for p in made.pack.plan.phases} == {"analyst"}
    assert (
        "> Read the row, then use the tables in order."
        in made.pack.skills["task-playbook"].instructions
    )


@pytest.mark.parametrize(
    ("script", "calls", "note"),
    [
        ([INVALID] * 4, 4, "the model gave neither valid JSON nor prose"),
        ([INVALID] * 3 + ["no"], 4, "the model gave neither valid JSON nor prose"),
        (
            [ModelUnavailable("model", got="no weights", allowed="a model", next_step="Add one.")],
            1,
            "the model was not used: model: allowed a model; got no weights. Add one.",
        ),
    ],
)
def test_otherwise_the_deterministic_draft_stands(script, calls, note):
    """No answer, a word, or no model at all: same files as without a model, and a note."""
    made, model = _built(script)
    assert model.calls == calls
    assert made.pack.manifest.compiler["designer"] == "deterministic"
    assert made.pack.files == demo().pack.files
    assert note in made.notes
