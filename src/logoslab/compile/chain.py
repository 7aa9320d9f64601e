"""Chain lookups and operations by the facts they need and give.

A fact is a column name. The task brings some; a table whose keys are all facts gives its other
columns; an operation whose required arguments are all facts can be called. What no operation
needs is left out of the plan. Nothing here knows a domain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from logoslab.compile.material import Material
from logoslab.compile.tables import BOUND, Lookup, column
from logoslab.pack.tool import EffectClass, ToolSpec

PERSON = re.compile(r"\b(owner|person|human|approver|manager|officer|authority)\b", re.I)
QUOTED = re.compile(r"`([^`]+)`")


class Hop(NamedTuple):
    """One lookup in the chain: key → the fact that feeds it, and the facts it adds."""

    lookup: Lookup
    feeds: dict[str, str]
    gives: tuple[str, ...]


class Call(NamedTuple):
    """One operation at the end of the chain: argument → the fact that fills it."""

    tool: ToolSpec
    feeds: dict[str, str]


class Question(NamedTuple):
    """A value that the material reserves for a person, and the clause that says so."""

    fact: str
    value: str
    clause: str
    text: str


class Chain(NamedTuple):
    """A plan before it has names: inputs, the record, hops, calls and questions."""

    inputs: tuple[str, ...]
    hops: tuple[Hop, ...]
    calls: tuple[Call, ...]
    question: Question | None
    notes: tuple[str, ...]


def chain(material: Material) -> Chain:
    """The dataflow from what a task brings to the operations that record the answer."""
    inputs = _inputs(material)
    facts = list(inputs)
    if material.record:
        facts += [c for c in material.record.results if c not in facts]
    hops = _forward(material, facts)
    given = [*facts, *(fact for hop in hops for fact in hop.gives)]
    calls, notes = _calls(material.operations, given)
    kept = _needed(hops, calls) if calls else hops
    if not calls:
        notes.append("no operation can be filled from the facts; the plan ends with the lookups")
    return Chain(inputs, tuple(kept), tuple(calls), _question(material, kept), tuple(notes))


def _inputs(material: Material) -> tuple[str, ...]:
    """The record's keys; without a record, every key that no table gives."""
    if material.record:
        return tuple(material.record.keys)
    results = {c for lookup in material.lookups for c in lookup.results}
    keys = [k for lookup in material.lookups for k in lookup.keys if k not in results]
    return tuple(dict.fromkeys(keys))


def _forward(material: Material, facts: Sequence[str]) -> list[Hop]:
    """Take the first table that is ready and adds something, until none does."""
    known, waiting, hops = list(facts), list(material.lookups), []
    while ready := next((h for w in waiting if (h := _hop(w, known, material.prose))), None):
        hops.append(ready)
        known += ready.gives
        waiting.remove(ready.lookup)
    return hops


def _hop(lookup: Lookup, known: Sequence[str], prose: str | None) -> Hop | None:
    feeds: dict[str, str] = {}
    for key, match in lookup.keys.items():
        fact = prose if match == "contained_in" else _feed(key, match, known)
        if fact is None:
            return None
        feeds[key] = fact
    gives = tuple(c for c in lookup.results if c not in known)
    return Hop(lookup, feeds, gives) if gives else None


def _feed(key: str, match: str, known: Sequence[str]) -> str | None:
    """The fact of the same name; for ``max_days`` also the only fact that ends in ``_days``."""
    if key in known:
        return key
    bound = BOUND.match(key)
    if match != "at_most" or not bound:
        return None
    unit = bound[1]
    likely = [fact for fact in known if fact == unit or fact.endswith(f"_{unit}")]
    return likely[0] if len(likely) == 1 else None


def _calls(operations: Iterable[ToolSpec], known: Sequence[str]) -> tuple[list[Call], list[str]]:
    """Operations that write reversibly and can be filled; why each other one is not planned."""
    calls, notes = [], []
    for tool in operations:
        arguments = tool.input_schema.get("properties")
        body = getattr(tool.binding, "body", {})
        if tool.effect is EffectClass.READ_ONLY or not isinstance(arguments, dict):
            continue
        if tool.effect is not EffectClass.TRANSACTIONAL_WRITE:
            notes.append(f"{tool.name}: {tool.effect.value} needs authority, so it is not planned")
            continue
        required = tool.input_schema.get("required") or []
        missing = [a for a in required if a not in known] if isinstance(required, list) else []
        if missing or not body:
            lacks = ", ".join(str(m) for m in missing) or "a body"
            notes.append(f"{tool.name}: nothing gives {lacks}, so it is not planned")
            continue
        calls.append(Call(tool, {a: a for a in arguments if a in known}))
    return calls, notes


def _needed(hops: Sequence[Hop], calls: Sequence[Call]) -> list[Hop]:
    """Backwards from the calls: only the hops whose facts are used."""
    wanted = {fact for call in calls for fact in call.feeds.values()}
    kept = []
    for hop in reversed(hops):
        if wanted & set(hop.gives):
            kept.append(hop)
            wanted |= set(hop.feeds.values())
    return kept[::-1]


def _question(material: Material, hops: Sequence[Hop]) -> Question | None:
    """The first clause that quotes a value of a result column and names a person for it."""
    values = {
        cell.strip(): fact
        for hop in hops
        for fact in hop.gives
        for cell in column(hop.lookup.table, fact)
    }
    for table in material.tables:
        if table.columns != ("clause", "text"):
            continue
        for clause, text in table.rows:
            for value in QUOTED.findall(text or ""):
                if value in values and PERSON.search(text or ""):
                    return Question(values[value], value, clause or "", text or "")
    return None
