"""The native backend: a pack's plan, phase by phase, under a budget, written down exactly."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Literal

from logoslab.errors import BudgetExceeded, LogoslabError, ModelUnavailable, PackError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.plan import ExecutionPlan, HumanStep, ModelStep, Phase, ToolStep
from logoslab.pack.policy import RootPolicy
from logoslab.pack.references import resolve, step_roots
from logoslab.pack.run import TaskResult
from logoslab.pack.task import Task
from logoslab.ports import Clock, Human, Model, Recorder, Router, ToolRunner
from logoslab.run.budget import Budget, Spending
from logoslab.run.effects import ToolGate
from logoslab.run.ladder import Accept, Ladder
from logoslab.run.task_run import TaskRun
from logoslab.run.trace import Trace

Status = Literal["completed", "escalated", "failed", "interrupted"]
NO_ANSWER = "nobody could answer; it waits for a person"


class NativeBackend:
    """Runs one pack's plan on a task. Every tool body goes through the tool gate.

    Parameters
    ----------
    model : Model
    router : Router
        Learns across tasks; share one instance among the tasks of an arm.
    accept : callable
        ``VerifyContext`` → ``StackVerdict``, the pack's verifier stack.
    runner : ToolRunner
        Runs the bodies of this pack's tools.
    policy : RootPolicy
    human : Human or None
        None leaves every question unanswered; the plan goes on where it can.
    recorder : Recorder
    clock : Clock
    budget : Budget
        For each task.
    authorities : frozenset of str
        Tools that a person has given standing authority for.

    Notes
    -----
    Irreversible effects are executed for the arm ``incumbent`` only; every other arm previews.
    A failing phase stops what depends on it and nothing else; what was found is kept.
    """

    def __init__(
        self,
        model: Model,
        router: Router,
        accept: Accept,
        runner: ToolRunner,
        policy: RootPolicy,
        human: Human | None,
        recorder: Recorder,
        clock: Clock,
        budget: Budget | None = None,
        *,
        authorities: frozenset[str] = frozenset(),
    ) -> None:
        self.model, self.router, self.accept, self.runner = model, router, accept, runner
        self.policy, self.human, self.recorder, self.clock = policy, human, recorder, clock
        self.budget, self.authorities = budget or Budget(), authorities

    async def run_task(self, pack: AgentPack, task: Task, *, run: str, arm: str) -> TaskResult:
        """The result; a failure is a result, not an exception.

        Raises
        ------
        CancelledError, KeyboardInterrupt
            After the outcome ``interrupted`` was recorded and flushed.
        ModelUnavailable
            Likewise: without a model no task can be judged, so the run ends and says what is
            missing instead of failing task after task.
        """
        trace = Trace(self.recorder, self.clock, run=run, task=task.id, arm=arm)
        gate = ToolGate(
            self.runner,
            self.policy,
            trace,
            preview=arm != "incumbent",
            authorities=self.authorities,
        )
        work = TaskRun(pack, task, self.model, trace, gate, Spending(self.budget, self.clock))
        trace.emit("task", inputs=task.inputs)
        try:
            plan = pack.plan
            trace.emit("plan", phases=[phase.id for phase in plan.in_order()])
            for phase in plan.in_order():
                await self._run_phase(work, phase)
        except (asyncio.CancelledError, KeyboardInterrupt, ModelUnavailable) as cause:
            said = trace.clean(str(cause)) or "interrupted before the end"
            trace.emit("outcome", status="interrupted", detail=said)
            self.recorder.flush()
            raise
        except LogoslabError as error:
            return _finish(work, {}, "failed", str(error))
        output = answer_of(plan, work)
        return _finish(work, output, *_status(work))

    async def _run_phase(self, work: TaskRun, phase: Phase) -> None:
        """Run one phase; its typed failure becomes the reason why it has no result."""
        reason = _stopped_by(work, phase)
        if reason:
            work.blocked[phase.id] = reason
            return
        try:
            work.spending.check_time()
            if not _condition_holds(work, phase):
                work.idle.add(phase.id)
                return
            result = await self._run_step(work, phase)
        except ModelUnavailable:
            raise
        except LogoslabError as error:
            work.blocked[phase.id] = f"{type(error).__name__}: {error}"
            level = "medium" if isinstance(error, BudgetExceeded) else "low"
            work.trace.emit("risk", level=level, reason=f"{phase.id}: {error}", agent=phase.agent)
            return
        if result is None and isinstance(phase.step, ModelStep):
            work.blocked[phase.id] = NO_ANSWER
        else:
            work.results[phase.id] = result

    async def _run_step(self, work: TaskRun, phase: Phase) -> Any:
        step = phase.step
        if isinstance(step, ModelStep):
            judged = await Ladder(work, phase, step).answer(self.router, self.accept, self.human)
            work.stages[phase.id] = judged.stage
            return judged.output
        if isinstance(step, HumanStep):
            arguments = resolve(step.arguments, work.known())
            answer = await work.ask_person(self.human, phase, step.question, arguments)
            return {"answer": answer}
        result = await work.call_tool(phase, step, "tool")
        return _amended(work, phase, step, result)


def answer_of(plan: ExecutionPlan, work: TaskRun) -> dict[str, Any]:
    """The plan's output mapping; None for every field whose phase gave no result."""
    absent = dict.fromkeys(phase.id for phase in plan.phases)
    known, answer = {**absent, **work.known()}, {}
    for name, reference in plan.output.items():
        try:
            answer[name] = resolve(reference, known)
        except PackError as error:
            answer[name] = None
            work.blocked[f"output.{name}"] = str(error)
    return answer


def _amended(work: TaskRun, phase: Phase, step: ToolStep, result: Any) -> Any:
    """The tool's result after the skill's rules; only fields that it has may change."""
    if step.skill is None or not isinstance(result, Mapping):
        return result
    skill, component = work.skill(step.skill)
    changed = skill.apply_rules(work.facts(), dict(result))
    amended = {name: changed[name] for name in result}
    if amended != result:
        work.trace.emit(
            "observation",
            call=work.trace.new_call(f"{phase.id}/rules"),
            name=f"rules of {step.skill}",
            ok=True,
            result=amended,
            agent=phase.agent,
            component=component,
        )
    return amended


def _stopped_by(work: TaskRun, phase: Phase) -> str | None:
    """The phase without a result that this one depends on, in words; None when there is none."""
    for name in (*phase.needs, *step_roots(phase.step, phase.when)):
        if name in work.blocked:
            return f"depends on {name}, which has no result"
    return None


def _condition_holds(work: TaskRun, phase: Phase) -> bool:
    if phase.when is None:
        return True
    held = resolve(phase.when.ref, work.known()) in phase.when.values
    return held != phase.when.negate


def _status(work: TaskRun) -> tuple[Status, str]:
    """Failed beats escalated beats completed; the detail is the first cause, not what followed."""
    causes = {p: r for p, r in work.blocked.items() if not r.startswith("depends on ")}
    failures = [f"{p}: {r}" for p, r in causes.items() if r != NO_ANSWER]
    if failures:
        return "failed", failures[0]
    if causes:
        return "escalated", "; ".join(f"{p}: {r}" for p, r in causes.items())
    return "completed", ""


def _finish(work: TaskRun, output: dict[str, Any], status: Status, detail: str) -> TaskResult:
    trace, spending = work.trace, work.spending
    result = TaskResult(
        task=work.task.id,
        arm=trace.arm,
        status=status,
        output=trace.clean(output) or None,
        steps=trace.clean(work.results),
        stages=work.stages,
        forbidden=tuple(work.gate.refused),
        detail=trace.clean(detail),
        usd=spending.usd,
        latency=spending.seconds,
    )
    trace.emit("outcome", status=status, output=result.output, detail=result.detail)
    return result
