"""SKILL.md: a playbook a person can read, with a few lines a program can read too.

Front matter holds only the fields of the public SKILL.md format; everything of ours goes under
``metadata``. Two sections are structured, and both may be absent:

``## Examples``
    pairs of ``- input: …`` and ``  output: …`` (JSON), given to the model as earlier turns.
``## Rules``
    lines ``- when <field> mentions "<text>", <field> is "<value>"``, applied by the runtime after
    the model or the solver has answered.
"""

from __future__ import annotations

import json
import re
from typing import Any

import yaml
from pydantic import Field

from logoslab.errors import PackError
from logoslab.pack.base import Frozen

RULE = re.compile(r'^- when (\w+) mentions "([^"]+)", (\w+) is "([^"]+)"\s*$', re.M)
EXAMPLE = re.compile(r"^- input: (.+)\n  output: (\{.*\})\s*$", re.M)


class SkillRule(Frozen):
    """When ``field`` mentions ``text`` (case-insensitive), ``target`` is ``value``."""

    field: str
    text: str
    target: str
    value: str

    def line(self) -> str:
        """The rule as it stands in SKILL.md."""
        return f'- when {self.field} mentions "{self.text}", {self.target} is "{self.value}"'


class Example(Frozen):
    """One worked example: what came in, what should come out."""

    input: str
    output: dict[str, Any]


class Skill(Frozen):
    """A parsed SKILL.md."""

    name: str = Field(max_length=64, pattern=r"^[a-z0-9][a-z0-9\-]*$")
    description: str = Field(max_length=1024)
    metadata: dict[str, str] = Field(default_factory=dict)
    instructions: str
    examples: tuple[Example, ...] = ()
    rules: tuple[SkillRule, ...] = ()

    def apply_rules(self, inputs: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        """The answer after every rule that fires; later rules win."""
        changed = dict(answer)
        for rule in self.rules:
            if rule.text.casefold() in str(inputs.get(rule.field, "")).casefold():
                changed[rule.target] = rule.value
        return changed


def parse_skill(text: str, path: str = "SKILL.md") -> Skill:
    """Read a SKILL.md.

    Raises
    ------
    PackError
        When the front matter is missing, is not YAML, or breaks the public format.
    """
    parts = re.split(r"^---\s*$", text, maxsplit=2, flags=re.M)
    try:
        if len(parts) != 3 or parts[0].strip():
            raise ValueError("no front matter between two '---' lines")
        front = yaml.safe_load(parts[1]) or {}
        unknown = set(front) - {
            "name", "description", "license", "compatibility", "metadata", "allowed-tools"
        }  # fmt: skip
        if unknown:
            raise ValueError(f"unknown front-matter keys {sorted(unknown)}")
        return Skill(
            name=front.get("name", ""),
            description=front.get("description", ""),
            metadata={k: str(v) for k, v in (front.get("metadata") or {}).items()},
            instructions=_before_sections(parts[2]),
            examples=tuple(
                Example(input=i.strip(), output=json.loads(o)) for i, o in EXAMPLE.findall(parts[2])
            ),
            rules=tuple(
                SkillRule(field=f, text=t, target=g, value=v)
                for f, t, g, v in RULE.findall(parts[2])
            ),
        )
    except (ValueError, yaml.YAMLError, AttributeError, TypeError) as cause:
        raise PackError(
            f"skill {path}",
            got=str(cause),
            allowed="YAML front matter with name and description, then Markdown",
            next_step="Correct the file; unknown fields of yours belong under metadata.",
        ) from cause


def _before_sections(body: str) -> str:
    return re.split(r"^## (?:Examples|Rules)\s*$", body, maxsplit=1, flags=re.M)[0].strip()
