"""Recorded calls: what makes a notebook reproducible without its model."""

from __future__ import annotations

import json
from typing import Any, Literal, Protocol

from pydantic import ValidationError

from logoslab.errors import ModelReplyInvalid, ReplayMiss
from logoslab.pack.base import canonical_json, digest
from logoslab.pack.model import ModelReply, ModelRequest
from logoslab.ports import Model
from logoslab.run.redact import redact, secrets_in_environment

Mode = Literal["record", "replay", "refresh", "off"]


class CallStore(Protocol):
    """Keeps one reply a key. The lab's trace database is one."""

    def record_call(self, key: str, reply_json: str) -> None:
        """Keep a reply under its key."""

    def recorded_call(self, key: str) -> str | None:
        """The reply kept under ``key``, or None."""


class RecordedModel:
    """A model whose replies are kept and given again.

    Parameters
    ----------
    inner : Model
        Asked only when the mode allows it. Its ``weights`` digest, if it has one, is part of the
        key, so replies of other weights are never replayed.
    store : CallStore
    mode : str
        ``record``: answer from the store, else ask and keep. ``replay``: only from the store.
        ``refresh``: always ask, and keep. ``off``: always ask, keep nothing.

    Notes
    -----
    Invalid replies are kept and raised again, so that a replayed run takes the same path. Missing
    models, timeouts and refusals say nothing about the request and are not kept.
    """

    def __init__(self, inner: Model, store: CallStore, mode: Mode = "record") -> None:
        self.inner, self.store, self.mode, self.name = inner, store, mode, inner.name

    @property
    def weights(self) -> str | None:
        """The inner model's weights digest, if it has weights."""
        weights: str | None = getattr(self.inner, "weights", None)
        return weights

    def key(self, request: ModelRequest) -> str:
        """Digest of the request, the model's id and its weights."""
        return digest(
            {"request": request.digest, "model": self.inner.name, "weights": self.weights}
        )

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The kept reply (``replayed=True``) or a fresh one, by the mode.

        Raises
        ------
        ReplayMiss
            In mode ``replay`` when this request was never recorded or its record is unreadable.
        ModelError
            What the inner model raises, or a kept invalid reply.
        """
        if self.mode == "off":
            return await self.inner.complete(request)
        key = self.key(request)
        kept = None if self.mode == "refresh" else self.store.recorded_call(key)
        if kept is not None:
            return _replayed(kept, key)
        if self.mode == "replay":
            raise _miss(key, "nothing under this key", request.model)
        try:
            reply = await self.inner.complete(request)
        except ModelReplyInvalid as invalid:
            self._keep(key, {"invalid": _as_json(invalid)})
            raise
        self._keep(key, {"reply": reply.model_dump(mode="json")})
        return reply

    def _keep(self, key: str, record: dict[str, Any]) -> None:
        clean = redact(record, secrets_in_environment())
        self.store.record_call(key, canonical_json(clean).decode())


def _replayed(kept: str, key: str) -> ModelReply:
    try:
        record = json.loads(kept)
        if "reply" in record:
            return ModelReply.model_validate(record["reply"]).replace(replayed=True)
        invalid = ModelReplyInvalid(**record["invalid"])
    except (ValueError, KeyError, TypeError, ValidationError) as cause:
        raise _miss(key, f"an unreadable record ({type(cause).__name__})", "") from cause
    raise invalid


def _as_json(error: ModelReplyInvalid) -> dict[str, str]:
    return {
        "which": error.which,
        "got": str(error.got),
        "allowed": error.allowed,
        "next_step": error.next_step,
    }


def _miss(key: str, got: str, model: str) -> ReplayMiss:
    return ReplayMiss(
        f"replay of {model or 'a model'} call {key[:19]}",
        got=got,
        allowed="a call that was recorded in this lab",
        next_step="Run once with the model present (mode 'record'), or use `refresh=True`.",
    )
