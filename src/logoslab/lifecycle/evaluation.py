"""Evaluation: run arms on held-out tasks and turn their results into evidence."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from logoslab.lifecycle.measuring import scorer_named
from logoslab.pack.event import OutcomeEvent
from logoslab.pack.evidence import Arm, Evidence, Sampling, Trial
from logoslab.pack.policy import Holdout
from logoslab.pack.run import TaskResult
from logoslab.pack.task import Task
from logoslab.ports import Clock, Recorder, Scorer

DRAWS_PER_TASK = 2

# A score arrives after the task's own last event, whatever its number; it sorts behind it.
SCORED = 2**31


class ArmResults(NamedTuple):
    """What one arm did on every task, in the order of the tasks."""

    arm: Arm
    results: Sequence[TaskResult]


def scored(tasks: Sequence[Task], results: Sequence[TaskResult], scorer: Scorer | None
           ) -> dict[str, float | None]:  # fmt: skip
    """Task id → score; None without a scorer or a label."""
    by_id = {task.id: task for task in tasks}
    return {r.task: scorer.score(by_id[r.task], r) if scorer else None for r in results}


def record_scores(
    run: str, results: Sequence[TaskResult], scores: Mapping[str, float | None],
    recorder: Recorder, clock: Clock,
) -> None:  # fmt: skip
    """Add each score to the trace as a second outcome event, and flush."""
    for result in results:
        if scores[result.task] is not None:
            recorder.record(
                OutcomeEvent(
                    run=run,
                    task=result.task,
                    arm=result.arm,
                    seq=SCORED,
                    at=clock.now(),
                    status=result.status,
                    output=result.output,
                    score=scores[result.task],
                    detail="scored after the run",
                )
            )
    recorder.flush()


def evidence_of(
    tasks: Sequence[Task],
    arms: Sequence[ArmResults],
    scorer: Scorer,
    *,
    incumbent: str,
    candidate: str,
    sampling: Sampling,
    draws: Sequence[str] = (),
    verifiers: Sequence[str] = (),
) -> Evidence:
    """Paired trials of all arms (LOGOS Eq. 58), in the order of the tasks.

    Parameters
    ----------
    tasks : sequence of Task
    arms : sequence of ArmResults
    scorer : Scorer
    incumbent, candidate : str
        Pack digests.
    sampling : str
        The contract declared in the root policy.
    draws : sequence of str
        What the holdout sampler drew, for contracts with replacement.
    verifiers : sequence of str
        Names and digests of the verifiers that judged outputs.

    Returns
    -------
    Evidence
        A task that an arm did not return has the value None there and stays in every sum.
    """
    place = {task.id: (order, task) for order, task in enumerate(tasks)}
    trials = []
    for arm, results in arms:
        scores = scored(tasks, results, scorer)
        usd = {r.task: r.usd for r in results}
        for task_id, (order, task) in place.items():
            trials.append(
                Trial(
                    task=task_id,
                    arm=arm,
                    value=scores.get(task_id),
                    slice=task.slice,
                    order=order,
                    cost=usd.get(task_id),
                )
            )
    candidates = (r for arm, results in arms if arm == "candidate" for r in results)
    forbidden = {effect for result in candidates for effect in result.forbidden}
    return Evidence(
        trials=tuple(trials),
        incumbent=incumbent,
        candidate=candidate,
        sampling=sampling,
        scorer=scorer_named(scorer),
        verifiers=tuple(verifiers),
        effects=tuple(sorted(forbidden)),
        draws=tuple(draws),
    )


def drawn(tasks: Sequence[Task], holdout: Holdout, candidate: str) -> tuple[str, ...]:
    """The root policy's holdout sampler: draws with replacement, two for each task of the pool.

    A finite holdout read once through carries no sequential claim; independent draws from it do,
    about the pool. The draws are fixed by the policy's salt and the candidate's digest, so nobody
    chooses them and anybody can make them again. Empty under contracts without replacement.
    """
    if holdout.sampling not in ("with_replacement", "shared_pool"):
        return ()
    pool = sorted(task.id for task in tasks)
    seed = hashlib.sha256(f"{holdout.salt}:{candidate}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(seed[:8]))
    return tuple(pool[i] for i in rng.integers(len(pool), size=DRAWS_PER_TASK * len(pool)))
