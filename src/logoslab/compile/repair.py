"""Bounded repair (L34): full battery each round, best pack so far kept.

Repairs are structural and deterministic: a document that does not parse goes back to the
deterministic draft, a tool's schema and binding are made to agree, a plan step gets an argument
that an earlier phase gives. Nothing is ever deleted: a capability that cannot be repaired keeps
failing its probe, which is the diagnostic.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from logoslab.compile.probe import ProbeReport, ProbeResult, header_of, names
from logoslab.errors import LogoslabError
from logoslab.pack.agent_pack import AgentPack, build_pack, pretty_json
from logoslab.pack.plan import Phase, ToolStep
from logoslab.pack.tool import RestBinding, TableBinding, ToolSpec

Battery = Callable[[AgentPack], Awaitable[ProbeReport]]


class Repaired(NamedTuple):
    """The best pack found, its battery, and what was changed on the way to it."""

    pack: AgentPack
    report: ProbeReport
    notes: tuple[str, ...]
    rounds: int


async def repair_loop(
    pack: AgentPack, battery: Battery, defaults: Mapping[str, str], rounds: int = 3
) -> Repaired:
    """Probe, repair, probe again, at most ``rounds`` times.

    Parameters
    ----------
    battery : callable
        Runs every probe on a pack.
    defaults : mapping
        Path → text of the deterministic draft.
    rounds : int
        N of L34; 0 probes once and repairs nothing.
    """
    report = await battery(pack)
    best, notes = Repaired(pack, report, (), 0), list[str]()
    for number in range(1, rounds + 1):
        changed: dict[str, str] = {}
        for failure in report.failures:
            changed |= _repair(pack, failure, defaults, changed)
        changed = {path: text for path, text in changed.items() if pack.files.get(path) != text}
        if not changed:
            break
        notes += [f"round {number}: repaired {path}" for path in sorted(changed)]
        pack = rebuilt(pack, {**pack.files, **changed})
        report = await battery(pack)
        if report.passed > best.report.passed:
            best = Repaired(pack, report, tuple(notes), number)
    return best


def rebuilt(pack: AgentPack, files: Mapping[str, str]) -> AgentPack:
    """Version 1 with other files: what was never released needs no history."""
    old = pack.manifest
    return build_pack(old.name, files, domain=old.domain, compiler=old.compiler)


def _repair(
    pack: AgentPack, failure: ProbeResult, defaults: Mapping[str, str], changed: Mapping[str, str]
) -> dict[str, str]:
    """New texts for the files that a failure points at; empty when nothing can be done."""
    path = failure.path
    if path == "skills":
        return {p: t for p, t in defaults.items() if p.startswith("skills/")}
    if failure.id == "L1:plan" and failure.detail != "not reached":
        return _repair_plan(pack, defaults)
    if path.startswith("tools/") and failure.id.startswith("L1:") and path in pack.files:
        aligned = _align(pack.files[path], pack.files)
        return {path: aligned} if aligned else {}
    if (
        (failure.id.startswith("L0:") or path == "probes.json")
        and path in defaults
        and path not in changed
    ):
        return {path: defaults[path]}
    return {}


def _align(text: str, files: Mapping[str, str]) -> str | None:
    """A tool whose input schema says what its binding uses, and whose columns are the table's."""
    try:
        spec = ToolSpec.model_validate(json.loads(text))
    except ValueError:
        return None
    schema: dict[str, Any] = dict(spec.input_schema)
    properties, required = schema.get("properties"), schema.get("required")
    properties = dict(properties) if isinstance(properties, dict) else {}
    required = [str(r) for r in required] if isinstance(required, list) else []
    binding, output = spec.binding, spec.output_schema
    used: list[str] = []
    if isinstance(binding, TableBinding):
        header = header_of(files.get(binding.source)) or list(binding.columns)
        binding = binding.replace(columns=tuple(header))
        output = {**output, "properties": {c: {"type": ["string", "null"]} for c in header},
                  "required": list(header)}  # fmt: skip
        used = list(binding.keys)
    elif isinstance(binding, RestBinding):
        used = list(binding.path_arguments)
        for name in (*binding.query.values(), *binding.body.values()):
            properties.setdefault(name, {"type": "string"})
    required += [name for name in used if name not in required]
    for name in required:
        properties.setdefault(name, {"type": "string"})
    schema |= {"type": "object", "properties": properties, "required": required}
    fixed = spec.replace(input_schema=schema, output_schema=output, binding=binding)
    return pretty_json(fixed.model_dump(mode="json"))


def _repair_plan(pack: AgentPack, defaults: Mapping[str, str]) -> dict[str, str]:
    """Arguments that a tool needs and an earlier phase gives; agents that the plan names."""
    try:
        plan, tools, facts = pack.plan, pack.tools, _facts(pack)
        phases = tuple(_fill(phase, tools, facts) for phase in plan.phases)
        text = pretty_json(plan.replace(phases=phases).model_dump(mode="json"))
    except (LogoslabError, ValueError):  # unreadable, or the argument comes later: a cycle
        return {}
    missing = {phase.agent for phase in phases} - set(pack.agents)
    agents = {f"agents/{name}.md": _plain_agent(name) for name in sorted(missing)}
    return {"execution_plan.json": text, **{p: defaults.get(p, t) for p, t in agents.items()}}


def _fill(phase: Phase, tools: Mapping[str, ToolSpec], facts: Mapping[str, str]) -> Phase:
    """The phase with the arguments that its tool takes: known ones kept, missing ones found."""
    step = phase.step
    if not isinstance(step, ToolStep) or step.tool not in tools:
        return phase
    taken, required = (names(tools[step.tool], key) for key in ("properties", "required"))
    kept = {name: value for name, value in step.arguments.items() if name in taken}
    found = {name: facts[name] for name in sorted(required - set(kept)) if name in facts}
    homes = {ref[1:].split(".")[0] for ref in found.values()} - {"inputs", *phase.needs}
    return phase.replace(
        step=step.replace(arguments={**kept, **found}), needs=(*phase.needs, *sorted(homes))
    )


def _plain_agent(name: str) -> str:
    return f"# {name.replace('_', ' ').capitalize()}\n\nActs in the plan.\n"


def _facts(pack: AgentPack) -> dict[str, str]:
    """Fact → reference, by the output schemas of the tools that the plan calls; first wins."""
    facts: dict[str, str] = {}
    for phase in pack.plan.in_order():
        if isinstance(phase.step, ToolStep) and phase.step.tool in pack.tools:
            given = pack.tools[phase.step.tool].output_schema.get("properties")
            for name in given if isinstance(given, dict) else {}:
                facts.setdefault(name, f"${phase.id}.{name}")
            for name, value in phase.step.arguments.items():
                if isinstance(value, str) and value == f"$inputs.{name}":
                    facts[name] = value
    return facts
