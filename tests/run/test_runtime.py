"""Running many tasks loses nothing that finished."""

import asyncio
from typing import Any

import pytest

from logoslab.errors import InvalidValue
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.run import TaskResult
from logoslab.pack.task import Task
from logoslab.run.runtime import run_tasks
from logoslab.testing.models import ScriptedModel
from tests.run.make import MemoryRecorder, make_backend, make_pack

TASKS = [Task(id=f"t{i}", inputs={"ticket_id": f"T-{i}"}) for i in range(5)]


class Slow:
    """Tasks that take turns; ``stop_at`` raises ``error``, ``peak`` counts how many at once."""

    def __init__(self, stop_at: str | None = None, error: BaseException | None = None) -> None:
        self.stop_at, self.error = stop_at, error
        self.now = self.peak = 0
        self.cancelled: list[str] = []

    async def run_task(self, pack: AgentPack, task: Task, *, run: str, arm: str) -> TaskResult:
        self.now += 1
        self.peak = max(self.peak, self.now)
        try:
            if task.id == self.stop_at and self.error:
                raise self.error
            # Later tasks are quicker, so finishing order differs from task order.
            await asyncio.sleep(0.01 * (9 - int(task.id[1:])))
        except asyncio.CancelledError:
            self.cancelled.append(task.id)
            raise
        finally:
            self.now -= 1
        return TaskResult(task=task.id, arm=arm, status="completed", output=None)


def go(backend: Any, tasks: list[Task] = TASKS, **more: Any) -> list[TaskResult]:
    options: dict[str, Any] = {"run": "r", "arm": "incumbent", "recorder": MemoryRecorder()}
    return asyncio.run(
        run_tasks(backend, make_pack(), tasks, **{**options, "progress": False, **more})
    )


@pytest.mark.parametrize("concurrency", [1, 2, 9])
def test_results_come_in_the_order_of_the_tasks(concurrency: int) -> None:
    """However many run at a time, and whoever finishes first."""
    backend = Slow()
    results = go(backend, concurrency=concurrency)
    assert [r.task for r in results] == ["t0", "t1", "t2", "t3", "t4"]
    assert backend.peak == min(concurrency, 5)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), asyncio.CancelledError(), ValueError("x")])
def test_what_finished_survives_an_interrupt(error: BaseException) -> None:
    """The interrupt goes on; ``finished`` holds the tasks before it; one more flush at the end."""
    flushes, finished = list[int](), list[TaskResult]()
    recorder = MemoryRecorder()
    recorder.flush = lambda: flushes.append(len(finished))  # type: ignore[method-assign]
    with pytest.raises(type(error)):
        go(Slow("t3", error), recorder=recorder, finished=finished)
    assert [r.task for r in finished] == ["t0", "t1", "t2"]
    assert flushes == [1, 2, 3, 3]


def test_an_error_stops_the_tasks_beside_it() -> None:
    """Nothing goes on in the background after the run has ended."""
    backend = Slow("t1", ValueError("x"))
    with pytest.raises(ValueError, match=r"^x$"):
        go(backend, concurrency=2)
    assert (backend.cancelled, backend.now) == (["t0"], 0)


def test_cancelling_stops_the_running_tasks_and_keeps_the_rest() -> None:
    """Cancelled from outside with two at a time: both running tasks are told, none begins after."""
    backend, finished = Slow(), list[TaskResult]()

    async def interrupted() -> None:
        options: dict[str, Any] = {"run": "r", "arm": "incumbent", "recorder": MemoryRecorder()}
        job = asyncio.ensure_future(
            run_tasks(backend, make_pack(), TASKS, concurrency=2, progress=False,
                      finished=finished, **options)
        )  # fmt: skip
        while not finished:
            await asyncio.sleep(0.001)
        job.cancel()
        await job

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert backend.now == 0
    assert len(finished) + len(backend.cancelled) <= 4
    assert not {r.task for r in finished} & set(backend.cancelled)


def test_an_interrupted_native_run_keeps_whole_tasks_in_the_trace() -> None:
    """Interrupted in the third task: two ``completed``, one ``interrupted``, all durable."""
    recorder = MemoryRecorder()
    said = iter([{"data": "payroll files"}, {"data": "payroll files"}])

    def script(_: Any) -> dict[str, str]:
        answer = next(said, None)
        if answer is None:
            raise KeyboardInterrupt
        return answer

    with pytest.raises(KeyboardInterrupt):
        go(make_backend(recorder, ScriptedModel(script)), recorder=recorder)
    assert [o.status for o in recorder.of("outcome")] == ["completed", "completed", "interrupted"]
    assert recorder.flushed == len(recorder.events)


def test_results_already_in_the_list_are_kept_apart() -> None:
    """A list that is used twice returns only this run's results."""
    finished = [TaskResult(task="other", arm="x", status="failed", output=None)]
    assert len(go(Slow(), TASKS[:2], finished=finished)) == 2
    assert len(finished) == 3


def test_no_task_is_no_work() -> None:
    """An empty run is an empty list."""
    assert go(Slow(), []) == []


def test_the_bar_shows_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Progress is shown on request and counts tasks."""
    go(Slow(), TASKS[:2], progress=True)
    assert "r incumbent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("tasks", "concurrency", "message"),
    [
        (
            [TASKS[0], TASKS[1], TASKS[0]],
            1,
            "run_tasks: allowed tasks with distinct ids and a concurrency of at least 1; got "
            "repeated ids ['t0']. Give each task its own id.",
        ),
        (
            TASKS,
            0,
            "run_tasks: allowed tasks with distinct ids and a concurrency of at least 1; got "
            "concurrency=0. Use concurrency=1.",
        ),
    ],
)
def test_a_run_that_cannot_be_told_apart_is_refused(
    tasks: list[Task], concurrency: int, message: str
) -> None:
    """(run, task, arm, seq) names an event, so ids must be distinct."""
    with pytest.raises(InvalidValue) as caught:
        go(Slow(), tasks, concurrency=concurrency)
    assert str(caught.value) == message
