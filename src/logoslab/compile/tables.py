"""What a table can be asked: its key columns, how each key selects, and clean cells.

Nothing here knows a domain. Keys, containment and bounds are read off the data and the names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from logoslab.compile.ingest.bounds import diagnostic
from logoslab.pack.source import Artefact, Diagnostic
from logoslab.pack.tool import Match, Schema, TableBinding, ToolSpec

BOUND = re.compile(r"^(?:max|maximum|up_to|at_most)_(.+)$")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
PROSE_WORDS = 6
CONTAINED_SHARE = 0.5


class Lookup(NamedTuple):
    """A table read by its keys: given these columns, the others follow."""

    table: Artefact
    keys: dict[str, Match]

    @property
    def results(self) -> tuple[str, ...]:
        """The columns that follow."""
        return tuple(c for c in self.table.columns if c not in self.keys)

    @property
    def contained_key(self) -> str | None:
        """The one key that is looked for inside a text, if the table is read that way."""
        return next((key for key, match in self.keys.items() if match == "contained_in"), None)


def number(text: object) -> float | None:
    """The first number in a text: ``"90 days"`` → 90. None when there is none."""
    found = NUMBER.search(str(text))
    return float(found[0]) if found else None


def column(table: Artefact, name: str) -> list[str]:
    """The filled cells of one column, in row order."""
    at = table.columns.index(name)
    return [row[at] for row in table.rows if row[at] is not None]  # type: ignore[misc]


def key_columns(table: Artefact) -> tuple[str, ...]:
    """The shortest run of leading columns that tells every row apart; empty when none does.

    At least one column must be left to follow from them.
    """
    for width in range(1, len(table.columns)):
        heads = [tuple((c or "").strip().casefold() for c in row[:width]) for row in table.rows]
        if len(set(heads)) == len(heads) and all(all(head) for head in heads):
            return table.columns[:width]
    return ()


def prose_columns(table: Artefact) -> tuple[str, ...]:
    """Columns of sentences: six words or more on average."""
    sample = {name: column(table, name)[:300] for name in table.columns}
    return tuple(
        name
        for name, cells in sample.items()
        if cells and sum(len(c.split()) for c in cells) / len(cells) >= PROSE_WORDS
    )


def lookup_of(table: Artefact, prose: Sequence[str], facts: Sequence[str]) -> Lookup | None:
    """How a table is read, or None when no leading columns tell its rows apart.

    Parameters
    ----------
    prose : sequence of str
        Sentences that tasks bring along. A single key that no other table gives and whose values
        occur in at least half of them is looked for inside text.
    facts : sequence of str
        Column names that the record or other tables give.
    """
    keys = key_columns(table)
    if not keys:
        return None
    if len(keys) == 1 and keys[0] not in facts and _occurs(column(table, keys[0]), prose):
        return Lookup(table, {keys[0]: "contained_in"})
    return Lookup(table, {key: _match(table, key) for key in keys})


def _match(table: Artefact, key: str) -> Match:
    numeric = all(number(cell) is not None for cell in column(table, key))
    return "at_most" if BOUND.match(key) and numeric else "equals"


def _occurs(cells: Sequence[str], prose: Sequence[str]) -> bool:
    terms = [cell.strip().casefold() for cell in cells]
    texts = [text.casefold() for text in prose[:300]]
    hits = sum(any(term in text for term in terms) for text in texts)
    return bool(texts) and hits / len(texts) >= CONTAINED_SHARE


def clean(table: Artefact, fields: Mapping[str, Schema]) -> tuple[Artefact, list[Diagnostic]]:
    """A table whose cells follow a form: trimmed, allowed values as the form spells them,
    numbers without their unit, defaults for blanks.

    Columns that the form does not know are trimmed only. A value that the form does not allow
    stays as it is and is reported once a column.
    """
    unknown: dict[str, list[str]] = {}
    rows = []
    for row in table.rows:
        cells = []
        for name, cell in zip(table.columns, row, strict=True):
            value, known = _clean_cell(cell, fields.get(name, {}))
            cells.append(value)
            if not known:
                unknown.setdefault(name, []).append(str(value))
        rows.append(tuple(cells))
    notes = [
        diagnostic(
            table.provenance.source,
            "cell_unknown",
            f"{table.name}.{name}: {len(values)} cell(s) are not what the form allows, "
            f"first {values[0][:60]!r}",
            "Correct the cells, or allow the value in the form.",
        )
        for name, values in unknown.items()
    ]
    return table.replace(rows=tuple(rows)), notes


def _clean_cell(cell: str | None, schema: Schema) -> tuple[str | None, bool]:
    text = (cell or "").strip()
    if not text:
        default = schema.get("default")
        return (None if default is None else str(default)), True
    options = schema.get("enum")
    if isinstance(options, list):
        same = [str(o) for o in options if str(o).casefold() == text.casefold()]
        return (same[0], True) if same else (text, False)
    if schema.get("type") in ("integer", "number"):
        value = number(text)
        return (text, False) if value is None else (f"{value:g}", True)
    return text, True


def lookup_tool(lookup: Lookup, source: str) -> ToolSpec:
    """The read-only tool that reads a table by its keys."""
    table = lookup.table
    how: dict[Match, str] = {
        "equals": "equals",
        "contained_in": "occurs in",
        "at_most": "is at least",
    }
    words = " and ".join(f"{key} {how[match]} the argument" for key, match in lookup.keys.items())
    cell: Schema = {"type": ["string", "null"]}
    return ToolSpec(
        name=f"{table.name}_lookup"[:64],
        description=f"First row of {table.name} whose {words}. Gives {', '.join(lookup.results)}.",
        input_schema={
            "type": "object",
            "properties": {
                key: {"type": ["string", "number"] if match == "at_most" else "string"}
                for key, match in lookup.keys.items()
            },
            "required": list(lookup.keys),
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": dict.fromkeys(table.columns, cell),
            "required": list(table.columns),
        },
        recovery="No row fits: check the arguments, or ask a person.",
        binding=TableBinding(source=source, columns=table.columns, keys=lookup.keys),
    )
