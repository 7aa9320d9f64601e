"""Run a coroutine to its end from plain code, inside a notebook or out of one."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(work: Coroutine[Any, Any, T]) -> T:
    """The coroutine's result. A running event loop is left alone: the work gets its own thread.

    An interrupt cancels the work and waits for it to clean up before it is raised.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    return _in_thread(work)


def _in_thread(work: Coroutine[Any, Any, T]) -> T:
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    thread = threading.Thread(target=_drive, args=(loop, task), daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(0.2)  # Short waits, so that an interrupt is seen at once.
    except KeyboardInterrupt:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()
        raise
    return task.result()


def _drive(loop: asyncio.AbstractEventLoop, task: asyncio.Task[Any]) -> None:
    try:
        loop.run_until_complete(asyncio.wait([task]))
    finally:
        loop.close()
