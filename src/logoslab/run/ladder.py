"""One model step: build the ladder, let the router climb it, write down what it did."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Literal, NamedTuple

from pydantic import Field, ValidationError

from logoslab.errors import PackError, ToolError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.base import Frozen, digest, first_error_of
from logoslab.pack.model import ModelRequest
from logoslab.pack.plan import ModelStep, Phase, ToolStep
from logoslab.pack.references import resolve
from logoslab.pack.run import Routed
from logoslab.pack.schema import first_flaw
from logoslab.pack.tool import EffectClass
from logoslab.pack.verdict import StackVerdict
from logoslab.ports import Human, Router, Stage, VerifyContext
from logoslab.run.calls import ModelCalls
from logoslab.run.stages import (
    GreedyStage,
    SampleStage,
    SolverStage,
    cut_to_schema,
    skill_messages,
)
from logoslab.run.task_run import TaskRun

Accept = Callable[[VerifyContext], StackVerdict]


class LadderSettings(Frozen):
    """What a genome's ``route`` axis says of the ladder; its other fields are the router's.

    ``stages`` lists the rungs in order; a rung that the step lacks (no solver) is left out.
    """

    stages: tuple[Literal["greedy", "samples", "solver"], ...] = ("greedy", "samples", "solver")
    samples: int = Field(default=4, ge=1, le=32)
    temperature: float = Field(default=0.7, gt=0, le=2)

    @classmethod
    def of(cls, pack: AgentPack) -> LadderSettings:
        """The pack's settings; :class:`PackError` when one is out of its domain."""
        route = pack.genome.route
        try:
            return cls.model_validate({k: v for k, v in route.items() if k in cls.model_fields})
        except ValidationError as cause:
            raise PackError(
                "genome.json route",
                got=first_error_of(cause),
                allowed="stages among greedy, samples, solver; samples 1 to 32; temperature 0 to 2",
                next_step="Correct the field, or leave it out for its default.",
            ) from cause


class Judged(NamedTuple):
    """Who answered a model step, and with what; ``output`` is None when nobody could."""

    output: dict[str, Any] | None
    stage: str | None


class Ladder:
    """Greedy call → samples → solver tool → a person, for one phase of one task."""

    def __init__(self, work: TaskRun, phase: Phase, step: ModelStep) -> None:
        self.work, self.phase, self.step = work, phase, step
        self.skill, self.component = work.skill(step.skill)
        self.facts = work.facts()
        self.text = _as_text(resolve(step.text, work.known()))
        self.started: list[str] = []
        self.checked: dict[str, tuple[bool, str]] = {}

    async def answer(self, router: Router, accept: Accept, human: Human | None) -> Judged:
        """Run the ladder; hand over to a person when every stage was rejected."""
        routed = await router.answer(self.phase.id, self._stages(), self._judge_with(accept))
        if routed.output is not None:
            return Judged(dict(routed.output), routed.stage)
        return await self._escalate(routed, human)

    def _stages(self) -> list[Stage]:
        request = ModelRequest(
            model=self.work.model.name,
            messages=skill_messages(self.skill, self.text),
            output_schema=self.step.output_schema,
        )
        ask = ModelCalls(
            self.work.model,
            self.work.trace,
            self.work.spending,
            agent=self.phase.agent,
            component=self.component,
            purpose=f"{self.phase.id}/model",
        ).ask
        settings = LadderSettings.of(self.work.pack)
        rungs: dict[str, Stage] = {
            "greedy": GreedyStage(ask, request),
            "samples": SampleStage(
                ask,
                request,
                seed_from=f"{self.work.task.id}/{self.phase.id}",
                n=settings.samples,
                temperature=settings.temperature,
            ),
        }
        if self.step.solver is not None:
            rungs["solver"] = SolverStage(self._solve, self.step.output_schema)
        return [_Rung(rungs[name], self) for name in settings.stages if name in rungs]

    async def _solve(self) -> Any:
        assert self.step.solver is not None
        if self.work.tool(self.step.solver.tool).effect is not EffectClass.READ_ONLY:
            # It answers before any verifier has looked: no output may cause an effect first.
            raise ToolError(
                f"solver {self.step.solver.tool}",
                got="a tool that writes",
                allowed="a read_only tool",
                next_step="Let the solver look the answer up; write in a phase of its own.",
            )
        return await self.work.call_tool(self.phase, self.step.solver, "solver")

    def amended(self, output: Mapping[str, Any]) -> dict[str, Any]:
        """The output after the skill's rules, still within the step's schema."""
        changed = self.skill.apply_rules(self.facts, dict(output))
        return {**output, **cut_to_schema(changed, self.step.output_schema)}

    async def run_check(self, output: dict[str, Any]) -> None:
        """Execute the declared check once for an output that satisfies its schema.

        It runs before the verifiers look, so it must be read-only: no output may cause an effect
        before it is accepted.
        """
        if self.step.check is not None:
            self.checked[digest(output)] = await self._check(self.step.check, output)

    async def _check(self, check: ToolStep, output: dict[str, Any]) -> tuple[bool, str]:
        problem = first_flaw(output, self.step.output_schema)
        if problem:
            return False, f"not executed: {problem}"
        if self.work.tool(check.tool).effect is not EffectClass.READ_ONLY:
            return False, f"not executed: check tool {check.tool} is not read_only"
        try:
            result = await self.work.call_tool(self.phase, check, "check", output=output)
        except ToolError as error:
            return False, str(error)
        return True, f"{check.tool} answered {json.dumps(result, ensure_ascii=False)[:200]}"

    def _judge_with(self, accept: Accept) -> Callable[[Mapping[str, Any]], StackVerdict]:
        def judge(output: Mapping[str, Any]) -> StackVerdict:
            verdict = accept(self._context(output))
            self._write(verdict)
            return verdict

        return judge

    def _context(self, output: Mapping[str, Any]) -> VerifyContext:
        execute = None
        if self.step.check is not None:
            seen = self.checked.get(digest(dict(output)), (False, "the check was not executed"))

            def execute() -> tuple[bool, str]:
                return seen

        return VerifyContext(
            task=self.work.task,
            inputs={**self.facts, "text": self.text},
            output=output,
            output_schema=self.step.output_schema,
            execute=execute,
        )

    def _write(self, verdict: StackVerdict) -> None:
        """Each verifier's verdict, then the stack's own under the name ``B_output``."""
        who = {"agent": self.phase.agent, "component": self.component}
        for one in verdict.verdicts:
            self.work.trace.emit(
                "verdict",
                verifier=one.verifier,
                verdict=one.outcome,
                scope=one.scope,
                detail=one.detail,
                **who,
            )
        self.work.trace.emit(
            "verdict",
            verifier="B_output",
            verdict="pass" if verdict.accepted else "fail",
            detail=f"{self.phase.id}, stage {self.started[-1]}: {verdict.reason}",
            **who,
        )

    def begin(self, stage: str) -> None:
        """Write down that the router chose a stage; the first one is the entry."""
        self.started.append(stage)
        self._route(stage, "delegate", {})

    def _route(self, stage: str, mode: str, scores: dict[str, float]) -> None:
        self.work.trace.emit(
            "route",
            dimension=self.phase.id,
            stage=stage,
            entry=self.started[0] if self.started else stage,
            mode=mode,
            scores=scores,
            agent=self.phase.agent,
            component=self.component,
        )

    async def _escalate(self, routed: Routed, human: Human | None) -> Judged:
        self._route("human", "escalate", dict(routed.scores))
        question = f"{self.phase.id}: no stage gave an acceptable answer. What is the answer?"
        words = await self.work.ask_person(
            human, self.phase, question, {"text": self.text, "schema": self.step.output_schema}
        )
        output = None if words is None else _from_person(words, self.step)
        return Judged(output, None if output is None else "human")


class _Rung:
    """A stage whose start is written down, whose outputs are amended by rules and checked."""

    def __init__(self, stage: Stage, ladder: Ladder) -> None:
        self.name, self._stage, self._ladder = stage.name, stage, ladder

    async def answers(self) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
        self._ladder.begin(self.name)
        async for output, cost in self._stage.answers():
            amended = self._ladder.amended(output)
            await self._ladder.run_check(amended)
            yield amended, cost


def _from_person(words: str, step: ModelStep) -> dict[str, Any] | None:
    """A person's words as an output: JSON, or the value of the only field.

    None when they do not satisfy the schema; nothing is guessed.
    """
    try:
        data = json.loads(words)
    except json.JSONDecodeError:
        data = words
    properties = step.output_schema.get("properties")
    if not isinstance(data, dict) and isinstance(properties, dict) and len(properties) == 1:
        data = {next(iter(properties)): data}
    return data if first_flaw(data, step.output_schema) is None else None


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
