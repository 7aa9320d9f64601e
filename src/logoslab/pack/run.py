"""Run values: what a stage tried, what a task came to."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, JsonValue

from logoslab.pack.base import Frozen
from logoslab.pack.verdict import StackVerdict


class Attempt(Frozen):
    """One output of one stage and what the verifier stack said about it."""

    stage: str
    output: dict[str, Any]
    verdict: StackVerdict
    cost: float | None = None


class Routed(Frozen):
    """How a router answered one step.

    ``output`` and ``stage`` are None when every stage was rejected: a person's turn.
    ``scores`` are the optimistic pass estimates that the entry was chosen by.
    """

    output: dict[str, Any] | None
    stage: str | None
    entry: str
    attempts: tuple[Attempt, ...]
    scores: dict[str, float] = Field(default_factory=dict)


class TaskResult(Frozen):
    """The end of one task by one arm.

    Attributes
    ----------
    status : str
        ``completed`` with an output; ``escalated`` to a person; ``failed`` with a typed reason;
        ``interrupted`` before the end.
    output : dict or None
        The team's answer, by the plan's ``output`` mapping; fields nobody produced are None.
    steps : dict
        Phase id → result, for scorers that look at what really happened.
    forbidden : tuple of str
        Effects the envelope refused, as ``tool:effect``.
    """

    task: str
    arm: str
    status: Literal["completed", "escalated", "failed", "interrupted"]
    output: dict[str, JsonValue] | None
    steps: dict[str, Any] = Field(default_factory=dict)
    stages: dict[str, str | None] = Field(default_factory=dict)
    forbidden: tuple[str, ...] = ()
    detail: str = ""
    usd: float | None = None
    latency: float | None = None


class Abstention(Frozen):
    """A proposer that declines to propose, with the reason."""

    proposer: str
    reason: str


class Attribution(Frozen):
    """Which component a failure is put down to; ``primary`` is None when nobody can tell."""

    primary: str | None
    path: str | None = None
    secondary: tuple[str, ...] = ()
    reason: str
    tasks: tuple[str, ...] = ()


class Blueprint(Frozen):
    """A designer's draft of a pack (LOGOS Eq. 28): the files it would emit, before probes."""

    name: str
    domain: str
    mode: Literal["team", "playbook", "deterministic"]
    files: dict[str, str]
    notes: tuple[str, ...] = ()
