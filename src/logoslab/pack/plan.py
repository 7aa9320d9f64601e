"""Execution plan: the phase DAG that a pack runs for every task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, JsonValue, model_validator

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen
from logoslab.pack.tool import Schema

if TYPE_CHECKING:
    import networkx as nx

Argument = JsonValue
"""A literal, or a reference ``"$phase.field"`` / ``"$inputs.field"`` into earlier results."""


class ToolStep(Frozen):
    """Call one tool through the tool gate.

    ``skill`` names the playbook whose ``## Rules`` may amend the result, if any.
    """

    kind: Literal["tool"] = "tool"
    tool: str
    arguments: dict[str, Argument] = Field(default_factory=dict)
    skill: str | None = None


class ModelStep(Frozen):
    """Ask for structured output under a skill. The router decides who answers.

    ``text`` is what the model reads. ``check`` is a tool call that must succeed for an answer to
    be accepted (execution evidence); it may refer to the answer as ``$output.field``. ``solver``
    is a deterministic tool that can answer when models cannot; its result is cut to the schema's
    fields.
    """

    kind: Literal["model"] = "model"
    skill: str
    text: Argument
    output_schema: Schema
    check: ToolStep | None = None
    solver: ToolStep | None = None


class HumanStep(Frozen):
    """Ask a person for authority or a missing fact."""

    kind: Literal["human"] = "human"
    question: str
    arguments: dict[str, Argument] = Field(default_factory=dict)


Step = ModelStep | ToolStep | HumanStep


class Condition(Frozen):
    """Run a phase only when an earlier value is one of ``values`` (or is not)."""

    ref: str
    values: tuple[JsonValue, ...]
    negate: bool = False


class Phase(Frozen):
    """One node: who acts, what they do, what must be finished before."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    agent: str
    step: Step = Field(discriminator="kind")
    needs: tuple[str, ...] = ()
    when: Condition | None = None


class ExecutionPlan(Frozen):
    """An acyclic set of phases and the fields that make up the team's answer.

    ``output`` maps each answer field to a reference, e.g. ``{"risk": "$risk.residual_risk"}``.
    """

    phases: tuple[Phase, ...]
    output: dict[str, Argument] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_a_dag(self) -> ExecutionPlan:
        import networkx as nx

        ids = [phase.id for phase in self.phases]
        unknown = {n for phase in self.phases for n in phase.needs} - set(ids)
        if len(set(ids)) != len(ids) or unknown or not nx.is_directed_acyclic_graph(self.graph()):
            raise InvalidValue(
                "execution plan",
                got=[(phase.id, phase.needs) for phase in self.phases],
                allowed="unique phases whose needs name other phases without a cycle",
                next_step="Correct needs in execution_plan.json.",
            )
        return self

    def graph(self) -> nx.DiGraph[str]:
        """Phases as nodes, needs as edges."""
        import networkx as nx

        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(phase.id for phase in self.phases)
        graph.add_edges_from((need, phase.id) for phase in self.phases for need in phase.needs)
        return graph

    def tool_steps(self) -> list[ToolStep]:
        """Every tool call that the plan can make: phases, and the checks and solvers of models."""
        found: list[ToolStep] = []
        for phase in self.phases:
            if isinstance(phase.step, ToolStep):
                found.append(phase.step)
            elif isinstance(phase.step, ModelStep):
                found += [s for s in (phase.step.check, phase.step.solver) if s is not None]
        return found

    def in_order(self) -> list[Phase]:
        """Phases in a deterministic topological order (ties by position in the file)."""
        import networkx as nx

        rank = {phase.id: i for i, phase in enumerate(self.phases)}
        by_id = {phase.id: phase for phase in self.phases}
        order = nx.lexicographical_topological_sort(self.graph(), key=lambda n: rank[n])
        return [by_id[node] for node in order]
