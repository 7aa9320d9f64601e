"""Agent Pack: a release of components, genome, verifiers, probes and manifest (LOGOS Eq. 23).

A pack *is* its files. Typed views are read from them, so what is signed, archived, diffed and run
is one thing. ``pack.json`` lists every other file with its identity and digest.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from logoslab.errors import InvalidValue, PackError, PackTampered
from logoslab.pack.base import Frozen, digest, digest_bytes, first_error_of
from logoslab.pack.component import Component, Family
from logoslab.pack.genome import Genome
from logoslab.pack.plan import ExecutionPlan
from logoslab.pack.skill import Skill, parse_skill
from logoslab.pack.tool import ToolSpec
from logoslab.pack.verdict import VerifierSpec

MANIFEST = "pack.json"

# First match wins. Everything else in a pack is material the team reads: an environment.
_FAMILY_OF = (
    ("agents/", Family.AGENT),
    ("skills/", Family.SKILL),
    ("tools/", Family.TOOL),
    ("prompts/", Family.PROMPT),
    ("memory/", Family.MEMORY),
    ("rules/", Family.RULE),
    ("connectors/", Family.CONNECTOR),
    ("plugins/", Family.PLUGIN),
    ("execution_plan.json", Family.WORKFLOW),
)

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")


class Entry(Frozen):
    """One file of a pack: its identity and digest."""

    path: str = Field(pattern=r"^[^/\\\x00-\x1f][^\\\x00-\x1f]*$")
    family: Family
    name: str
    version: int = Field(ge=1)
    content_digest: str

    @field_validator("path")
    @classmethod
    def _stays_inside(cls, path: str) -> str:
        if {"", ".", ".."} & set(path.split("/")):
            raise InvalidValue(
                "path of a pack's file",
                got=path,
                allowed="a relative path below the pack's folder",
                next_step="Name the file without '..' and without a leading slash.",
            )
        return path


class Probe(Frozen):
    """One finite check: call ``tool`` with ``arguments`` and expect success (Table 5, L0–L2)."""

    id: str
    level: Literal["L0", "L1", "L2"]
    tool: str | None = None
    arguments: dict[str, Any] = Field(default_factory=dict)


class Manifest(Frozen):
    """``pack.json``."""

    schema_version: Literal[1] = 1
    name: str = Field(min_length=1)
    version: int = Field(ge=1)
    domain: str = ""
    certification: dict[str, Any] = Field(default_factory=dict)
    compiler: dict[str, Any] = Field(default_factory=dict)
    entries: tuple[Entry, ...]


class AgentPack(Frozen):
    """A manifest and the text of every file it lists."""

    manifest: Manifest
    files: dict[str, str]

    @model_validator(mode="after")
    def _manifest_matches_files(self) -> AgentPack:
        listed = {entry.path: entry.content_digest for entry in self.manifest.entries}
        actual = {path: digest_bytes(text.encode()) for path, text in self.files.items()}
        if listed != actual:
            wrong = sorted(p for p in {*listed, *actual} if listed.get(p) != actual.get(p))
            raise PackTampered(
                f"pack {self.manifest.name}",
                got=f"files that differ from pack.json: {', '.join(wrong)}",
                allowed="exactly the files and digests that pack.json lists",
                next_step="Restore it from the archive, or make the change as a candidate patch.",
            )
        return self

    @property
    def name(self) -> str:
        """The pack's name."""
        return self.manifest.name

    @property
    def version(self) -> int:
        """The pack's release number; each patch raises it by one."""
        return self.manifest.version

    @cached_property
    def digest(self) -> str:
        """Digest of what shapes behaviour: every file's identity and bytes."""
        entries = [e.model_dump(mode="json") for e in self.manifest.entries]
        return digest({"name": self.name, "version": self.version, "entries": entries})

    @cached_property
    def components(self) -> dict[str, Component]:
        """Path → component version."""
        return {
            e.path: Component(
                family=e.family, name=e.name, version=e.version, text=self.files[e.path]
            )
            for e in self.manifest.entries
        }

    @cached_property
    def genome(self) -> Genome:
        """The eight axes of ``genome.json``."""
        return self._parse("genome.json", Genome)

    @cached_property
    def plan(self) -> ExecutionPlan:
        """The phase DAG of ``execution_plan.json``."""
        return self._parse("execution_plan.json", ExecutionPlan)

    @cached_property
    def verifiers(self) -> tuple[VerifierSpec, ...]:
        """The declared verifier stack of ``verifiers.json``."""
        return self._list("verifiers.json", TypeAdapter(tuple[VerifierSpec, ...]))

    @cached_property
    def probes(self) -> tuple[Probe, ...]:
        """The finite battery of ``probes.json``."""
        return self._list("probes.json", TypeAdapter(tuple[Probe, ...]))

    @cached_property
    def tools(self) -> dict[str, ToolSpec]:
        """Tool name → specification, from ``tools/*.json``."""
        specs = [self._parse(p, ToolSpec) for p in sorted(self.files) if p.startswith("tools/")]
        return {spec.name: spec for spec in specs}

    @cached_property
    def skills(self) -> dict[str, Skill]:
        """Skill name → parsed ``skills/<name>/SKILL.md``."""
        paths = [
            p for p in sorted(self.files) if p.startswith("skills/") and p.endswith("/SKILL.md")
        ]
        parsed = [parse_skill(self.files[p], p) for p in paths]
        return {skill.name: skill for skill in parsed}

    @cached_property
    def agents(self) -> dict[str, str]:
        """Agent name → role text, from ``agents/*.md``."""
        return {
            PurePosixPath(p).stem: t
            for p, t in sorted(self.files.items())
            if p.startswith("agents/")
        }

    def component_of(self, path: str) -> str:
        """``family/name@version`` of a path."""
        return self.components[path].ref

    def with_files(self, changed: Mapping[str, str | None]) -> AgentPack:
        """The next release: some files replaced, added, or removed (``None``).

        Each changed component's version and the pack's version rise by one.
        """
        files = {p: t for p, t in {**self.files, **changed}.items() if t is not None}
        old = {e.path: e for e in self.manifest.entries}
        entries = tuple(_entry(path, text, old.get(path)) for path, text in sorted(files.items()))
        manifest = self.manifest.replace(entries=entries, version=self.version + 1)
        return AgentPack(manifest=manifest, files=files)

    def write(self, folder: str | Path) -> None:
        """Write the pack directory.

        Raises
        ------
        PackError
            When the folder holds anything: a pack is never mixed with other files.
        """
        base = Path(folder)
        if base.exists() and (not base.is_dir() or any(base.iterdir())):
            raise PackError(
                f"write of pack {self.name}",
                got=f"{base.name}, which is not an empty folder",
                allowed="an empty or new folder",
                next_step="Choose another folder.",
            )
        for path, text in [*self.files.items(), (MANIFEST, self.manifest_text())]:
            target = base / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode())

    def manifest_text(self) -> str:
        """The text of ``pack.json``: the manifest and its own digest as ``seal``."""
        manifest = self.manifest.model_dump(mode="json")
        return pretty_json({**manifest, "seal": digest(manifest)})

    def _json(self, path: str) -> Any:
        try:
            return json.loads(self.files[path])
        except (KeyError, json.JSONDecodeError, RecursionError) as cause:
            raise PackError(
                f"{path} of pack {self.name}",
                got=str(cause),
                allowed="a JSON file of that name in the pack",
                next_step="Compile the pack again, or correct the candidate that edited it.",
            ) from cause

    def require_readable(self) -> None:
        """Read every typed view once, so that what is malformed is known before it is run.

        Raises
        ------
        PackError
        """
        _ = (self.genome, self.plan, self.verifiers, self.probes, self.tools, self.skills)
        _ = self.components

    def _list(self, path: str, adapter: TypeAdapter[T]) -> T:
        try:
            return adapter.validate_python(self._json(path))
        except ValidationError as cause:
            raise self._malformed(path, cause, "a list of its own kind") from cause

    def _malformed(self, path: str, cause: ValidationError, allowed: str) -> PackError:
        return PackError(
            f"{path} of pack {self.name}",
            got=first_error_of(cause),
            allowed=allowed,
            next_step="Correct the field, or propose the change as a typed patch.",
        )

    def _parse(self, path: str, model: type[M]) -> M:
        try:
            return model.model_validate(self._json(path))
        except ValidationError as cause:
            raise self._malformed(path, cause, f"the schema of {model.__name__}") from cause


def build_pack(
    name: str,
    files: Mapping[str, str],
    *,
    domain: str = "",
    certification: Mapping[str, Any] | None = None,
    compiler: Mapping[str, Any] | None = None,
) -> AgentPack:
    """Version 1 of a pack from its files (without ``pack.json``)."""
    entries = tuple(_entry(path, text, None) for path, text in sorted(files.items()))
    manifest = Manifest(
        name=name,
        version=1,
        domain=domain,
        certification=dict(certification or {}),
        compiler=dict(compiler or {}),
        entries=entries,
    )
    return AgentPack(manifest=manifest, files=dict(files))


def load_pack(path: str | Path) -> AgentPack:
    """Read a pack directory and check every byte against ``pack.json``.

    Raises
    ------
    PackError
        When there is no readable ``pack.json`` or it breaks the schema.
    PackTampered
        When a file was edited, added or removed by hand.
    """
    folder = Path(path)
    try:
        manifest = parse_manifest((folder / MANIFEST).read_bytes())
        files = {
            p.relative_to(folder).as_posix(): p.read_bytes().decode()
            for p in sorted(folder.rglob("*"))
            if p.is_file() and p != folder / MANIFEST
        }
    except (OSError, ValueError, RecursionError) as cause:
        raise PackError(
            f"pack {folder.name}",
            got=str(cause).splitlines()[0],
            allowed="a pack directory with a valid pack.json and UTF-8 files",
            next_step="Point at a folder that `Lab.compile` wrote, or compile it again.",
        ) from cause
    return AgentPack(manifest=manifest, files=files)


def parse_manifest(text: bytes | str) -> Manifest:
    """The manifest of a ``pack.json``.

    Raises
    ------
    PackTampered
        When it was edited by hand: its seal does not fit.
    ValueError
        When it is not a manifest (also pydantic's ValidationError).
    """
    document = json.loads(text)
    if not isinstance(document, dict):
        raise ValueError("not a JSON object")
    seal = document.pop("seal", None)
    manifest = Manifest.model_validate(document)
    if seal != digest(manifest.model_dump(mode="json")):
        raise PackTampered(
            f"{MANIFEST} of pack {manifest.name}",
            got="a manifest that does not fit its seal",
            allowed="the bytes that were written",
            next_step="Restore it from the archive, or make the change as a candidate patch.",
        )
    return manifest


def family_of(path: str) -> Family:
    """The component family that a path in a pack belongs to."""
    return next((f for prefix, f in _FAMILY_OF if path.startswith(prefix)), Family.ENVIRONMENT)


def pretty_json(value: Any) -> str:
    """JSON for people to read and diff: sorted keys, two spaces, a final newline."""
    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _entry(path: str, text: str, old: Entry | None) -> Entry:
    fingerprint = digest_bytes(text.encode())
    if old and old.content_digest == fingerprint:
        return old
    return Entry(
        path=path,
        family=family_of(path),
        name=_component_name(path),
        version=old.version + 1 if old else 1,
        content_digest=fingerprint,
    )


def _component_name(path: str) -> str:
    """``skills/intake/SKILL.md`` → ``intake``; ``tools/x.json`` → ``x``; else the dotted path."""
    parts = PurePosixPath(path).parts
    if parts[:1] == ("skills",) and len(parts) > 2:
        return parts[1] if parts[-1] == "SKILL.md" else ".".join(parts[1:])
    if len(parts) == 2 and family_of(path) is not Family.ENVIRONMENT:
        return PurePosixPath(path).stem
    return path.replace("/", ".")
