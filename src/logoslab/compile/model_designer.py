"""A model refines the deterministic draft (L29): a team when it answers in schema-valid JSON, one
playbook when it answers in prose, otherwise the draft as it is. It decides no tool and no effect.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from logoslab.compile.design import draft, normalise
from logoslab.compile.emit import skill_text
from logoslab.errors import ModelError, ModelReplyInvalid
from logoslab.pack.agent_pack import pretty_json
from logoslab.pack.model import Message, ModelRequest
from logoslab.pack.run import Blueprint
from logoslab.pack.schema import first_flaw
from logoslab.pack.source import SourceReading
from logoslab.pack.tool import Schema
from logoslab.ports import Model

PLAYBOOK = "skills/task-playbook/SKILL.md"
ASK = (
    "You help to describe a team of agents. For each role write one sentence of responsibility. "
    "Then write short instructions for one task."
)


class ModelDesigner:
    """Refines roles and instructions.

    Parameters
    ----------
    model : Model
    repairs : int
        r_max of L29: how often the model is told what was wrong.
    """

    def __init__(self, model: Model, *, repairs: int = 2, max_tokens: int = 400) -> None:
        self.model, self.repairs, self.max_tokens = model, repairs, max_tokens

    async def design(self, readings: Sequence[SourceReading], brief: str) -> Blueprint:
        """A team, a playbook or the deterministic draft; never a model's error."""
        base = draft(readings, brief)
        roles = sorted(p[7:-3] for p in base.files if re.fullmatch(r"agents/\w+\.md", p))
        task = f"Brief: {brief.strip()[:1500]}\nRoles: {', '.join(roles)}"
        try:
            answer = await self._team(task, _schema(roles))
            if answer is not None:
                return normalise(as_team(base, answer))
            prose = await self._prose(task)
        except ModelError as cause:
            return _noted(base, f"the model was not used: {cause}")
        if prose:
            return normalise(as_playbook(base, prose))
        return _noted(base, "the model gave neither valid JSON nor prose")

    async def _team(self, task: str, schema: Schema) -> dict[str, Any] | None:
        """A schema-valid answer, with at most ``repairs`` further prompts; else None."""
        messages = [Message(role="system", content=ASK), Message(role="user", content=task)]
        for _ in range(1 + self.repairs):
            try:
                reply = await self.model.complete(self._request(messages, schema))
                said, wrong = reply.text, first_flaw(reply.data, schema)
            except ModelReplyInvalid as cause:
                said, wrong = "", cause.got if isinstance(cause.got, str) else repr(cause.got)
            else:
                if wrong is None:
                    return dict(reply.data)
            if said:
                messages.append(Message(role="assistant", content=said[:1000]))
            repair = f"That does not fit the schema: {str(wrong)[:300]}. Answer again in JSON."
            messages.append(Message(role="user", content=repair))
        return None

    async def _prose(self, task: str) -> str | None:
        messages = [
            Message(role="system", content="Say in a few sentences how one task is done."),
            Message(role="user", content=task),
        ]
        try:
            reply = await self.model.complete(self._request(messages, None))
        except ModelReplyInvalid:
            return None
        text = reply.text.strip()
        return text if len(text.split()) >= 5 and not text.startswith(("{", "[")) else None

    def _request(self, messages: Sequence[Message], schema: Schema | None) -> ModelRequest:
        return ModelRequest(
            model=self.model.name,
            messages=tuple(messages),
            output_schema=schema,
            max_tokens=self.max_tokens,
        )


def as_team(base: Blueprint, answer: dict[str, Any]) -> Blueprint:
    """The draft with the model's sentence in each role file, its instructions in the playbook."""
    files = dict(base.files)
    for role in answer["roles"]:
        path = f"agents/{role['name']}.md"
        line = f"**Responsibility:** {_one_line(role['responsibility'])}"
        lines = files[path].split("\n")
        files[path] = "\n".join(
            line if old.startswith("**Responsibility:**") else old for old in lines
        )
    files[PLAYBOOK] = _playbook(base, answer["instructions"])
    return base.replace(mode="team", files=files)


def as_playbook(base: Blueprint, prose: str) -> Blueprint:
    """One analyst does every phase by the model's prose; plan, tools and checks stay."""
    files = {p: t for p, t in base.files.items() if not p.startswith("agents/")}
    files["agents/analyst.md"] = "# Analyst\n\nDoes every phase by the canonical playbook.\n"
    plan = json.loads(files["execution_plan.json"])
    for phase in plan["phases"]:
        phase["agent"] = "analyst"
    files["execution_plan.json"] = pretty_json(plan)
    files[PLAYBOOK] = _playbook(base, prose)
    return base.replace(mode="playbook", files=files)


def _playbook(base: Blueprint, instructions: str) -> str:
    # The model's words are data: no line of them may look like a section or a rule.
    said = "\n".join(f"> {line}" for line in instructions.strip()[:2000].splitlines())
    steps = base.files[PLAYBOOK].split("---\n", 2)[-1].strip()
    description = f"The order of work for one task: {base.domain}."
    return skill_text("task-playbook", description, f"{said}\n\n{steps}", canonical=True)


def _schema(roles: Sequence[str]) -> Schema:
    sentence: Schema = {"type": "string", "minLength": 1, "maxLength": 300}
    role: Schema = {
        "type": "object",
        "properties": {"name": {"type": "string", "enum": list(roles)}, "responsibility": sentence},
        "required": ["name", "responsibility"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": {
            "roles": {"type": "array", "items": role, "minItems": 1, "maxItems": len(roles)},
            "instructions": {"type": "string", "minLength": 1, "maxLength": 1200},
        },
        "required": ["roles", "instructions"],
        "additionalProperties": False,
    }


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _noted(base: Blueprint, note: str) -> Blueprint:
    return base.replace(notes=(*base.notes, note))
