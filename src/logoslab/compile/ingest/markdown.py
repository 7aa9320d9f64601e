"""Markdown and text → tables, a form, numbered clauses, worked examples, prose."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from logoslab.compile.ingest.bounds import diagnostic, identifier, read_text, unique
from logoslab.compile.ingest.grid import table
from logoslab.pack.base import digest_bytes
from logoslab.pack.skill import EXAMPLE
from logoslab.pack.source import Artefact, Diagnostic, Provenance, SourceReading
from logoslab.pack.tool import Schema

HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
CLAUSE = re.compile(r"^(\d{1,3}(?:\.\d{1,3})+)\s+(\S.*)$")
DIVIDER = re.compile(r"^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$")
RANGE = re.compile(r"^\s*(-?\d+)\s*(?:to|–|-|\.\.)\s*(-?\d+)\s*$")


class Section(NamedTuple):
    """A heading and the lines below it, up to the next heading of any depth."""

    title: str
    lines: list[str]


class MarkdownAdapter:
    """Documents of the kind people keep policies and forms in."""

    suffixes: tuple[str, ...] = (".md", ".markdown", ".txt")

    def read(self, path: Path) -> SourceReading:
        """Tables by their nearest heading; ``<file>_clauses``; a form; the prose itself."""
        name = path.name
        found = read_text(path)
        if isinstance(found, Diagnostic):
            return SourceReading(source=name, diagnostics=(found,))
        text, data, notes = found
        made = list(_artefacts(path, text, digest_bytes(data)))
        skills, ignored = _skill(path, sections(text))
        return SourceReading(
            source=name,
            artefacts=tuple(m for m in made if isinstance(m, Artefact)),
            skills=skills,
            diagnostics=(*notes, *ignored, *(m for m in made if isinstance(m, Diagnostic))),
        )


def sections(text: str) -> list[Section]:
    """The document cut at its headings; the first section may have no title."""
    parts = [Section("", [])]
    for line in text.split("\n"):
        heading = HEADING.match(line)
        if heading:
            parts.append(Section(heading[2], []))
        else:
            parts[-1].lines.append(line)
    return parts


def _artefacts(path: Path, text: str, fingerprint: str) -> Iterator[Artefact | Diagnostic]:
    stem = identifier(path.stem, "document")
    whole = Provenance(source=path.name, content_digest=fingerprint)
    taken = {stem}
    for section in sections(text):
        where = whole.replace(span=f"section {section.title[:100]!r}")
        for grid in _pipe_tables(section.lines):
            header = [identifier(cell, "column") for cell in grid[0]]
            if header[:1] == ["field"]:
                yield _form(unique(f"{stem}_fields", taken), header, grid[1:], where)
            else:
                name = unique(identifier(section.title or stem, "table"), taken)
                yield table(name, grid[0], grid[1:], where)
    clauses = list(_clauses(text))
    if clauses:
        where = whole.replace(span="numbered clauses")
        yield table(unique(f"{stem}_clauses", taken), ("clause", "text"), clauses, where)
    yield Artefact(name=stem, kind="text", text=text, provenance=whole)


def _pipe_tables(lines: list[str]) -> Iterator[list[list[str]]]:
    """Pipe tables: a header line, a divider line, rows until a line without a bar."""
    i = 0
    while i + 1 < len(lines):
        if "|" in lines[i] and DIVIDER.match(lines[i + 1]) and "|" in lines[i + 1]:
            end = i + 2
            while end < len(lines) and "|" in lines[end]:
                end += 1
            yield [_cells(lines[i]), *(_cells(line) for line in lines[i + 2 : end])]
            i = end
        else:
            i += 1


def _cells(line: str) -> list[str]:
    inner = line.strip().removeprefix("|").removesuffix("|")
    cells = re.split(r"(?<!\\)\|", inner)
    return [cell.strip().replace("\\|", "|").strip("`") for cell in cells]


def _clauses(text: str) -> Iterator[tuple[str, str]]:
    """Numbered clauses; lines that follow without a blank line belong to the clause."""
    number, words = "", ""
    for line in [*text.split("\n"), ""]:
        start = CLAUSE.match(line)
        if number and (start or not line.strip() or HEADING.match(line) or "|" in line):
            yield number, words
            number = ""
        if start:
            number, words = start[1], start[2].strip()
        elif number:
            words = f"{words} {line.strip()}"


def _form(
    name: str, header: list[str], rows: list[list[str]], where: Provenance
) -> Artefact | Diagnostic:
    """A form from a table whose first column is ``field``: each row becomes a JSON schema."""
    fields: dict[str, Schema] = {}
    for row in rows:
        cells = dict(zip(header, row, strict=False))
        fields[identifier(cells["field"], "field")] = _field_schema(cells)
    if not fields:
        return diagnostic(
            where.source, "empty_table", f"{where.source}: form {name} has no fields",
            "List at least one field.",
        )  # fmt: skip
    return Artefact(name=name, kind="form", fields=fields, provenance=where)


def _field_schema(cells: dict[str, str]) -> Schema:
    kind, allowed = cells.get("type", "").casefold(), cells.get("allowed", "")
    bounds = RANGE.match(allowed)
    if kind in ("integer", "number") or (bounds and kind != "text"):
        schema: Schema = {"type": "integer" if kind != "number" else "number"}
        if bounds:
            schema |= {"minimum": int(bounds[1]), "maximum": int(bounds[2])}
    else:
        schema = {"type": "string"}
        options = [option.strip() for option in re.split(r"[,;]", allowed) if option.strip()]
        if len(options) > 1:
            schema["enum"] = list(options)
    if cells.get("default"):
        schema["default"] = cells["default"]
    if cells.get("meaning") or cells.get("description"):
        schema["description"] = cells.get("meaning") or cells["description"]
    return schema


def _skill(
    path: Path, parts: list[Section]
) -> tuple[tuple[tuple[str, str], ...], tuple[Diagnostic, ...]]:
    """A skill draft from sections called Instructions and Examples, named after the file."""
    by_title = {section.title.casefold(): "\n".join(section.lines) for section in parts}
    said, pairs, notes = by_title.get("instructions", "").strip(), [], []
    for text, output in EXAMPLE.findall(by_title.get("examples", "")):
        try:
            json.loads(output)
            pairs.append(f"- input: {text}\n  output: {output}")
        except ValueError:
            why = f"{path.name}: the output of an example is not JSON: {output[:80]}"
            notes.append(
                diagnostic(path.name, "example_ignored", why, "Write the output as a JSON object.")
            )
    if not said and not pairs:
        return (), tuple(notes)
    stem = re.sub(r"_(form|sheet|template|guide)$", "", identifier(path.stem, "skill"))
    body = said + ("\n\n## Examples\n\n" + "\n".join(pairs) if pairs else "")
    return ((stem.replace("_", "-"), body.strip() + "\n"),), tuple(notes)
