"""The LOGOS loop: compile → operate → propose → gate → promote (LOGOS §3.3, Table 4).

Compile is :meth:`~logoslab.lifecycle.lab.Lab.compile`, once. What follows is a cycle that can be
run for as long as a team lives. Every step is one call of the lab; this file puts them in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from logoslab.human import PendingChange
from logoslab.lifecycle.candidate import Candidate
from logoslab.lifecycle.lab import Lab
from logoslab.lifecycle.promoting import Promotion
from logoslab.lifecycle.running import Run
from logoslab.pack.decision import Decision
from logoslab.pack.run import Abstention
from logoslab.pack.task import Task
from logoslab.ports import Proposer

Approve = Callable[[PendingChange], object]
"""Puts an accepted candidate before a person: a desk's decision, a widget, a message. Who does not
answer has not approved."""


class Considered(NamedTuple):
    """What became of one proposer's turn; everything after ``proposal`` may not have happened."""

    proposer: str
    proposal: Candidate | Abstention
    decisions: tuple[Decision, ...] = ()
    promotion: Promotion | None = None


class Cycle(NamedTuple):
    """One turn of the loop."""

    run: Run
    considered: tuple[Considered, ...]

    @property
    def promoted(self) -> bool:
        """Whether the live pack changed."""
        return any(c.promotion is not None and c.promotion.promoted for c in self.considered)


async def release_cycle(
    lab: Lab,
    tasks: Sequence[Task],
    proposers: Sequence[Proposer],
    approve: Approve,
    *,
    progress: bool = True,
) -> Cycle:
    """Operate on the proposal split, let each proposer have a turn, promote at most one candidate.

    Parameters
    ----------
    lab : Lab
        With a live pack and a scorer.
    tasks : sequence of Task
        All tasks; the root policy's sampler splits them.
    proposers : sequence of Proposer
        In order of preference.
    approve : callable
        Called with each candidate that every rule of the root policy accepts.
    progress : bool

    Returns
    -------
    Cycle
        The cycle ends with the first promotion: later proposals were made for a pack that is not
        live any more.
    """
    splits = lab.split(tasks)
    run = await lab.run(None, splits["proposal"], name="operate", progress=progress)
    considered: list[Considered] = []
    for proposer in proposers:
        proposal = lab.propose(run, proposer, tasks=tasks)
        if isinstance(proposal, Abstention):
            considered.append(Considered(proposer.name, proposal))
            continue
        decisions = await _judged(lab, proposal, splits["gate"], progress)
        promotion = _promoted(lab, proposal, decisions, approve)
        considered.append(Considered(proposer.name, proposal, decisions, promotion))
        if promotion is not None and promotion.promoted:
            break
    return Cycle(run, tuple(considered))


async def _judged(
    lab: Lab, candidate: Candidate, tasks: Sequence[Task], progress: bool
) -> tuple[Decision, ...]:
    evidence = await lab.evaluate(candidate, tasks, progress=progress)
    rules = lab.policy.evaluator.rules
    return tuple(lab.gate(candidate, rule, evidence=evidence) for rule in rules)


def _promoted(
    lab: Lab, candidate: Candidate, decisions: Sequence[Decision], approve: Approve
) -> Promotion | None:
    """Ask a person only for what the evidence supports; None when it does not."""
    if not all(decision.accepted for decision in decisions):
        return None
    approve(lab.request_approval(candidate, decisions).change)
    return lab.promote(decisions, lab.approvals(candidate))
