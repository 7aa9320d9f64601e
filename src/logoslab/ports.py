"""Every seam of logoslab on one page. A room knows its neighbours only through these.

Each protocol says what it does and what it never does. Public doubles and one contract suite per
port live in ``logoslab.testing``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.decision import Decision
from logoslab.pack.event import Event
from logoslab.pack.evidence import Evidence
from logoslab.pack.model import ModelReply, ModelRequest
from logoslab.pack.patch import Patch
from logoslab.pack.policy import RootPolicy
from logoslab.pack.run import Abstention, Blueprint, Routed, TaskResult
from logoslab.pack.source import SourceReading
from logoslab.pack.task import Task
from logoslab.pack.tool import ToolSpec
from logoslab.pack.verdict import StackVerdict, Verdict, VerifierSpec


class Clock(Protocol):
    """Time as an argument."""

    def now(self) -> float:
        """Seconds since the epoch."""


@runtime_checkable
class Model(Protocol):
    """Answers a request completely, or raises a ``ModelError``. Never returns half an answer."""

    name: str

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply; when ``request.output_schema`` is set, ``reply.data`` satisfies it."""


class Recorder(Protocol):
    """Keeps events. After ``flush`` returns, every event given before survives a kill."""

    def record(self, event: Event) -> None:
        """Queue one event. Never blocks on the disk."""

    def flush(self) -> None:
        """Return when all queued events are durable (acknowledged)."""


class ToolRunner(Protocol):
    """Runs one tool body, or raises ``ToolError``. Never decides whether it may run."""

    async def call(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> Any:
        """The result, valid under ``spec.output_schema``."""


class Human(Protocol):
    """A person. Returns None when nobody answered; never invents an answer."""

    def ask(self, question: str, arguments: Mapping[str, Any]) -> str | None:
        """The answer in words."""


class VerifyContext(NamedTuple):
    """What a verifier may look at: the task's inputs, the output and its schema. No label."""

    task: Task
    inputs: Mapping[str, Any]
    output: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    execute: Callable[[], tuple[bool, str]] | None = None
    """Runs the step's declared ``check`` tool; None when the step declares none."""


class Verifier(Protocol):
    """Judges one output. Raising counts as ``error``, which rejects."""

    spec: VerifierSpec

    def check(self, context: VerifyContext) -> Verdict:
        """The typed verdict."""


class Stage(Protocol):
    """One rung of a ladder. Yields candidate outputs, cheapest first; nothing means it abstains."""

    name: str

    def answers(self) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
        """Pairs (output, cost or None). The router stops asking once one is accepted."""


class Router(Protocol):
    """Chooses where to enter a ladder and learns from verdicts. Never judges an output itself."""

    async def answer(
        self,
        dimension: str,
        stages: Sequence[Stage],
        accept: Callable[[Mapping[str, Any]], StackVerdict],
    ) -> Routed:
        """Run stages from the entry upward until ``accept`` passes an output."""

    def snapshot(self) -> dict[str, Any]:
        """State as JSON."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a snapshot."""


class Backend(Protocol):
    """Runs a pack on one task. Every tool body goes through the tool gate."""

    async def run_task(self, pack: AgentPack, task: Task, *, run: str, arm: str) -> TaskResult:
        """The result; a failure is a result, not an exception. Cancellation propagates."""


class Scorer(Protocol):
    """Scores a result against labels that only it holds."""

    name: str

    def score(self, task: Task, result: TaskResult) -> float | None:
        """A value in [0, 1]; None when nothing can be said."""


class SourceAdapter(Protocol):
    """Reads one kind of source. Unreadable material becomes diagnostics, never an exception."""

    suffixes: tuple[str, ...]

    def read(self, path: Path) -> SourceReading:
        """Tools, skills, artefacts and provenance of one file."""


class Designer(Protocol):
    """Drafts a pack from what was read. Grants nothing; probes decide."""

    async def design(self, readings: Sequence[SourceReading], brief: str) -> Blueprint:
        """A draft with at least one role and exactly one canonical playbook."""


class Proposer(Protocol):
    """Turns experience into a candidate, or abstains. Never sees a gate and changes nothing."""

    name: str

    def propose(
        self, pack: AgentPack, trace: Sequence[Event], policy: RootPolicy
    ) -> Patch | Abstention:
        """A patch on ``pack``, or the reason for none."""


class AdmissionRule(Protocol):
    """Evidence → Decision. Runs nothing, asks nobody, changes nothing."""

    @property
    def name(self) -> str:
        """Its name on record."""

    @property
    def source(self) -> str:
        """Where the rule comes from."""

    def decide(self, evidence: Evidence) -> Decision:
        """The conclusion; ``not_applicable`` with the reason when evidence lacks a need."""
