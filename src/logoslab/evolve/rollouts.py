"""A trace cut into rollouts: one run of one task by the incumbent, and what went wrong in it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field, JsonValue, ValidationError

from logoslab.pack.base import Frozen
from logoslab.pack.event import Event, ObservationEvent, OutcomeEvent


class SchemaRefusal(Frozen):
    """A service's structured 422: which body fields it misses, does not know, and expects."""

    missing: tuple[str, ...] = ()
    unexpected: tuple[str, ...] = ()
    expected: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)


class Refused(NamedTuple):
    """One tool call that met a schema refusal; ``component`` is the tool version that made it."""

    tool: str
    component: str | None
    body: SchemaRefusal


class Rollout(NamedTuple):
    """One run of one task. ``score`` and ``output`` are the last ones on record."""

    run: str
    task: str
    refusals: tuple[Refused, ...]
    other_errors: tuple[str, ...]
    status: str | None
    output: dict[str, JsonValue]
    score: float | None


def rollouts(trace: Sequence[Event]) -> list[Rollout]:
    """Rollouts of the incumbent arm, ordered by run, then task."""
    parts: dict[tuple[str, str], list[Event]] = {}
    for event in sorted(trace, key=lambda e: (e.run, e.task, e.seq)):
        if event.arm == "incumbent" and event.task:
            parts.setdefault((event.run, event.task), []).append(event)
    return [_rollout(run, task, events) for (run, task), events in parts.items()]


def schema_refusal(event: ObservationEvent) -> SchemaRefusal | None:
    """The structured refusal in a failed observation; None when it is none."""
    result = event.result
    if event.ok or not isinstance(result, dict) or result.get("error") != "schema":
        return None
    if result.get("status", 422) != 422:
        return None
    known = {name: result[name] for name in SchemaRefusal.model_fields if name in result}
    try:
        body = SchemaRefusal.model_validate(known)
    except ValidationError:
        return None  # not the structure that this looks for: then it is no structured refusal
    return body if body.missing or body.unexpected else None


def _rollout(run: str, task: str, events: list[Event]) -> Rollout:
    refusals, errors = [], []
    status, output, score = None, dict[str, JsonValue](), None
    for event in events:
        if isinstance(event, ObservationEvent) and not event.ok:
            body = schema_refusal(event)
            if body:
                refusals.append(Refused(event.name, event.component, body))
            else:
                errors.append(event.name)
        elif isinstance(event, OutcomeEvent):
            status = event.status
            output = event.output if isinstance(event.output, dict) else output
            score = event.score if event.score is not None else score
    return Rollout(run, task, tuple(refusals), tuple(errors), status, output, score)
