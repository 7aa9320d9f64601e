"""Running: a pack on tasks, live or in a sandbox, with scores and a name in the trace."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from logoslab.errors import InvalidValue
from logoslab.lifecycle.evaluation import record_scores, scored
from logoslab.lifecycle.parts import Parts
from logoslab.lifecycle.wiring import World, backend_for
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.base import Frozen
from logoslab.pack.evidence import Arm
from logoslab.pack.run import TaskResult
from logoslab.pack.task import Task
from logoslab.ports import Human, Model, Router, Scorer
from logoslab.route import Cascade
from logoslab.run.budget import Budget
from logoslab.run.runtime import run_tasks

if TYPE_CHECKING:
    import pandas as pd

_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9_.\-]{0,79}$")


class Run(Frozen):
    """What came of running one pack on a list of tasks.

    Attributes
    ----------
    name : str
        The run's name in the trace database.
    arm : str
    pack : str
        Digest of the pack.
    results : tuple of TaskResult
    scores : dict
        Task id → score; None where nobody could score.
    complete : bool
        False when the run was interrupted; what finished is here and in the trace.
    """

    name: str
    arm: Arm
    pack: str
    results: tuple[TaskResult, ...]
    scores: dict[str, float | None]
    complete: bool = True

    @property
    def mean(self) -> float | None:
        """Mean score over the scored tasks; None when none is scored."""
        known = [score for score in self.scores.values() if score is not None]
        return sum(known) / len(known) if known else None

    def frame(self) -> pd.DataFrame:
        """One row a task: status, score, the stage that answered, detail, and the answer."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "task": r.task,
                    "status": r.status,
                    "score": self.scores.get(r.task),
                    "stage": next(iter(r.stages.values()), None),
                    **(r.output or {}),
                    "detail": r.detail,
                }
                for r in self.results
            ]
        )

    def _repr_html_(self) -> str:
        return str(self.frame().to_html(max_rows=20))


class Running:
    """Runs packs for a lab.

    Parameters
    ----------
    parts : Parts
    model : Model
        Usually recorded, so that a second run replays.
    services, sandbox : mapping
        Service name → base URL, for live runs and for trials. A trial never gets the live ones.
    human : Human or None
    budget : Budget
        For each task.
    """

    def __init__(
        self,
        parts: Parts,
        model: Model,
        services: Mapping[str, str],
        sandbox: Mapping[str, str],
        human: Human | None,
        budget: Budget,
    ) -> None:
        self._parts, self.model = parts, model
        self.services, self.sandbox, self.human, self.budget = services, sandbox, human, budget
        self.last: Run | None = None

    async def run(
        self,
        pack: AgentPack,
        tasks: Sequence[Task],
        *,
        name: str,
        arm: Arm = "incumbent",
        scorer: Scorer | None = None,
        router: Router | None = None,
        sandboxed: bool = False,
        progress: bool = True,
        concurrency: int = 1,
    ) -> Run:
        """Run every task; see :meth:`logoslab.lifecycle.lab.Lab.run`."""
        run, finished, complete = self._claim(name), list[TaskResult](), False
        backend = backend_for(pack, self._world(sandboxed), router or Cascade())
        traces = self._parts.traces
        try:
            await run_tasks(
                backend,
                pack,
                tasks,
                run=run,
                arm=arm,
                recorder=traces,
                progress=progress,
                concurrency=concurrency,
                finished=finished,
            )
            complete = True
        finally:
            # Also after an interrupt: what finished is scored, recorded and kept as `last`.
            scores = scored(tasks, finished, scorer)
            record_scores(run, finished, scores, traces, self._parts.clock)
            self.last = Run(
                name=run,
                arm=arm,
                pack=pack.digest,
                results=tuple(finished),
                scores=scores,
                complete=complete,
            )
        return self.last

    def _world(self, sandboxed: bool) -> World:
        return World(
            model=self.model,
            services=self.sandbox if sandboxed else self.services,
            policy=self._parts.policy,
            human=self.human,
            recorder=self._parts.traces,
            clock=self._parts.clock,
            budget=self.budget,
        )

    def _claim(self, name: str) -> str:
        """A run name nobody else has, in any process: ``name-001``, ``name-002``…"""
        if not _NAME.match(name):
            raise InvalidValue(
                "run name",
                got=name,
                allowed="letters, digits, dot, dash and underscore, at most 80",
                next_step="Choose a plain name.",
            )
        folder = self._parts.folder / "runs"
        folder.mkdir(exist_ok=True)
        number = 1
        while True:
            try:
                (folder / f"{name}-{number:03d}").touch(exist_ok=False)
            except FileExistsError:
                number += 1
            else:
                return f"{name}-{number:03d}"
