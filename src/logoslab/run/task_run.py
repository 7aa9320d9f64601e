"""What one task of one arm carries through its phases."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from logoslab.errors import PackError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.plan import Phase, ToolStep
from logoslab.pack.references import resolve
from logoslab.pack.skill import Skill
from logoslab.pack.task import Task
from logoslab.pack.tool import ToolSpec
from logoslab.ports import Human, Model
from logoslab.run.budget import Spending
from logoslab.run.effects import Caller, ToolGate
from logoslab.run.trace import Trace


class TaskRun:
    """The state of a running task: results so far, the trace, the gate, the spending.

    Attributes
    ----------
    results : dict
        Phase id → result, in the order in which phases finished.
    idle : set
        Phases whose condition did not hold; references into them are None.
    blocked : dict
        Phase id → why it has no result: it failed, went to a person, or depended on such a phase.
    stages : dict
        Model phase id → the stage that answered, None when nobody did.
    """

    def __init__(
        self,
        pack: AgentPack,
        task: Task,
        model: Model,
        trace: Trace,
        gate: ToolGate,
        spending: Spending,
    ) -> None:
        self.pack, self.task, self.model = pack, task, model
        self.trace, self.gate, self.spending = trace, gate, spending
        self.results: dict[str, Any] = {}
        self.idle: set[str] = set()
        self.blocked: dict[str, str] = {}
        self.stages: dict[str, str | None] = {}

    def known(self, **extra: Any) -> dict[str, Any]:
        """What references may refer to now."""
        absent = dict.fromkeys(self.idle)
        return {**absent, **self.results, "inputs": self.task.inputs, **extra}

    def facts(self) -> dict[str, Any]:
        """Inputs and every field found so far, later ones winning; what rules read."""
        merged: dict[str, Any] = dict(self.task.inputs)
        for result in self.results.values():
            if isinstance(result, Mapping):
                merged.update(result)
        return merged

    def skill(self, name: str) -> tuple[Skill, str]:
        """A playbook and its component version.

        Raises
        ------
        PackError
            When the pack has no such skill.
        """
        path = f"skills/{name}/SKILL.md"
        if name not in self.pack.skills or path not in self.pack.files:
            raise _absent("skill", name, sorted(self.pack.skills))
        return self.pack.skills[name], self.pack.component_of(path)

    def tool(self, name: str) -> ToolSpec:
        """A tool's specification; :class:`PackError` when the pack has no such tool."""
        if name not in self.pack.tools:
            raise _absent("tool", name, sorted(self.pack.tools))
        return self.pack.tools[name]

    async def call_tool(self, phase: Phase, step: ToolStep, purpose: str, **extra: Any) -> Any:
        """Resolve the arguments and call the tool through the gate."""
        spec = self.tool(step.tool)
        arguments = resolve(step.arguments, self.known(**extra))
        component = f"tool/{spec.name}"
        path = f"tools/{spec.name}.json"
        if path in self.pack.components:
            component = self.pack.component_of(path)
        caller = Caller(phase.agent, component, f"{phase.id}/{purpose}")
        return await self.gate.call(spec, arguments, caller)

    async def ask_person(
        self, human: Human | None, phase: Phase, question: str, arguments: Mapping[str, Any]
    ) -> str | None:
        """Put a question to a person and record it; None while nobody has answered."""
        self.trace.emit("human", act="question", text=question, agent=phase.agent)
        if human is None:
            return None
        # In a thread: a person at a prompt must not stop the other tasks.
        answer = await asyncio.to_thread(human.ask, question, arguments)
        if answer is not None:
            self.trace.emit("human", act="answer", text=answer, agent=phase.agent)
        return answer


def _absent(what: str, name: str, have: list[str]) -> PackError:
    return PackError(
        f"{what} in execution_plan.json",
        got=name,
        allowed=f"one of {', '.join(have) or 'none: the pack has no such files'}",
        next_step=f"Correct the plan, or add the {what} to the pack.",
    )
