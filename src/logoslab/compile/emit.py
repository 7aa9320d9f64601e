"""The files of a pack directory, as LOGOS appendix B lists them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

import yaml

from logoslab.compile.battery import battery
from logoslab.compile.chain import Chain
from logoslab.compile.layout import Layout, names_of
from logoslab.compile.material import Material
from logoslab.compile.tables import lookup_tool
from logoslab.pack.agent_pack import pretty_json
from logoslab.pack.genome import Genome
from logoslab.pack.plan import HumanStep, ModelStep, Phase, ToolStep
from logoslab.pack.source import Artefact, SourceReading
from logoslab.pack.tool import EffectClass, HumanBinding, SqlBinding, ToolSpec
from logoslab.pack.verdict import VerifierSpec

CANONICAL = "canonical"

ROLES = {  # LOGOS table 30: why the role exists, what it does, what it hands on
    "team_lead": (
        "several phases and an effect boundary",
        "dispatches phases, tracks blockers and prevents unauthorised effects",
        "phase assignments and final status",
    ),
    "intake_analyst": (
        "a form or a table of cases",
        "reads the case and normalises its facts",
        "structured request facts",
    ),
    "policy_mapper": (
        "decision tables or clauses to cite",
        "maps facts to definitions, decisions and their clauses",
        "cited policy map",
    ),
    "risk_assessor": (
        "tables that lead from one fact to the next",
        "works out intermediate ratings step by step",
        "ratings with the row that they rest on",
    ),
    "control_owner": (
        "a value that the material reserves for a person",
        "asks only the blocking question of authority",
        "a scoped question, or the approval on record",
    ),
    "response_writer": (
        "an operation that records the answer",
        "writes the draft; never submits it",
        "the recorded draft",
    ),
    "analyst": (
        "a request that no table or operation answers",
        "answers from the sources and cites them",
        "an answer for a person to accept",
    ),
    "verifier": (
        "schema, evidence and safety gates",
        "checks schema, evidence and effects",
        "a typed verdict with its evidence",
    ),
}

VERIFIERS = (
    VerifierSpec(
        name="schema",
        kind="schema",
        assurance="deterministic_oracle",
        failure_mode="a valid shape with wrong content",
    ),
    VerifierSpec(
        name="security",
        kind="security",
        assurance="deterministic_oracle",
        failure_mode="a secret or instruction in an unknown form",
    ),
    VerifierSpec(
        name="copied_span",
        kind="lint",
        assurance="deterministic_oracle",
        failure_mode="a copied phrase that is beside the point",
    ),
    VerifierSpec(
        name="execution",
        kind="execution",
        assurance="execution",
        sufficient=True,
        failure_mode="a phrase that is in the text but is not what the text affirms",
    ),
)


def emit(
    material: Material,
    links: Chain,
    layout: Layout,
    readings: Sequence[SourceReading],
    brief: str,
    domain: str,
) -> dict[str, str]:
    """Path → text of every file but ``pack.json``."""
    tools = tools_of(material, layout)
    phases = layout.plan.phases
    files = {f"tools/{tool.name}.json": pretty_json(tool.model_dump(mode="json")) for tool in tools}
    files |= {f"agents/{role}.md": _agent(role, phases) for role in _roles(phases, tools)}
    files |= _skills(material, links, layout, domain)
    files |= _sources(material)
    files["execution_plan.json"] = pretty_json(layout.plan.model_dump(mode="json"))
    files["genome.json"] = pretty_json(_genome(tools).model_dump(mode="json"))
    files["goal.json"] = pretty_json(_goal(domain, brief))
    files["verifiers.json"] = pretty_json([v.model_dump(mode="json") for v in VERIFIERS])
    files["probes.json"] = pretty_json(
        [p.model_dump(mode="json") for p in battery(tools, material.tables)]
    )
    files["provenance.json"] = pretty_json(_provenance(readings))
    return files


def tools_of(material: Material, layout: Layout) -> list[ToolSpec]:
    """Every capability: lookups, guarded SQL, operations, and a person when one is needed."""
    found = [material.record] if material.record else []
    tools = [
        lookup_tool(lookup, f"sources/{lookup.table.name}.csv")
        for lookup in [*found, *material.lookups]
    ]
    if material.tables:
        tools.append(_sql_tool(material.tables))
    tools += material.operations
    asks = any(isinstance(phase.step, HumanStep) for phase in layout.plan.phases)
    if asks or any(t.effect is EffectClass.EXTERNAL_SIDE_EFFECT for t in material.operations):
        tools.append(_human_tool())
    return tools


def _sql_tool(tables: Sequence[Artefact]) -> ToolSpec:
    described = "; ".join(f"{t.name}({', '.join(t.columns)})" for t in tables)
    return ToolSpec(
        name="sources_sql",
        description=f"One SELECT over the pack's tables, all cells text: {described}"[:2000],
        input_schema={
            "type": "object",
            "properties": {"sql": {"type": "string", "minLength": 1, "maxLength": 4000}},
            "required": ["sql"],
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": {
                "rows": {"type": "array", "items": {"type": "object"}},
                "truncated": {"type": "boolean"},
            },
            "required": ["rows", "truncated"],
        },
        recovery="Use one SELECT over the listed tables and plain functions.",
        binding=SqlBinding(tables={t.name: f"sources/{t.name}.csv" for t in tables}),
    )


def _human_tool() -> ToolSpec:
    return ToolSpec(
        name="ask_person",
        description="Ask a person for authority or a missing fact. A model never answers it.",
        input_schema={
            "type": "object",
            "properties": {"question": {"type": "string", "minLength": 1, "maxLength": 2000}},
            "required": ["question"],
            "additionalProperties": False,
        },
        output_schema={"type": ["string", "null"]},
        recovery="Without an answer the effect stays blocked.",
        idempotency="none",
        binding=HumanBinding(),
    )


def _roles(phases: Sequence[Phase], tools: Sequence[ToolSpec]) -> list[str]:
    """The roles whose creation signal is present, in the order of table 30."""
    present = set(names_of(phases))
    writes = any(tool.effect is not EffectClass.READ_ONLY for tool in tools)
    if writes and len(phases) > 1:
        present.add("team_lead")
    if writes or any(isinstance(phase.step, ModelStep) for phase in phases):
        present.add("verifier")
    return [role for role in ROLES if role in present]


def _agent(role: str, phases: Sequence[Phase]) -> str:
    signal, duty, output = ROLES[role]
    own = [phase for phase in phases if phase.agent == role]
    tools = sorted({phase.step.tool for phase in own if isinstance(phase.step, ToolStep)})
    lines = [
        f"# {role.replace('_', ' ').capitalize()}",
        "",
        f"**Created because of** {signal}.",
        "",
        f"**Responsibility:** {duty}.",
        "",
        f"**Output:** {output}.",
        "",
        f"**Phases:** {', '.join(p.id for p in own) or 'none of its own; oversees all'}",
        "",
        f"**Tools:** {', '.join(tools) or 'none'}",
        "",
    ]
    return "\n".join(lines)


def skill_text(name: str, description: str, body: str, *, canonical: bool = False) -> str:
    """A SKILL.md with the public front matter; ours goes under metadata."""
    front: dict[str, Any] = {"name": name, "description": " ".join(description.split())[:1000]}
    if canonical:
        front["metadata"] = {CANONICAL: "true"}
    head = yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{head}---\n\n{body.strip()}\n"


def _skills(material: Material, links: Chain, layout: Layout, domain: str) -> dict[str, str]:
    """Progressive playbooks: one a kind of work, and the canonical one that orders them."""
    drafts = {
        name: skill_text(name, f"How the {name} text is read: {domain}.", body)
        for name, body in material.skills
    }

    def add(name: str, description: str, body: str) -> None:
        # A document's own instructions of that name stay.
        drafts.setdefault(name, skill_text(name, f"{description}: {domain}.", body))

    if layout.reading_skill:
        keys = ", ".join(k for hop in links.hops if (k := hop.lookup.contained_key))
        copy = f"Copy the words of the text that name its {keys}."
        add(layout.reading_skill, "How the text is read", copy)
    clauses = [t for t in material.tables if t.columns == ("clause", "text")]
    if clauses:
        lines = "\n".join(f"- {number} {text}" for t in clauses for number, text in t.rows[:200])
        add("policy", "The numbered clauses that bind", lines)
    if links.hops:
        add("lookup", "Which table gives what", _hops(links))
    if links.calls:
        add("drafting", "How the answer is recorded", _calls(links))
    steps = "\n".join(
        f"{i}. `{phase.id}` ({phase.agent.replace('_', ' ')})"
        for i, phase in enumerate(layout.plan.in_order(), start=1)
    )
    body = f"{domain}.\n\n{steps or 'Answer from the sources, and cite them.'}"
    drafts["task-playbook"] = skill_text(
        "task-playbook", f"The order of work for one task: {domain}.", body, canonical=True
    )
    return {f"skills/{name}/SKILL.md": text for name, text in drafts.items()}


def _hops(links: Chain) -> str:
    return "\n".join(
        f"- `{hop.lookup.table.name}`: {', '.join(hop.lookup.keys)} → {', '.join(hop.gives)}"
        for hop in links.hops
    )


def _calls(links: Chain) -> str:
    return "\n".join(
        f"- `{call.tool.name}` needs {', '.join(call.feeds)}; effect: {call.tool.effect.value}"
        for call in links.calls
    )


def _sources(material: Material) -> dict[str, str]:
    files = {f"sources/{t.name}.csv": csv_text(t) for t in material.tables}
    files |= {f"sources/{text.name}.md": text.text for text in material.texts}
    return files | {f"sources/{api.name}.json": pretty_json(api.document) for api in material.apis}


def csv_text(table: Artefact) -> str:
    """The clean table as RFC 4180 with Unix line ends; a missing cell is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows([cell or "" for cell in row] for row in table.rows)
    return out.getvalue()


def _genome(tools: Sequence[ToolSpec]) -> Genome:
    authority = [t.name for t in tools if t.effect is EffectClass.EXTERNAL_SIDE_EFFECT]
    return Genome(
        route={
            "strategy": "cascade",
            "stages": ["greedy", "samples", "solver"],
            "samples": 4,
            "temperature": 0.7,
        },
        memory={"write": "after_evaluation"},
        verify={"required": [v.name for v in VERIFIERS]},
        promotion={"human_review": True, "safety_non_regression": True},
        safety={"needs_authority": list(authority)},
        sandbox={"code": "none"},
        tools={"effects": ["read_only", "transactional_write"]},
        attention={"ask": "blocking_authority_only"},
    )


def _goal(domain: str, brief: str) -> dict[str, Any]:
    return {
        "objective": domain,
        "brief": brief,
        "status": "ready",
        "evolution_trigger": "a failure attributed to one component",
    }


def _provenance(readings: Sequence[SourceReading]) -> list[dict[str, Any]]:
    return [
        {
            "source": reading.source,
            "artefacts": [
                {"name": a.name, "kind": a.kind, **a.provenance.model_dump(mode="json")}
                for a in reading.artefacts
            ],
            "tools": [tool.name for tool in reading.tools],
            "diagnostics": [json.loads(d.model_dump_json()) for d in reading.diagnostics],
        }
        for reading in readings
    ]
