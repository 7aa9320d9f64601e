"""The deterministic designer: the same readings and brief give the same blueprint.

Normalised: at least one role, exactly one canonical playbook (a skill whose metadata says so).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from logoslab.compile.chain import chain
from logoslab.compile.emit import CANONICAL, emit
from logoslab.compile.ingest.bounds import identifier
from logoslab.compile.layout import lay_out
from logoslab.compile.material import gather
from logoslab.pack.run import Blueprint
from logoslab.pack.skill import parse_skill
from logoslab.pack.source import SourceReading


class DeterministicDesigner:
    """Chains tables and operations by the names of their columns and fields."""

    async def design(self, readings: Sequence[SourceReading], brief: str) -> Blueprint:
        """A draft that needs no model."""
        return draft(readings, brief)


def draft(readings: Sequence[SourceReading], brief: str) -> Blueprint:
    """The deterministic blueprint (LOGOS Eq. 28, the last rung of Eq. 29)."""
    material = gather(readings)
    links = chain(material)
    domain = title_of(brief)
    files = emit(material, links, lay_out(material, links), readings, brief, domain)
    return normalise(
        Blueprint(
            name=identifier(domain, "pack").replace("_", "-"),
            domain=domain,
            mode="deterministic",
            files=files,
            notes=(*material.notes, *links.notes),
        )
    )


def title_of(brief: str) -> str:
    """The brief's first sentence without its full stop, at most 80 characters."""
    first = re.split(r"(?<=[.!?])\s|\n\s*\n", brief.strip().lstrip("# "), maxsplit=1)[0]
    return " ".join(first.split())[:80].rstrip(" .!?") or "Unnamed work"


def normalise(blueprint: Blueprint) -> Blueprint:
    """At least one role and exactly one canonical playbook, whoever designed it.

    The first canonical skill stays; a second loses the mark. Without one, the first skill gets it;
    without any skill or role, plain ones are added.
    """
    files, notes = dict(blueprint.files), list(blueprint.notes)
    if not any(path.startswith("agents/") for path in files):
        files["agents/analyst.md"] = "# Analyst\n\nDoes the work of every phase.\n"
        notes.append("no role was designed; one analyst was added")
    skills = [p for p in sorted(files) if re.fullmatch(r"skills/[^/]+/SKILL\.md", p)]
    if not skills:
        skills = ["skills/task-playbook/SKILL.md"]
        files[skills[0]] = (
            "---\nname: task-playbook\ndescription: How one task is done.\n"
            f'metadata:\n  {CANONICAL}: "true"\n---\n\nFollow the execution plan.\n'
        )
        notes.append("no playbook was designed; a plain one was added")
    marked = [p for p in skills if parse_skill(files[p], p).metadata.get(CANONICAL) == "true"]
    for path in marked[1:]:
        files[path] = re.sub(rf'(?m)^  {CANONICAL}: "?\'?true"?\'?\n', "", files[path], count=1)
        notes.append(f"{path}: only one playbook can be canonical; the mark was removed")
    if not marked:
        files[skills[0]] = _mark(files[skills[0]])
        notes.append(f"{skills[0]}: marked as the canonical playbook")
    return blueprint.replace(files=files, notes=tuple(notes))


def _mark(text: str) -> str:
    mark = f'  {CANONICAL}: "true"\n'
    if re.search(r"(?m)^metadata:\s*$", text):
        return re.sub(r"(?m)^metadata:\s*\n", f"metadata:\n{mark}", text, count=1)
    return re.sub(r"(?s)\A(---\n.*?)(^---\s*$)", rf"\1metadata:\n{mark}\2", text, flags=re.M)
