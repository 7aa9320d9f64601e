"""What a cascade really did: reach, acceptance and false acceptance, each with its denominator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from logoslab.pack.base import Frozen
from logoslab.pack.run import Attempt, Routed

Correct = Callable[[str, Mapping[str, Any]], bool | None]
"""Task id and output → whether it is right; None when nobody can say."""


class StageAccount(Frozen):
    """Counts of one stage over all tasks (LOGOS Eqs. 77, 83).

    Attributes
    ----------
    tasks : int
        All tasks of the account, whether they reached this stage or not.
    reached : int
        Tasks that produced at least one output here.
    outputs, accepted : int
        Outputs given to the verifier, and those it accepted.
    incorrect, false_accepts : int
        Outputs known to be wrong, and those of them that were accepted.
    correct_accepts : int
        Accepted outputs known to be right.
    unjudged : int
        Outputs that nobody could judge; they are in no denominator below.
    cost : float or None
        What the outputs cost; None when any part is unknown.
    """

    stage: str
    tasks: int
    reached: int
    outputs: int
    accepted: int
    incorrect: int
    false_accepts: int
    correct_accepts: int
    unjudged: int
    cost: float | None

    @property
    def accept_given_incorrect(self) -> float | None:
        """P(accept | reached, incorrect), denominator ``incorrect``; None when that is 0."""
        return self.false_accepts / self.incorrect if self.incorrect else None

    @property
    def incorrect_given_accept(self) -> float | None:
        """P(incorrect | accepted and judged); None when there is none."""
        judged = self.false_accepts + self.correct_accepts
        return self.false_accepts / judged if judged else None

    @property
    def false_accept_mass(self) -> float | None:
        """P(reached, incorrect, accepted), denominator ``tasks``: a term of the bound."""
        return self.false_accepts / self.tasks if self.tasks else None


class CascadeAccount(Frozen):
    """The stages in order of first use, and the whole."""

    tasks: int
    answered: int
    stages: tuple[StageAccount, ...]
    cost: float | None

    @property
    def false_accept_mass(self) -> float | None:
        """Share of tasks with a wrong accepted output, over all stages.

        Eq. 77 sums the stages before the last: what a cascade loses against its fallback. This
        counts the last one too; take the single stages' masses for the bound itself.
        """
        wrong = sum(stage.false_accepts for stage in self.stages)
        return wrong / self.tasks if self.tasks else None

    def improves(self, fallback_cost: float) -> bool | None:
        """Whether the mean cost (Eq. 75) is below always running the fallback (Eq. 76).

        ``fallback_cost`` is the mean cost of the last stage over the *same tasks*; the mean over
        tasks that reached it would be biased. None when a cost is unknown or there is no task.
        """
        if self.cost is None or not self.tasks:
            return None
        return self.cost / self.tasks < fallback_cost


def cascade_account(answers: Mapping[str, Routed], correct: Correct) -> CascadeAccount:
    """Account for routed answers.

    Parameters
    ----------
    answers : mapping
        Task id → how it was answered.
    correct : callable
        Judges any output of a task, accepted or not.
    """
    by_stage: dict[str, list[tuple[str, Attempt]]] = {}
    for task, routed in answers.items():
        for attempt in routed.attempts:
            by_stage.setdefault(attempt.stage, []).append((task, attempt))
    stages = tuple(_account(s, rows, len(answers), correct) for s, rows in by_stage.items())
    costs = [stage.cost for stage in stages]
    return CascadeAccount(
        tasks=len(answers),
        answered=sum(routed.output is not None for routed in answers.values()),
        stages=stages,
        cost=_sum(costs),
    )


def _account(
    stage: str, rows: list[tuple[str, Attempt]], tasks: int, correct: Correct
) -> StageAccount:
    judged = [(correct(task, a.output), a.verdict.accepted) for task, a in rows]
    return StageAccount(
        stage=stage,
        tasks=tasks,
        reached=len({task for task, _ in rows}),
        outputs=len(rows),
        accepted=sum(accepted for _, accepted in judged),
        incorrect=sum(ok is False for ok, _ in judged),
        false_accepts=sum(ok is False and accepted for ok, accepted in judged),
        correct_accepts=sum(ok is True and accepted for ok, accepted in judged),
        unjudged=sum(ok is None for ok, _ in judged),
        cost=_sum([a.cost for _, a in rows]),
    )


def _sum(costs: list[float | None]) -> float | None:
    known = [c for c in costs if c is not None]
    return sum(known) if costs and len(known) == len(costs) else None
