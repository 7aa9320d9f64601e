"""Probes (LOGOS Table 5): L0 parse, L1 instantiate, L2 invoke. Cumulative: a level that fails
keeps the next from being reached. p = passed / |C| (L33).
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from logoslab.errors import LogoslabError, ToolError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.base import Frozen, first_error_of
from logoslab.pack.plan import ModelStep, Phase, Step, ToolStep
from logoslab.pack.references import step_roots
from logoslab.pack.tool import (
    EffectClass,
    HumanBinding,
    RestBinding,
    SqlBinding,
    TableBinding,
    ToolSpec,
)
from logoslab.ports import ToolRunner

DOCUMENTS = ("execution_plan.json", "genome.json", "verifiers.json", "probes.json", "skills")


class ProbeResult(Frozen):
    """One probe and what it showed. ``path`` is the file that a repair would touch."""

    id: str
    path: str
    passed: bool
    detail: str = ""


class ProbeReport(Frozen):
    """A full battery. Without a single probed tool, p is undefined."""

    results: tuple[ProbeResult, ...]
    tools: int

    @property
    def passed(self) -> int:
        """How many probes passed."""
        return sum(result.passed for result in self.results)

    @property
    def p(self) -> float | None:
        """passed / |C|, or None when there is no capability to probe."""
        return self.passed / len(self.results) if self.tools else None

    @property
    def failures(self) -> tuple[ProbeResult, ...]:
        """The probes that did not pass."""
        return tuple(result for result in self.results if not result.passed)


async def probe(pack: AgentPack, runner: ToolRunner, *, stubbed: bool) -> ProbeReport:
    """Run the full battery of a pack.

    Parameters
    ----------
    runner : ToolRunner
        Runs the tools for L2; they are really called.
    stubbed : bool
        Whether every service that ``runner`` reaches is a stub. Tools with an effect are invoked
        only then; otherwise their L2 probe fails.
    """
    results = [_document(pack, name) for name in DOCUMENTS]
    specs = {path: _spec(pack, path) for path in sorted(pack.files) if path.startswith("tools/")}
    good = {spec.name: spec for spec in specs.values() if isinstance(spec, ToolSpec)}
    results.append(_plan(pack, good))
    arguments = _invocations(pack)
    for path, spec in specs.items():
        results += await _tool(pack, path, spec, arguments, runner, stubbed=stubbed)
    return ProbeReport(results=tuple(results), tools=len(specs))


async def _tool(
    pack: AgentPack,
    path: str,
    spec: ToolSpec | str,
    arguments: Mapping[str, dict[str, Any]],
    runner: ToolRunner,
    *,
    stubbed: bool,
) -> list[ProbeResult]:
    """L0, L1 and (unless only a person can answer) L2 of one tool."""
    name = path.removeprefix("tools/").removesuffix(".json")
    if isinstance(spec, str):
        unreached = (ProbeResult(id=f"{n}:{name}", path=path, passed=False, detail="not reached")
                     for n in ("L1", "L2"))  # fmt: skip
        return [ProbeResult(id=f"L0:{name}", path=path, passed=False, detail=spec), *unreached]
    wrong = "; ".join(flaws(spec, pack.files))
    found = [
        ProbeResult(id=f"L0:{name}", path=path, passed=True),
        ProbeResult(id=f"L1:{name}", path=path, passed=not wrong, detail=wrong),
    ]
    if isinstance(spec.binding, HumanBinding):
        return found
    if wrong:
        detail = "not reached"
    elif spec.name not in arguments:
        detail, path = f"no L2 probe for {spec.name}", "probes.json"
    elif spec.effect is not EffectClass.READ_ONLY and not stubbed:
        detail = "it has an effect and there is no stub to try it on"
    else:
        detail = await _invoke(spec, arguments[spec.name], runner)
    return [*found, ProbeResult(id=f"L2:{name}", path=path, passed=not detail, detail=detail)]


async def _invoke(spec: ToolSpec, arguments: dict[str, Any], runner: ToolRunner) -> str:
    try:
        await runner.call(spec, arguments)
    except ToolError as refused:
        return str(refused)
    return ""


def _spec(pack: AgentPack, path: str) -> ToolSpec | str:
    try:
        spec = ToolSpec.model_validate(json.loads(pack.files[path]))
    except (ValueError, RecursionError) as cause:  # ValidationError is a ValueError
        return first_error_of(cause) if isinstance(cause, ValidationError) else str(cause)[:200]
    if path != f"tools/{spec.name}.json":
        return f"the tool is called {spec.name}"
    return spec


def flaws(spec: ToolSpec, files: Mapping[str, str]) -> Iterator[str]:
    """L1: what keeps a parsed tool from being instantiated, one sentence each."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    for which in ("input_schema", "output_schema", "error_schema"):
        try:
            Draft202012Validator.check_schema(getattr(spec, which))
        except SchemaError as cause:
            yield f"{which} is not JSON Schema: {cause.message[:200]}"
    properties, required = names(spec, "properties"), names(spec, "required")
    for name in sorted(required - properties):
        yield f"{name} is required but has no schema"
    if isinstance(spec.binding, TableBinding):
        header = header_of(files.get(spec.binding.source))
        if header is None:
            yield f"{spec.binding.source} is not in the pack"
        elif set(spec.binding.columns) - set(header) or not spec.binding.columns:
            yield f"{spec.binding.source} has columns {', '.join(header)}"
        for key in sorted(set(spec.binding.keys) - required):
            yield f"key {key} is not a required argument"
    elif isinstance(spec.binding, SqlBinding):
        for source in sorted({*spec.binding.tables.values()} - set(files)):
            yield f"{source} is not in the pack"
    elif isinstance(spec.binding, RestBinding):
        in_path = set(re.findall(r"\{([^{}/]+)\}", spec.binding.path))
        for name in sorted(in_path ^ set(spec.binding.path_arguments)):
            yield f"path and path_arguments disagree about {name}"
        for name in sorted(in_path - required):
            yield f"path argument {name} is not a required argument"
        used = {*spec.binding.body.values(), *spec.binding.query.values()}
        for name in sorted(used - properties):
            yield f"argument {name} has no schema"


def header_of(text: str | None) -> list[str] | None:
    """The column names of a CSV text; None when there is none."""
    return None if text is None else next(csv.reader(io.StringIO(text, newline="")), None)


def names(spec: ToolSpec, key: str) -> set[str]:
    """The argument names under ``properties`` or ``required`` of a tool's input schema."""
    found = spec.input_schema.get(key)
    return {str(name) for name in found} if isinstance(found, list | dict) else set()


def _invocations(pack: AgentPack) -> dict[str, dict[str, Any]]:
    try:
        return {p.tool: p.arguments for p in pack.probes if p.level == "L2" and p.tool}
    except (LogoslabError, ValidationError):
        return {}


def _document(pack: AgentPack, name: str) -> ProbeResult:
    """L0 of a pack document: it parses and validates."""
    read: dict[str, Callable[[], object]] = {
        "execution_plan.json": lambda: pack.plan,
        "genome.json": lambda: pack.genome,
        "verifiers.json": lambda: pack.verifiers,
        "probes.json": lambda: pack.probes,
        "skills": lambda: pack.skills,
    }
    try:
        read[name]()
    except (LogoslabError, ValidationError) as cause:
        return ProbeResult(id=f"L0:{name}", path=name, passed=False, detail=str(cause)[:300])
    return ProbeResult(id=f"L0:{name}", path=name, passed=True)


def _plan(pack: AgentPack, tools: Mapping[str, ToolSpec]) -> ProbeResult:
    """L1 of the plan: every tool, agent, skill, argument and reference that it names exists."""
    path = "execution_plan.json"
    try:
        wrong = [flaw for phase in pack.plan.phases for flaw in _phase(pack, phase, tools)]
    except (LogoslabError, ValidationError):
        return ProbeResult(id="L1:plan", path=path, passed=False, detail="not reached")
    return ProbeResult(id="L1:plan", path=path, passed=not wrong, detail="; ".join(wrong)[:500])


def _phase(pack: AgentPack, phase: Phase, tools: Mapping[str, ToolSpec]) -> Iterator[str]:
    if phase.agent not in pack.agents:
        yield f"{phase.id}: there is no agent {phase.agent}"
    skill = getattr(phase.step, "skill", None)
    if skill is not None and skill not in pack.skills:
        yield f"{phase.id}: there is no skill {skill}"
    for step in tool_steps(phase.step):
        if step.tool not in tools:
            yield f"{phase.id}: there is no tool {step.tool}"
            continue
        given = set(step.arguments)
        for name in sorted(names(tools[step.tool], "required") - given):
            yield f"{phase.id}: {step.tool} needs {name}"
        for name in sorted(given - names(tools[step.tool], "properties")):
            yield f"{phase.id}: {step.tool} has no argument {name}"
    earlier = {"inputs", "output", *_ancestors(pack, phase.id)}
    for name in sorted(set(step_roots(phase.step, phase.when)) - earlier):
        yield f"{phase.id}: refers to {name}, which is not finished before it"


def tool_steps(step: Step) -> Iterator[ToolStep]:
    """The tool calls of a step: its own, or the check and solver of a model step."""
    if isinstance(step, ToolStep):
        yield step
    elif isinstance(step, ModelStep):
        yield from (inner for inner in (step.check, step.solver) if inner is not None)


def _ancestors(pack: AgentPack, phase: str) -> set[str]:
    import networkx as nx

    return set(nx.ancestors(pack.plan.graph(), phase))
