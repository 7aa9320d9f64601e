"""The rungs of a ladder: one greedy call, a few samples, a deterministic solver."""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from pydantic import JsonValue

from logoslab.errors import ModelReplyInvalid, ToolError
from logoslab.pack.model import Message, ModelReply, ModelRequest
from logoslab.pack.skill import Skill

Ask = Callable[[ModelRequest], Awaitable[ModelReply]]


def skill_messages(skill: Skill, text: str) -> tuple[Message, ...]:
    """The prompt that a skill makes of a text.

    The system turn holds the instructions and the rules as text, the examples are earlier turns,
    and the text comes last, as it is.
    """
    rules = "\n".join(rule.line() for rule in skill.rules)
    system = f"{skill.instructions}\n\nRules:\n{rules}" if rules else skill.instructions
    turns = [Message(role="system", content=system)]
    for example in skill.examples:
        turns.append(Message(role="user", content=example.input))
        answer = json.dumps(example.output, ensure_ascii=False)
        turns.append(Message(role="assistant", content=answer))
    return (*turns, Message(role="user", content=text))


def sample_seed(*parts: str | int) -> int:
    """A seed below 2**31 from names (task, phase, number), the same on every machine."""
    text = "\x1f".join(str(part) for part in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1


class GreedyStage:
    """One call at temperature 0. An invalid reply is an abstention."""

    name = "greedy"

    def __init__(self, ask: Ask, request: ModelRequest) -> None:
        self.ask, self.request = ask, request.replace(temperature=0.0)

    async def answers(self) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
        """At most one output."""
        async for answer in _answer(self.ask, self.request):
            yield answer


class SampleStage:
    """Up to ``n`` calls at ``temperature``, each with its own seed, until one is accepted.

    Parameters
    ----------
    ask : callable
    request : ModelRequest
        Its seed is replaced.
    seed_from : str
        What the seeds derive from, usually the task and the phase.
    n : int, default 4
    temperature : float, default 0.7
    """

    name = "samples"

    def __init__(
        self,
        ask: Ask,
        request: ModelRequest,
        *,
        seed_from: str,
        n: int = 4,
        temperature: float = 0.7,
    ) -> None:
        self.ask = ask
        self.requests = tuple(
            request.replace(temperature=temperature, seed=sample_seed(seed_from, i))
            for i in range(n)
        )

    async def answers(self) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
        """One output for each valid reply, drawn only when asked for."""
        for request in self.requests:
            async for answer in _answer(self.ask, request):
                yield answer


class SolverStage:
    """A deterministic tool that can answer when models cannot. A tool error is an abstention.

    Parameters
    ----------
    solve : callable
        Calls the solver tool through the tool gate.
    output_schema : mapping
        The result is cut to this schema's properties.
    """

    name = "solver"

    def __init__(
        self, solve: Callable[[], Awaitable[Any]], output_schema: Mapping[str, JsonValue]
    ) -> None:
        self.solve, self.output_schema = solve, output_schema

    async def answers(self) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
        """At most one output; it costs nothing."""
        try:
            result = await self.solve()
        except ToolError:
            return
        if isinstance(result, Mapping):
            yield cut_to_schema(result, self.output_schema), 0.0


def cut_to_schema(value: Mapping[str, Any], schema: Mapping[str, JsonValue]) -> dict[str, Any]:
    """Only the fields that the schema names; everything when it names none."""
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return dict(value)
    return {name: value[name] for name in properties if name in value}


async def _answer(
    ask: Ask, request: ModelRequest
) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
    try:
        reply = await ask(request)
    except ModelReplyInvalid:
        return  # recorded by the call; the ladder goes on
    if isinstance(reply.data, dict):
        yield reply.data, reply.usd
