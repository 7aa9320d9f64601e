"""Run many tasks: a progress bar, bounded concurrency, and nothing finished is ever lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from logoslab.errors import InvalidValue
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.run import TaskResult
from logoslab.pack.task import Task
from logoslab.ports import Backend, Recorder


async def run_tasks(
    backend: Backend,
    pack: AgentPack,
    tasks: Sequence[Task],
    *,
    run: str,
    arm: str,
    recorder: Recorder,
    progress: bool = True,
    concurrency: int = 1,
    finished: list[TaskResult] | None = None,
) -> list[TaskResult]:
    """Run every task of a sequence.

    Parameters
    ----------
    backend : Backend
    pack : AgentPack
    tasks : sequence of Task
        With distinct ids.
    run, arm : str
        Names of the run and of the arm; the caller chooses them, so they can be deterministic.
    recorder : Recorder
        Flushed after every task and at the end.
    progress : bool
        Show a progress bar.
    concurrency : int, default 1
        Tasks at a time.
    finished : list, optional
        Receives each result as its task ends. After an interrupt it holds everything that
        finished, in order of finishing, and the trace holds the same, durably.

    Returns
    -------
    list of TaskResult
        One a task, in the order of ``tasks``.

    Raises
    ------
    CancelledError, KeyboardInterrupt
        On an interrupt, once running tasks have recorded ``interrupted`` and all is flushed.
    InvalidValue
        When ids repeat or ``concurrency`` is below 1.
    """
    _check(tasks, concurrency)
    done = [] if finished is None else finished
    already = len(done)
    waiting = iter(tasks)
    with _bar(len(tasks), f"{run} {arm}", progress) as bar:

        async def work() -> None:
            for task in waiting:  # shared: each worker takes the next task
                done.append(await backend.run_task(pack, task, run=run, arm=arm))
                await asyncio.to_thread(recorder.flush)
                bar.update()

        try:
            await _together([work() for _ in range(min(concurrency, len(tasks)))])
        finally:
            recorder.flush()
    place = {task.id: i for i, task in enumerate(tasks)}
    return sorted(done[already:], key=lambda result: place[result.task])


async def _together(jobs: list[Any]) -> None:
    """Await all; on the first error or a cancellation stop the others and wait for them."""
    running = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*running)
    finally:
        for job in running:
            job.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def _bar(total: int, label: str, progress: bool) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=total, desc=label, unit="task", disable=not progress)


def _check(tasks: Sequence[Task], concurrency: int) -> None:
    repeated = sorted(i for i, n in Counter(task.id for task in tasks).items() if n > 1)
    if repeated or concurrency < 1:
        raise InvalidValue(
            "run_tasks",
            got=f"repeated ids {repeated}" if repeated else f"concurrency={concurrency}",
            allowed="tasks with distinct ids and a concurrency of at least 1",
            next_step="Give each task its own id." if repeated else "Use concurrency=1.",
        )
