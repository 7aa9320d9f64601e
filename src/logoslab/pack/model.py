"""Model call values: what is asked, what came back."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue

from logoslab.pack.base import Frozen


class Message(Frozen):
    """One chat turn."""

    role: Literal["system", "user", "assistant"]
    content: str


class ModelRequest(Frozen):
    """A request; its digest is the key under which the reply is recorded and replayed."""

    model: str
    messages: tuple[Message, ...]
    output_schema: dict[str, JsonValue] | None = None
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=128, ge=1)
    seed: int = 1


class ModelReply(Frozen):
    """A complete answer. ``data`` is the parsed JSON when a schema was asked for.

    ``usd`` and tokens are None when unknown. ``replayed`` is True when no model was called.
    """

    text: str
    data: Any = None
    model: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None
    latency: float | None = None
    replayed: bool = False
