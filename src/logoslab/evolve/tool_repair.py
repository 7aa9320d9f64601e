"""Repair a tool whose service changed its request schema, from the refusals in the trace."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from pydantic import JsonValue

from logoslab.errors import LogoslabError
from logoslab.evolve.credit import attribute
from logoslab.evolve.feedback import Feedback
from logoslab.evolve.rollouts import Refused, SchemaRefusal, rollouts
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.event import Event
from logoslab.pack.patch import AddField, Edit, Patch, RemoveField, SetField
from logoslab.pack.plan import Phase, ToolStep
from logoslab.pack.policy import RootPolicy
from logoslab.pack.run import Abstention
from logoslab.pack.tool import RestBinding, Schema, ToolSpec

FIELD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.\-]{0,63}")
MAX_SCHEMA: Final = 4_000
NOTES: Final = ("title", "description", "default", "example", "examples", "deprecated")
MIN_NAME: Final = 0.4
"""Least likeness of two names when their schemas alone do not tell."""


class CannotMap(Exception):
    """The refusal does not determine a repair; the message says why."""


class Repair(NamedTuple):
    """What the refusal means for one tool: renamed body fields and newly required ones."""

    renamed: dict[str, str]
    added: dict[str, str]


class ToolSchemaRepair:
    """Proposer: follow a drifted request schema with typed edits (LOGOS Eq. 105's candidate).

    A missing field takes the place of an unexpected one when their schemas agree (same schema, or
    the same closed list of values), else when type and name are alike. Any other missing field is
    filled from the plan's own answer field of that name. Where the answer's schema repeats the
    request body, it follows. Whatever stays open is a reason to abstain; nothing is guessed, and
    nothing the service says becomes more than a field name and a schema.

    Parameters
    ----------
    feedback : sequence of Feedback, optional
        On proposal tasks. With it a rollout whose answer was wrong too is left out.
    """

    name = "tool_schema_repair"

    def __init__(self, feedback: Sequence[Feedback] = ()) -> None:
        self._feedback = tuple(feedback)

    def propose(
        self, pack: AgentPack, trace: Sequence[Event], policy: RootPolicy
    ) -> Patch | Abstention:
        """A patch of the tool's binding, its input schema and the plan, or the reason for none."""
        found = attribute(pack, trace, self._feedback)
        tools = [a for a in found if a.path and a.path.startswith("tools/")]
        if not tools:
            why = "; ".join(a.reason for a in found) or "no failed rollout"
            return Abstention(proposer=self.name, reason=f"no failure is put down to a tool: {why}")
        target = tools[0]
        try:
            tool, refusal = _one_refusal(pack, trace, target.path or "")
            repair = _understand(pack, tool, refusal)
            patch = Patch(
                title=_title(tool, repair),
                rationale=f"The service refused {len(target.tasks)} proposal task(s): "
                f"missing {list(refusal.missing)}, unexpected {list(refusal.unexpected)}.",
                base=pack.digest,
                proposer=self.name,
                target=target.primary or "",
                edits=tuple(_edits(pack, tool, refusal, repair)),
            )
            _ = patch.apply(pack).tools, patch.apply(pack).plan
        except (CannotMap, LogoslabError) as cause:
            return Abstention(proposer=self.name, reason=str(cause))
        return patch


def _one_refusal(
    pack: AgentPack, trace: Sequence[Event], path: str
) -> tuple[ToolSpec, SchemaRefusal]:
    """The tool, and what all refusals of it say; they must say the same."""
    calls: list[Refused] = [r for rollout in rollouts(trace) for r in rollout.refusals]
    mine = {r.body.digest: r for r in calls if f"tools/{r.tool}.json" == path}
    if len(mine) != 1:
        raise CannotMap(f"the service refused in {len(mine)} different ways")
    refused = next(iter(mine.values()))
    return pack.tools[refused.tool], refused.body


def _understand(pack: AgentPack, tool: ToolSpec, refusal: SchemaRefusal) -> Repair:
    if not isinstance(tool.binding, RestBinding):
        raise CannotMap(f"{tool.name} has no request body")
    for field in refusal.missing:
        _check_schema(field, refusal.expected.get(field))
    renamed: dict[str, str] = {}
    for old in sorted(refusal.unexpected):
        new = _successor(tool, old, refusal)
        if new in renamed.values():
            raise CannotMap(f"two fields could both have become {new}")
        renamed[old] = new
    added = {}
    for field in sorted(set(refusal.missing) - set(renamed.values())):
        reference = pack.plan.output.get(field)
        if not isinstance(reference, str) or not reference.startswith("$"):
            raise CannotMap(f"{field} is newly required and no answer field of that name fills it")
        added[field] = reference
    return Repair(renamed, added)


def _check_schema(field: str, schema: Mapping[str, JsonValue] | None) -> None:
    """A service's words end up in the pack, so only plain names and small closed schemas do."""
    if not FIELD.fullmatch(field):
        raise CannotMap("a required field has a name that is no plain identifier")
    if not schema:
        raise CannotMap(f"the service does not say what it expects of {field}")
    text = json.dumps(schema)
    if len(text) > MAX_SCHEMA or '"$ref"' in text:
        raise CannotMap(f"the expected schema of {field} is too large or refers elsewhere")


def _successor(tool: ToolSpec, old: str, refusal: SchemaRefusal) -> str:
    """The missing field that takes the place of ``old``; the best one must be the only best."""
    declared = _declared(tool, old)
    ranked = sorted(
        (
            (likeness, new)
            for new in refusal.missing
            if (likeness := _likeness(old, declared, new, refusal.expected[new])) is not None
        ),
        reverse=True,
    )
    if not ranked:
        raise CannotMap(f"no missing field takes the place of {old}")
    if len(ranked) > 1 and ranked[0][0] == ranked[1][0]:
        raise CannotMap(f"{ranked[0][1]} and {ranked[1][1]} fit {old} equally well")
    return ranked[0][1]


def _declared(tool: ToolSpec, field: str) -> Schema:
    body = getattr(tool.binding, "body", {})
    properties = tool.input_schema.get("properties")
    if field not in body or not isinstance(properties, dict):
        raise CannotMap(f"{tool.name} does not send {field}")
    schema = properties.get(body[field])
    return schema if isinstance(schema, dict) else {}


def _likeness(old: str, before: Schema, new: str, after: Schema) -> tuple[int, float] | None:
    """(how well the schemas agree: 2 same, 1 same values, 0 same type; likeness of the names)."""
    name = _name_likeness(old, new)
    if _bare(before) == _bare(after):
        closed = "enum" in after
        return (2, name) if closed or name >= MIN_NAME else None
    if "enum" in before and "enum" in after:
        return (1, name) if _values(before) == _values(after) else None
    if before.get("type") != after.get("type") or name < MIN_NAME:
        return None
    return (0, name)


def _bare(schema: Schema) -> Schema:
    return {k: v for k, v in schema.items() if k not in NOTES}


def _values(schema: Schema) -> set[str]:
    values = schema.get("enum")
    return {json.dumps(v) for v in values} if isinstance(values, list) else set()


def _name_likeness(old: str, new: str) -> float:
    """The larger of letter likeness and shared words, in [0, 1]."""
    words = [set(re.split(r"[_.\-]", name.casefold())) for name in (old, new)]
    shared = len(words[0] & words[1]) / min(len(words[0]), len(words[1]))
    return max(SequenceMatcher(None, old.casefold(), new.casefold()).ratio(), shared)


def _edits(
    pack: AgentPack, tool: ToolSpec, refusal: SchemaRefusal, repair: Repair
) -> Iterator[Edit]:
    path = f"tools/{tool.name}.json"
    body = getattr(tool.binding, "body", {})
    properties = tool.input_schema.get("properties", {})
    assert isinstance(properties, dict)
    for old, new in repair.renamed.items():
        yield RemoveField(path=path, pointer=_pointer("binding", "body", old))
        yield AddField(path=path, pointer=_pointer("binding", "body", new), value=body[old])
        if _bare(_declared(tool, old)) != _bare(refusal.expected[new]):
            at = _pointer("input_schema", "properties", body[old])
            yield SetField(path=path, pointer=at, value=refusal.expected[new])
    for field in repair.added:
        yield AddField(path=path, pointer=_pointer("binding", "body", field), value=field)
        if field not in properties:
            at = _pointer("input_schema", "properties", field)
            yield AddField(path=path, pointer=at, value=refusal.expected[field])
    yield from _required_edits(path, tool, list(repair.added))
    for where, echoed in _echoes(tool.output_schema, frozenset(body), ("output_schema",)):
        value = _followed(echoed, refusal, repair)
        yield SetField(path=path, pointer=_pointer(*where), value=value)
    yield from _plan_edits(pack, tool, repair.added)


def _required_edits(path: str, tool: ToolSpec, fields: list[str]) -> Iterator[Edit]:
    required = tool.input_schema.get("required")
    if not isinstance(required, list):
        if fields:
            yield AddField(path=path, pointer="/input_schema/required", value=list(fields))
        return
    for field in fields:
        if field not in required:
            yield AddField(path=path, pointer="/input_schema/required/-", value=field)


def _echoes(
    schema: JsonValue, fields: frozenset[str], at: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Schema]]:
    """Objects in the answer's schema that have exactly the fields of the old request body.

    A service that repeats what it stored describes it with the same schema, so what it now asks
    for is what it will now answer with.
    """
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(properties, dict) or not fields:
        return
    if set(properties) == fields:
        yield at, schema
        return
    for name, child in properties.items():
        yield from _echoes(child, fields, (*at, "properties", name))


def _followed(echoed: Schema, refusal: SchemaRefusal, repair: Repair) -> Schema:
    """The schema of the echoed body after the same renames and additions."""
    properties, required = echoed["properties"], echoed.get("required")
    assert isinstance(properties, dict)
    after: Schema = {
        **echoed,
        "properties": {
            **{n: s for n, s in properties.items() if n not in repair.renamed},
            **{n: refusal.expected[n] for n in (*repair.renamed.values(), *repair.added)},
        },
    }
    if isinstance(required, list):
        kept = [repair.renamed.get(str(name), name) for name in required]
        after["required"] = [*kept, *repair.added]
    return after


def _plan_edits(pack: AgentPack, tool: ToolSpec, added: Mapping[str, str]) -> Iterator[Edit]:
    for position, phase in enumerate(pack.plan.phases):
        if not isinstance(phase.step, ToolStep) or phase.step.tool != tool.name:
            continue
        for field, reference in added.items():
            if field in phase.step.arguments:
                continue
            at = _pointer("phases", str(position), "step", "arguments", field)
            yield AddField(path="execution_plan.json", pointer=at, value=reference)
            source = reference[1:].partition(".")[0]
            if source != "inputs" and not _comes_before(pack, source, phase):
                at = _pointer("phases", str(position), "needs", "-")
                yield AddField(path="execution_plan.json", pointer=at, value=source)


def _comes_before(pack: AgentPack, source: str, phase: Phase) -> bool:
    import networkx as nx

    graph = pack.plan.graph()
    if source not in graph or source == phase.id or nx.has_path(graph, phase.id, source):
        raise CannotMap(f"{source} does not finish before {phase.id}")
    return nx.has_path(graph, source, phase.id)


def _pointer(*parts: str) -> str:
    return "".join(f"/{part.replace('~', '~0').replace('/', '~1')}" for part in parts)


def _title(tool: ToolSpec, repair: Repair) -> str:
    changes = [f"{old} is now {new}" for old, new in repair.renamed.items()]
    changes += [f"{field} is now required" for field in repair.added]
    return f"Repair {tool.name}: {', '.join(changes)}"
