"""The finite probe battery of a pack: for each tool L0 parse, L1 instantiate, L2 invoke.

Arguments for L2 come from the material: cells of the tables, else examples of the schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from logoslab.compile.examples import NoExample, example
from logoslab.compile.tables import column
from logoslab.pack.agent_pack import Probe
from logoslab.pack.schema import fits
from logoslab.pack.source import Artefact
from logoslab.pack.tool import HumanBinding, SqlBinding, TableBinding, ToolSpec

CELLS = 50


def battery(tools: Sequence[ToolSpec], tables: Sequence[Artefact]) -> list[Probe]:
    """Probes in tool order. A person is not probed at L2: nobody should be asked for a test."""
    known = _known_values(tables)
    probes = []
    for tool in tools:
        probes += [
            Probe(id=f"L0:{tool.name}", level="L0", tool=tool.name),
            Probe(id=f"L1:{tool.name}", level="L1", tool=tool.name),
        ]
        if not isinstance(tool.binding, HumanBinding):
            arguments = arguments_for(tool, known, tables)
            probes.append(
                Probe(id=f"L2:{tool.name}", level="L2", tool=tool.name, arguments=arguments)
            )
    return probes


def arguments_for(
    tool: ToolSpec, known: Mapping[str, Sequence[str]], tables: Sequence[Artefact]
) -> dict[str, Any]:
    """Arguments that should succeed; an argument with no example is left out and will fail."""
    if isinstance(tool.binding, SqlBinding):
        first = next(iter(tool.binding.tables), "")
        return {"sql": f'SELECT * FROM "{first}" LIMIT 1'}
    if isinstance(tool.binding, TableBinding):
        source = tool.binding.source
        table = next((t for t in tables if source == f"sources/{t.name}.csv"), None)
        if table is not None:
            row = dict(zip(table.columns, table.rows[0], strict=True))
            return {key: row[key] for key in tool.binding.keys}
    return _from_schema(tool, known)


def _from_schema(tool: ToolSpec, known: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    properties = tool.input_schema.get("properties")
    required = tool.input_schema.get("required")
    arguments: dict[str, Any] = {}
    for name in required if isinstance(required, list) else []:
        schema = properties.get(str(name), {}) if isinstance(properties, dict) else {}
        cells = [cell for cell in known.get(str(name), ()) if fits(cell, schema)]
        try:
            arguments[str(name)] = cells[0] if cells else example(schema)
        except NoExample:
            continue
    return arguments


def _known_values(tables: Sequence[Artefact]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for table in tables:
        for name in table.columns:
            values.setdefault(name, []).extend(column(table, name)[:CELLS])
    return values
