"""The rungs of a ladder and the prompt they send."""

import asyncio
from typing import Any

from logoslab.errors import ToolError
from logoslab.pack.model import ModelRequest
from logoslab.pack.skill import parse_skill
from logoslab.ports import Stage
from logoslab.run.stages import (
    GreedyStage,
    SampleStage,
    SolverStage,
    cut_to_schema,
    sample_seed,
    skill_messages,
)
from logoslab.testing.models import ScriptedModel
from tests.run.make import ANSWER, SKILL

RULES = '\n## Rules\n- when description mentions "archive", data_class is "confidential"\n'
REQUEST = ModelRequest(
    model="scripted", messages=skill_messages(parse_skill(SKILL), "x"), output_schema=ANSWER
)


def answers(stage: Stage) -> list[tuple[dict[str, Any], float | None]]:
    async def collect() -> list[tuple[dict[str, Any], float | None]]:
        return [answer async for answer in stage.answers()]

    return asyncio.run(collect())


def test_the_prompt_is_the_skill() -> None:
    """Instructions and rules are the system turn, examples are turns, the text comes last."""
    messages = skill_messages(parse_skill(SKILL + RULES), "the {text}")
    assert [(m.role, m.content) for m in messages] == [
        (
            "system",
            "Copy the phrase that names the data.\n\nRules:\n"
            '- when description mentions "archive", data_class is "confidential"',
        ),
        ("user", "payroll files on the NAS"),
        ("assistant", '{"data": "payroll files"}'),
        ("user", "the {text}"),
    ]


def test_greedy_asks_once_at_temperature_zero() -> None:
    """Whatever the request said, the greedy stage draws nothing."""
    model = ScriptedModel([{"data": "a"}], usd=0.25)
    stage = GreedyStage(model.complete, REQUEST.replace(temperature=1.0))
    assert answers(stage) == [({"data": "a"}, 0.25)]
    assert [r.temperature for r in model.requests] == [0.0]


def test_samples_have_seeds_of_their_own_and_skip_invalid_replies() -> None:
    """Four draws at .7 with seeds from the task; a reply against the schema is no output."""
    model = ScriptedModel([{"data": "a"}, "cut off", {"data": 3}, {"data": "b"}])
    stage = SampleStage(model.complete, REQUEST, seed_from="t1/extract")
    assert [output for output, _ in answers(stage)] == [{"data": "a"}, {"data": "b"}]
    assert [r.seed for r in model.requests] == [sample_seed("t1/extract", i) for i in range(4)]
    assert {r.temperature for r in model.requests} == {0.7}


def test_seeds_are_the_same_everywhere() -> None:
    """The seed is the first 31 bits of SHA-256 of the names joined by the unit separator."""
    # printf 't1/extract\x1f0' | sha256sum begins with 629d985a
    assert sample_seed("t1/extract", 0) == 0x629D985A // 2
    assert len({sample_seed(f"t{i}", 0) for i in range(100)}) == 100


def test_samples_stop_when_nobody_asks_for_more() -> None:
    """The second sample is not drawn once the first was taken."""
    model = ScriptedModel([{"data": "a"}, {"data": "b"}])

    async def first() -> dict[str, Any]:
        async for output, _ in SampleStage(model.complete, REQUEST, seed_from="t").answers():
            return output
        raise AssertionError

    assert asyncio.run(first()) == {"data": "a"}
    assert model.calls == 1


def test_the_solver_is_cut_to_the_schema_and_abstains_on_a_tool_error() -> None:
    """Extra columns of a table are not an answer; no row is no answer."""

    async def row() -> Any:
        return {"data": "a", "data_class": "public"}

    async def no_row() -> Any:
        raise ToolError("t", got=1, allowed="a row", next_step="Look.")

    assert answers(SolverStage(row, ANSWER)) == [({"data": "a"}, 0.0)]
    assert answers(SolverStage(no_row, ANSWER)) == []
    assert cut_to_schema({"a": 1}, {"type": "object"}) == {"a": 1}
