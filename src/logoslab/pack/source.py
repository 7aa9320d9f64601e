"""Source values: what ingestion makes of one document (LOGOS Eq. 26)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from logoslab.pack.base import Frozen
from logoslab.pack.tool import ToolSpec


class Provenance(Frozen):
    """Where something came from: source name, digest, span in words."""

    source: str
    content_digest: str
    span: str = "whole file"


class Artefact(Frozen):
    """A typed piece of material: a table, a form, prose or an API description.

    ``columns`` of a table are its names in order; ``rows`` are string cells (None when empty).
    ``fields`` of a form map a field name to a JSON schema.
    """

    name: str
    kind: Literal["table", "form", "text", "api"]
    text: str = ""
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str | None, ...], ...] = ()
    fields: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    document: JsonValue = None
    provenance: Provenance


class Diagnostic(Frozen):
    """Something the compiler could not use: which, why, what to do."""

    source: str
    code: str
    message: str
    next_step: str


class SourceReading(Frozen):
    """Eq. 26: tools, skill drafts, artefacts and provenance of one source, plus diagnostics."""

    source: str
    tools: tuple[ToolSpec, ...] = ()
    skills: tuple[tuple[str, str], ...] = ()
    artefacts: tuple[Artefact, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
