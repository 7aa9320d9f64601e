"""Event: one typed record of a trace (LOGOS Eq. 5), a union tagged by ``kind``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, TypeAdapter

from logoslab.pack.base import Frozen
from logoslab.pack.tool import EffectClass
from logoslab.pack.verdict import Outcome as VerdictOutcome


class _Event(Frozen):
    """What every event carries.

    Attributes
    ----------
    run, task, arm : str
        Which run, which task of it, and for which arm (``incumbent``, ``candidate``…).
    seq : int
        Position within (run, task, arm); the order of truth, unlike time.
    at : float
        Seconds since the epoch, from the injected clock.
    agent, component : str or None
        Who acted, and under which component version (``family/name@version``).
    """

    run: str
    task: str = ""
    arm: str = "incumbent"
    seq: int = Field(ge=0)
    at: float
    agent: str | None = None
    component: str | None = None


class TaskEvent(_Event):
    """A task was handed to the team."""

    kind: Literal["task"] = "task"
    inputs: dict[str, JsonValue]


class PlanEvent(_Event):
    """The phases that will run, in order."""

    kind: Literal["plan"] = "plan"
    phases: tuple[str, ...]


class ActionEvent(_Event):
    """A tool or model is about to be called with these arguments."""

    kind: Literal["action"] = "action"
    call: str
    name: str
    arguments: JsonValue


class ObservationEvent(_Event):
    """What the call returned; ``ok`` is False when it answered with an error."""

    kind: Literal["observation"] = "observation"
    call: str
    name: str
    ok: bool
    result: JsonValue
    latency: float | None = None


class RouteEvent(_Event):
    """The router chose a stage. ``mode`` tells whether control comes back."""

    kind: Literal["route"] = "route"
    dimension: str
    stage: str
    entry: str
    mode: Literal["transfer", "delegate", "escalate"] = "delegate"
    scores: dict[str, float] = Field(default_factory=dict)


class VerdictEvent(_Event):
    """One verifier's verdict on one output."""

    kind: Literal["verdict"] = "verdict"
    verifier: str
    verdict: VerdictOutcome
    scope: str = "output"
    detail: str = ""


class HumanEvent(_Event):
    """A question to a person, an answer, or an approval."""

    kind: Literal["human"] = "human"
    act: Literal["question", "answer", "approval", "rejection"]
    text: str
    who: str | None = None


class OutcomeEvent(_Event):
    """How the task ended. ``score`` is None while nobody has scored it."""

    kind: Literal["outcome"] = "outcome"
    status: Literal["completed", "escalated", "failed", "interrupted"]
    output: JsonValue = None
    score: float | None = None
    detail: str = ""


class CostEvent(_Event):
    """Use of a model. Unknown stays None, never 0."""

    kind: Literal["cost"] = "cost"
    model: str
    call: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None
    latency: float | None = None
    replayed: bool = False


class RiskEvent(_Event):
    """Something a person should look at."""

    kind: Literal["risk"] = "risk"
    level: Literal["low", "medium", "high"]
    reason: str


class EffectEvent(_Event):
    """What reached, or would have reached, the outside world."""

    kind: Literal["effect"] = "effect"
    call: str
    tool: str
    effect: EffectClass
    status: Literal["executed", "previewed", "refused", "failed"]
    target: str = ""
    reason: str = ""


class AuditEvent(_Event):
    """A release act, mirrored from the audit log into the trace."""

    kind: Literal["audit"] = "audit"
    act: str
    subject: str
    detail: dict[str, JsonValue] = Field(default_factory=dict)


Event = Annotated[
    TaskEvent
    | PlanEvent
    | ActionEvent
    | ObservationEvent
    | RouteEvent
    | VerdictEvent
    | HumanEvent
    | OutcomeEvent
    | CostEvent
    | RiskEvent
    | EffectEvent
    | AuditEvent,
    Field(discriminator="kind"),
]

event_adapter: TypeAdapter[Event] = TypeAdapter(Event)
"""Parses any event from JSON or a mapping."""

EVENT_KINDS = (
    "task", "plan", "action", "observation", "route", "verdict",
    "human", "outcome", "cost", "risk", "effect", "audit",
)  # fmt: skip
