"""Chain → phases with names, agents and references: the execution plan of a pack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pydantic import JsonValue

from logoslab.compile.chain import Call, Chain, Hop
from logoslab.compile.ingest.bounds import identifier, unique
from logoslab.compile.material import Material
from logoslab.compile.tables import column
from logoslab.pack.plan import (
    Condition,
    ExecutionPlan,
    HumanStep,
    ModelStep,
    Phase,
    Step,
    ToolStep,
)
from logoslab.pack.references import step_roots
from logoslab.pack.tool import RestBinding


class Layout(NamedTuple):
    """The plan, and the skill under which the model reads."""

    plan: ExecutionPlan
    reading_skill: str | None


def lay_out(material: Material, chain: Chain) -> Layout:
    """Name the phases of a chain and connect them by references."""
    builder = _Builder(material, chain)
    builder.read()
    for hop in chain.hops:
        builder.look_up(hop)
    builder.ask()
    for call in chain.calls:
        builder.call(call)
    if not builder.phases:
        builder.answer()
    return Layout(
        ExecutionPlan(phases=tuple(builder.phases), output=builder.output()), builder.skill
    )


class _Builder:
    """Phases in order; ``home`` says which phase gives each fact."""

    def __init__(self, material: Material, chain: Chain) -> None:
        self.material, self.chain = material, chain
        self.phases: list[Phase] = []
        self.home = dict.fromkeys(chain.inputs, "inputs")
        self.taken: set[str] = {"inputs", "output"}
        self.called: dict[str, str] = {}
        self.skill = material.skills[0][0] if material.skills else None
        self.extracts = any(hop.lookup.contained_key for hop in chain.hops)

    def ref(self, fact: str) -> str:
        return f"${self.home[fact]}.{fact}"

    def add(self, wish: str, agent: str, step: Step, when: Condition | None = None) -> str:
        name = unique(identifier(wish, "step"), self.taken)
        needs = set(step_roots(step, when)) - {"inputs", "output"}
        # An operation comes after the question about it, answered or not.
        if isinstance(step, ToolStep) and agent == "response_writer":
            needs |= {p.id for p in self.phases if isinstance(p.step, HumanStep)}
        order = [phase.id for phase in self.phases]
        phase = Phase(
            id=name, agent=agent, step=step, needs=tuple(n for n in order if n in needs), when=when
        )
        self.phases.append(phase)
        return name

    def read(self) -> None:
        record = self.material.record
        if record is None:
            return
        step = ToolStep(
            tool=f"{record.table.name}_lookup", arguments={k: self.ref(k) for k in record.keys}
        )
        stem = (self.skill or record.table.name).replace("-", "_")
        name = self.add(f"{stem}_read", "intake_analyst", step)
        self.home |= {fact: name for fact in record.results if fact not in self.home}

    def look_up(self, hop: Hop) -> None:
        key = hop.lookup.contained_key
        arguments: dict[str, JsonValue] = {k: self.ref(f) for k, f in hop.feeds.items()}
        skill = None
        if key:
            arguments = {key: f"${self.extract(hop, key)}.{key}"}
            skill = self.skill or "reading"
        tool = f"{hop.lookup.table.name}_lookup"
        step = ToolStep(tool=tool, arguments=arguments, skill=skill)
        name = self.add(self._wish(hop), self._agent(hop), step)
        self.home |= dict.fromkeys(hop.gives, name)

    def extract(self, hop: Hop, key: str) -> str:
        """A model copies a phrase; the table says whether it holds a known term."""
        self.skill = self.skill or "reading"
        tool, text = f"{hop.lookup.table.name}_lookup", self.ref(hop.feeds[key])
        longest = max(len(cell) for cell in column(hop.lookup.table, key))
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {key: {"type": "string", "maxLength": max(40, 2 * longest)}},
            "required": [key],
            "additionalProperties": False,
        }
        step = ModelStep(
            skill=self.skill,
            text=text,
            output_schema=schema,
            check=ToolStep(tool=tool, arguments={key: f"$output.{key}"}),
            solver=ToolStep(tool=tool, arguments={key: text}),
        )
        return self.add(f"{self.skill.replace('-', '_')}_extract", "intake_analyst", step)

    def ask(self) -> None:
        question = self.chain.question
        if question is None:
            return
        shown = [*self.chain.inputs, *self.output_facts()]
        step = HumanStep(
            question=f"The {question.fact} is {question.value} (clause {question.clause}). "
            "May this go ahead, and who says so?",
            arguments={fact: self.ref(fact) for fact in shown},
        )
        when = Condition(ref=self.ref(question.fact), values=(question.value,))
        self.add("control_review", "control_owner", step, when)

    def call(self, call: Call) -> None:
        step = ToolStep(
            tool=call.tool.name, arguments={a: self.ref(f) for a, f in call.feeds.items()}
        )
        name = self.add(_verb(call), "response_writer", step)
        self.called[name] = f"${name}"

    def answer(self) -> None:
        """Nothing to chain: one phase that answers a request, for a person to accept."""
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {"answer": {"type": "string", "maxLength": 600}},
            "required": ["answer"],
            "additionalProperties": False,
        }
        step = ModelStep(skill="task-playbook", text="$inputs.request", output_schema=schema)
        self.called["answer"] = f"${self.add('reply', 'analyst', step)}.answer"

    def output_facts(self) -> list[str]:
        return [fact for hop in self.chain.hops for fact in hop.gives]

    def output(self) -> dict[str, JsonValue]:
        return {**{fact: self.ref(fact) for fact in self.output_facts()}, **self.called}

    def _wish(self, hop: Hop) -> str:
        if hop.lookup.contained_key:
            return "classify"
        if self._decides(hop):
            return "decide"
        table = hop.lookup.table
        stem = identifier(table.provenance.source.rsplit(".", 1)[0], "table")
        return table.name.removeprefix(f"{stem}_") or table.name

    def _decides(self, hop: Hop) -> bool:
        """Whether no later lookup reads what this one gives: its facts go to people and calls."""
        read = {fact for other in self.chain.hops for fact in other.feeds.values()}
        return bool(hop.lookup.keys) and not read & set(hop.gives)

    def _agent(self, hop: Hop) -> str:
        policy = hop.lookup.contained_key or self._decides(hop)
        return "policy_mapper" if policy else "risk_assessor"


def _verb(call: Call) -> str:
    """The last fixed segment of the path, which REST APIs use for what is done."""
    path = call.tool.binding.path if isinstance(call.tool.binding, RestBinding) else call.tool.name
    fixed = [part for part in path.split("/") if part and not part.startswith("{")]
    return fixed[-1] if fixed else call.tool.name


def names_of(phases: Sequence[Phase]) -> list[str]:
    """The agents of a plan, each once, in order of first appearance."""
    return list(dict.fromkeys(phase.agent for phase in phases))
