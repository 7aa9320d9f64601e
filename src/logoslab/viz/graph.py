"""A pack as nodes and edges with coordinates: agents, phases, tools and skills in four lanes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.plan import ModelStep, Phase, ToolStep

if TYPE_CHECKING:
    import pandas as pd

LANES = {"agent": 0.0, "phase": 0.95, "tool": 1.95, "skill": 3.2}
"""Kind → x of its lane; a phase of a layer with several is shifted within its lane."""


class PackFrame(NamedTuple):
    """A pack to draw.

    ``nodes``: ``node`` (``kind:label``), ``kind``, ``label``, ``detail``, ``layer`` (depth in the
    plan; for other kinds, of the first phase that uses them), ``x``, ``y`` (downwards is −).
    ``edges``: ``source``, ``target``, ``relation`` (``then``, ``acts``, ``calls``, ``checks``,
    ``solves``, ``reads``).
    """

    nodes: pd.DataFrame
    edges: pd.DataFrame


def pack_frame(pack: AgentPack) -> PackFrame:
    """Nodes and edges of a pack: the plan's DAG and what each phase uses.

    Tools and skills that no phase uses are nodes too, at the foot of their lane.
    """
    import networkx as nx
    import pandas as pd

    edges = [edge for phase in pack.plan.phases for edge in _edges_of(phase)]
    layers = {
        phase: depth
        for depth, layer in enumerate(nx.topological_generations(pack.plan.graph()))
        for phase in layer
    }
    nodes = _phase_nodes(pack, layers)
    at = {str(node["node"]): (int(str(node["layer"])), float(str(node["y"]))) for node in nodes}
    members: dict[str, Mapping[str, str]] = {
        "agent": dict.fromkeys([*(phase.agent for phase in pack.plan.phases), *pack.agents], ""),
        "tool": {name: spec.effect.value.replace("_", " ") for name, spec in pack.tools.items()},
        "skill": dict.fromkeys(pack.skills, ""),
    }
    named = {target.partition(":")[::2] for _, target, relation in edges if relation != "then"}
    for kind, declared in members.items():
        missing = {
            n: "not in the pack" for k, n in sorted(named) if k == kind and n not in declared
        }
        nodes += _lane(kind, {**declared, **missing}, edges, at)
    return PackFrame(
        pd.DataFrame(nodes), pd.DataFrame(edges, columns=["source", "target", "relation"])
    )


def _edges_of(phase: Phase) -> list[tuple[str, str, str]]:
    me, step = f"phase:{phase.id}", phase.step
    edges = [(f"phase:{need}", me, "then") for need in phase.needs]
    edges.append((me, f"agent:{phase.agent}", "acts"))
    if isinstance(step, ToolStep):
        edges.append((me, f"tool:{step.tool}", "calls"))
        edges += [(me, f"skill:{step.skill}", "reads")] if step.skill else []
    if isinstance(step, ModelStep):
        edges.append((me, f"skill:{step.skill}", "reads"))
        edges += [(me, f"tool:{step.check.tool}", "checks")] if step.check else []
        edges += [(me, f"tool:{step.solver.tool}", "solves")] if step.solver else []
    return edges


def _phase_nodes(pack: AgentPack, layers: Mapping[str, int]) -> list[dict[str, object]]:
    width = {d: sum(1 for v in layers.values() if v == d) for d in layers.values()}
    seen = dict.fromkeys(width, 0)
    nodes: list[dict[str, object]] = []
    for phase in pack.plan.phases:
        depth = layers[phase.id]
        shift = (seen[depth] / width[depth]) * 0.8
        # A small step down per neighbour keeps the labels of one layer apart.
        drop = 0.3 * seen[depth]
        seen[depth] += 1
        nodes.append(
            {
                "node": f"phase:{phase.id}",
                "kind": "phase",
                "label": phase.id,
                "detail": f"{phase.step.kind} step",
                "layer": depth,
                "x": LANES["phase"] + shift,
                "y": -float(depth) - drop,
            }
        )
    return nodes


def _lane(
    kind: str,
    members: Mapping[str, str],
    edges: Iterable[tuple[str, str, str]],
    at: Mapping[str, tuple[int, float]],
) -> list[dict[str, object]]:
    """Each member beside the mean height of its phases, at least one row below the one above."""
    users: dict[str, list[tuple[int, float]]] = {name: [] for name in members}
    for source, target, _ in edges:
        if target.startswith(f"{kind}:"):
            users[target.partition(":")[2]].append(at[source])
    foot = min((y for _, y in at.values()), default=0.0) - 1.0
    height = {n: sum(y for _, y in u) / len(u) if u else foot for n, u in users.items()}
    nodes: list[dict[str, object]] = []
    previous = float("inf")
    for name in sorted(members, key=lambda n: (-height[n], n)):
        previous = min(height[name], previous - 1.0)
        nodes.append(
            {
                "node": f"{kind}:{name}",
                "kind": kind,
                "label": name,
                "detail": members[name],
                "layer": min((layer for layer, _ in users[name]), default=-1),
                "x": LANES[kind],
                "y": previous,
            }
        )
    return nodes
