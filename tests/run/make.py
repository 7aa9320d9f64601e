"""A small review pack and doubles of the ports around the run room."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logoslab.errors import ToolError
from logoslab.pack.agent_pack import AgentPack, build_pack
from logoslab.pack.event import Event
from logoslab.pack.policy import RootPolicy
from logoslab.pack.run import Attempt, Routed
from logoslab.pack.task import Task
from logoslab.pack.tool import ToolSpec
from logoslab.pack.verdict import Outcome, StackVerdict, Verdict
from logoslab.ports import Stage, VerifyContext
from logoslab.run.budget import Budget
from logoslab.run.native import NativeBackend
from logoslab.testing.clock import FixedClock
from logoslab.testing.models import ScriptedModel

OBJECT = {"type": "object"}
ANSWER = {
    "type": "object",
    "properties": {"data": {"type": "string"}},
    "required": ["data"],
    "additionalProperties": False,
}
SKILL = """---
name: intake
description: Find the data.
---
Copy the phrase that names the data.

## Examples
- input: payroll files on the NAS
  output: {"data": "payroll files"}
"""


class MemoryRecorder:
    """Keeps events in a list; counts flushes."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.flushed = 0

    def record(self, event: Event) -> None:
        self.events.append(event)

    def flush(self) -> None:
        self.flushed = len(self.events)

    def of(self, kind: str) -> list[Any]:
        return [e for e in self.events if e.kind == kind]

    @property
    def text(self) -> str:
        return "\n".join(e.model_dump_json() for e in self.events)


class Climb:
    """A router that tries every stage from the first."""

    async def answer(
        self,
        dimension: str,
        stages: Sequence[Stage],
        accept: Callable[[Mapping[str, Any]], StackVerdict],
    ) -> Routed:
        attempts = []
        for stage in stages:
            async for output, cost in stage.answers():
                verdict = accept(output)
                attempts.append(
                    Attempt(stage=stage.name, output=output, verdict=verdict, cost=cost)
                )
                if verdict.accepted:
                    return Routed(
                        output=output,
                        stage=stage.name,
                        entry=stages[0].name,
                        attempts=tuple(attempts),
                    )
        return Routed(output=None, stage=None, entry=stages[0].name, attempts=tuple(attempts))

    def snapshot(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        return None


def execution_decides(context: VerifyContext) -> StackVerdict:
    """Accept what the declared check executes; accept everything when there is no check."""
    passed, detail = context.execute() if context.execute else (True, "no check declared")
    verdict = Verdict(
        verifier="execution",
        kind="execution",
        scope="output",
        outcome=Outcome.PASS if passed else Outcome.FAIL,
        detail=detail,
        sufficient=True,
    )
    return StackVerdict(accepted=passed, reason=detail, verdicts=(verdict,))


class Tools:
    """Runs tool bodies from a table of functions; keeps what was called."""

    def __init__(self, bodies: Mapping[str, Callable[..., Any]]) -> None:
        self.bodies, self.called = dict(bodies), list[tuple[str, dict[str, Any]]]()

    async def call(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> Any:
        self.called.append((spec.name, dict(arguments)))
        return self.bodies[spec.name](**arguments)


def tool(name: str, effect: str = "read_only", **more: Any) -> dict[str, Any]:
    binding = (
        {"kind": "table", "source": f"sources/{name}.csv", "columns": ["x"], "keys": {}}
        if effect == "read_only"
        else {"kind": "rest", "service": "exceptions", "method": "POST", "path": f"/{name}"}
    )
    fields = {"input_schema": OBJECT, "output_schema": OBJECT, "binding": binding, **more}
    return {"name": name, "description": name, "effect": effect, **fields}


def phase(id_: str, step: dict[str, Any], *needs: str, when: Any = None) -> dict[str, Any]:
    return {"id": id_, "agent": "reviewer", "step": step, "needs": list(needs), "when": when}


def call(name: str, skill: str | None = None, **arguments: Any) -> dict[str, Any]:
    return {"kind": "tool", "tool": name, "arguments": arguments, "skill": skill}


PLAN = {
    "phases": [
        phase("read", call("tickets", ticket_id="$inputs.ticket_id")),
        phase(
            "extract",
            {
                "kind": "model",
                "skill": "intake",
                "text": "$read.description",
                "output_schema": ANSWER,
                "check": call("definitions", data="$output.data"),
                "solver": call("definitions", data="$read.description"),
            },
            "read",
        ),
        phase("classify", call("definitions", "intake", data="$extract.data"), "extract"),
        phase(
            "review",
            {"kind": "human", "question": "Allowed?", "arguments": {"data": "$classify"}},
            "classify",
            when={"ref": "$classify.data_class", "values": ["secret"]},
        ),
        phase("draft", call("draft", data_class="$classify.data_class"), "classify", "review"),
        phase("note", call("tickets", ticket_id="$inputs.ticket_id")),
    ],
    "output": {
        "data_class": "$classify.data_class",
        "draft": "$draft",
        "note": "$note.description",
    },
}
TOOLS = (
    tool("tickets"),
    tool("definitions"),
    tool("draft", "transactional_write", idempotency="key"),
    tool("submit", "external_side_effect"),
)
TERMS = {"payroll files": "confidential", "brochures": "public", "launch codes": "secret"}


def definitions(data: str) -> dict[str, str]:
    for term, data_class in TERMS.items():
        if term in data:
            return {"data": term, "data_class": data_class}
    raise ToolError("definitions", got=data, allowed="a known term", next_step="Add the term.")


def make_pack(plan: Mapping[str, Any] = PLAN, skill: str = SKILL, tools: Any = TOOLS) -> AgentPack:
    files = {f"tools/{t['name']}.json": json.dumps(t) for t in tools}
    files |= {
        "skills/intake/SKILL.md": skill,
        "execution_plan.json": json.dumps(plan),
        "genome.json": "{}",
        "verifiers.json": "[]",
        "probes.json": "[]",
    }
    return build_pack("review", files)


def make_policy(**effects: Any) -> RootPolicy:
    allowed = {"allowed": ["read_only", "transactional_write"], "needs_authority": ["submit"]}
    return RootPolicy.model_validate(
        {
            "objective": "review",
            "permissions": {"tools": ["tickets", "definitions", "draft", "submit"]},
            "effects": {**allowed, **effects},
        }
    )


def make_tools(description: str = "payroll files on the NAS", **bodies: Any) -> Tools:
    return Tools(
        {
            "tickets": lambda ticket_id: {"ticket_id": ticket_id, "description": description},
            "definitions": definitions,
            "draft": lambda **body: {"id": "d-1", **body},
            "submit": lambda **body: {"submitted": True},
            **bodies,
        }
    )


TASK = Task(id="t1", inputs={"ticket_id": "T-1"})


def make_backend(
    recorder: MemoryRecorder, model: Any = None, tools: Any = None, **changes: Any
) -> NativeBackend:
    defaults: dict[str, Any] = {
        "router": Climb(),
        "accept": execution_decides,
        "policy": make_policy(),
        "human": None,
        "clock": FixedClock(step=0.5),
        "budget": Budget(),
    }
    return NativeBackend(
        model=model or ScriptedModel([{"data": "payroll files"}]),
        runner=tools or make_tools(),
        recorder=recorder,
        **{**defaults, **changes},
    )
