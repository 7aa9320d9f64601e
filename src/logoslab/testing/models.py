"""A model that says what a test tells it to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from logoslab.errors import LogoslabError, ModelUnavailable
from logoslab.pack.model import ModelReply, ModelRequest
from logoslab.run.models.reply import parse_reply

Scripted = str | dict[str, Any] | LogoslabError
Script = Callable[[ModelRequest], Scripted] | Sequence[Scripted]


class ScriptedModel:
    """Replies from a function of the request, or from a list in order.

    Parameters
    ----------
    script : callable or sequence
        Each reply is a text, a mapping (sent as its JSON) or an error, which is raised. A list
        that is used up raises :class:`ModelUnavailable`.
    name : str
    tokens : (int, int) or None
        Tokens in and out to report; None is unknown.
    usd : float or None
        Cost to report.
    finish_reason : str
        ``"length"`` plays a cut-off answer.

    Attributes
    ----------
    requests : list of ModelRequest
        Every request, in order; its length counts the calls.

    Examples
    --------
    >>> import asyncio
    >>> from logoslab.pack.model import Message, ModelRequest
    >>> model = ScriptedModel([{"data": "card numbers"}])
    >>> schema = {"type": "object", "required": ["data"]}
    >>> ask = ModelRequest(model=model.name, messages=(Message(role="user", content="Hi"),),
    ...                    output_schema=schema)
    >>> asyncio.run(model.complete(ask)).data
    {'data': 'card numbers'}
    """

    def __init__(
        self,
        script: Script,
        *,
        name: str = "scripted",
        tokens: tuple[int, int] | None = (10, 5),
        usd: float | None = 0.0,
        finish_reason: str = "stop",
    ) -> None:
        self.script, self.name = script, name
        self.tokens, self.usd, self.finish_reason = tokens, usd, finish_reason
        self.requests: list[ModelRequest] = []

    @property
    def calls(self) -> int:
        """How often it was asked."""
        return len(self.requests)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The next scripted reply, checked against the request's schema like any model's."""
        self.requests.append(request)
        said = self._next(request)
        if isinstance(said, LogoslabError):
            raise said
        text = said if isinstance(said, str) else json.dumps(said)
        tokens_in, tokens_out = self.tokens or (None, None)
        return ModelReply(
            text=text,
            data=parse_reply(text, request.output_schema, self.finish_reason, self.name),
            model=self.name,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            usd=self.usd,
            latency=0.0,
        )

    def _next(self, request: ModelRequest) -> Scripted:
        if callable(self.script):
            return self.script(request)
        if self.calls > len(self.script):
            raise ModelUnavailable(
                f"scripted model {self.name}",
                got=f"call {self.calls}",
                allowed=f"{len(self.script)} scripted replies",
                next_step="Script one more reply, or script a function of the request.",
            )
        return self.script[self.calls - 1]
