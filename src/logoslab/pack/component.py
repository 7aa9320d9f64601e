"""Component: a versioned thing that shapes an agent's behaviour."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from logoslab.pack.base import Frozen, digest_bytes


class Family(StrEnum):
    """The ten families (AgentEvolver's eight, plus plugin and rule)."""

    PROMPT = "prompt"
    AGENT = "agent"
    SKILL = "skill"
    TOOL = "tool"
    WORKFLOW = "workflow"
    MEMORY = "memory"
    ENVIRONMENT = "environment"
    CONNECTOR = "connector"
    PLUGIN = "plugin"
    RULE = "rule"


class Component(Frozen):
    """Identity (family, name, version) and bytes.

    The identity names the bytes for ever: the archive refuses the same identity with other bytes.
    """

    family: Family
    name: str = Field(min_length=1, max_length=120, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.\-]*$")
    version: int = Field(ge=1)
    text: str

    @property
    def ref(self) -> str:
        """``family/name@version``, the form used in traces and on screen."""
        return f"{self.family.value}/{self.name}@{self.version}"

    @property
    def content_digest(self) -> str:
        """Digest of the bytes alone, whatever they are called."""
        return digest_bytes(self.text.encode())
