"""Readings → what a designer works with: clean tables, the record table, lookups, operations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from logoslab.compile.ingest.bounds import unique
from logoslab.compile.tables import Lookup, clean, column, key_columns, lookup_of, prose_columns
from logoslab.pack.source import Artefact, SourceReading
from logoslab.pack.tool import Schema, ToolSpec


class Material(NamedTuple):
    """Everything that was read, with names made unique across sources.

    Attributes
    ----------
    record : Lookup or None
        The table of cases: one row is one task.
    prose : str or None
        The record's column of sentences.
    """

    tables: tuple[Artefact, ...]
    lookups: tuple[Lookup, ...]
    record: Lookup | None
    prose: str | None
    form: dict[str, Schema]
    operations: tuple[ToolSpec, ...]
    skills: tuple[tuple[str, str], ...]
    texts: tuple[Artefact, ...]
    apis: tuple[Artefact, ...]
    notes: tuple[str, ...]


def gather(readings: Sequence[SourceReading]) -> Material:
    """Join the readings of all sources. Pure; loses nothing without a note."""
    taken: set[str] = set()
    artefacts = [
        artefact.replace(name=unique(artefact.name, taken))
        for reading in readings
        for artefact in reading.artefacts
    ]
    form: dict[str, Schema] = {}
    for artefact in artefacts:
        form |= artefact.fields if artefact.kind == "form" else {}
    notes: list[str] = []
    tables = []
    for artefact in artefacts:
        if artefact.kind == "table":
            table, found = clean(artefact, form)
            tables.append(table)
            notes += [d.message for d in found]
    record = _record(tables, form)
    lookups, unkeyed = _lookups(tables, record)
    notes += [f"{name}: no leading columns tell its rows apart; SQL only" for name in unkeyed]
    names: set[str] = {f"{table.name}_lookup" for table in tables}
    return Material(
        tables=tuple(tables),
        lookups=tuple(lookups),
        record=record,
        prose=_prose(record),
        form=form,
        operations=tuple(
            tool.replace(name=unique(tool.name, names)) for r in readings for tool in r.tools
        ),
        skills=tuple(skill for reading in readings for skill in reading.skills),
        texts=tuple(a for a in artefacts if a.kind == "text"),
        apis=tuple(a for a in artefacts if a.kind == "api"),
        notes=tuple(notes),
    )


def _record(tables: Sequence[Artefact], form: dict[str, Schema]) -> Lookup | None:
    """The keyed table that shares most columns with the form, then has most rows.

    Without a form it must have a column of sentences: otherwise no table is a table of cases.
    """

    def fit(table: Artefact) -> tuple[int, int]:
        return len(set(table.columns) & set(form)), len(table.rows)

    keyed = [t for t in tables if key_columns(t)]
    likely = [t for t in keyed if fit(t)[0] >= 2 or (not form and len(prose_columns(t)) == 1)]
    likely = [t for t in likely if len(t.columns) > 2]  # (key, text) is a glossary, not cases
    if not likely:
        return None
    best = max(likely, key=fit)
    return Lookup(best, dict.fromkeys(key_columns(best), "equals"))


def _lookups(tables: Sequence[Artefact], record: Lookup | None) -> tuple[list[Lookup], list[str]]:
    known = set(record.table.columns) if record else set()
    sentences = column(record.table, p) if record and (p := _prose(record)) else []
    lookups, unkeyed = [], []
    for table in tables:
        if record and table.name == record.table.name:
            continue
        given = known | {c for t in tables if t.name != table.name for c in t.columns}
        found = lookup_of(table, sentences, tuple(given))
        if found:
            lookups.append(found)
        else:
            unkeyed.append(table.name)
    return lookups, unkeyed


def _prose(record: Lookup | None) -> str | None:
    columns = prose_columns(record.table) if record else ()
    return columns[-1] if columns else None
