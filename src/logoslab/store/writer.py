"""One thread that takes items from a queue and writes them in batches.

The caller's thread only ever touches ``SimpleQueue``, whose operations are single C calls: an
interrupted cell leaves an item either queued or not, and no lock held.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")
Reply = SimpleQueue["Exception | None"]

BATCH_ITEMS = 10_000
"""At most this many items in one write."""
PAUSE = 0.2
"""Seconds a batch waits for company, unless somebody flushes."""
IDLE = 5.0
"""Seconds without work after which the thread ends; the next item starts another."""
IDLE_SHARE = 3.0
"""After a write the writer leaves the resource alone for this many times as long as it held it."""


class _Marker(NamedTuple):
    """In the queue: everything before it must be written, then ``reply`` is answered."""

    reply: Reply
    stop: bool


class BatchWriter(Generic[T]):
    """Writes queued items in order. What failed is kept and tried again with the next batch.

    Parameters
    ----------
    write : callable
        Writes a list of items wholly or raises. Called from one thread at a time.
    """

    def __init__(self, write: Callable[[list[T]], None]) -> None:
        self._write = write
        self._reset()

    def put(self, item: T) -> None:
        """Queue one item; never waits for a write."""
        self._enqueue(item)

    def flush(self) -> None:
        """Return when everything put before is written; raise what prevented it."""
        if not self._idle():
            self._mark(stop=False)

    def close(self) -> None:
        """Flush and end the thread. A later :meth:`put` starts a new one."""
        if not self._idle():
            self._mark(stop=True)

    def _idle(self) -> bool:
        mine = self._owner == os.getpid()
        return not mine or (self._thread is None and not self._backlog and self._queue.empty())

    def _mark(self, *, stop: bool) -> None:
        reply: Reply = SimpleQueue()
        self._enqueue(_Marker(reply, stop))
        error = reply.get()
        if error is not None:
            raise error

    def _reset(self) -> None:
        self._queue: SimpleQueue[T | _Marker] = SimpleQueue()
        self._backlog: list[T] = []
        self._thread: threading.Thread | None = None
        self._switch = threading.Lock()
        self._owner = os.getpid()

    def _enqueue(self, item: T | _Marker) -> None:
        if self._owner != os.getpid():  # A forked child must not write its parent's items again.
            self._reset()
        self._queue.put(item)
        with self._switch:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="trace-writer", daemon=True)
                self._thread.start()
                atexit.register(self.close)

    def _run(self) -> None:
        pause = PAUSE
        while True:
            marker = self._gather(pause)
            leave = marker.stop if marker else not self._backlog
            began = time.monotonic()
            error = self._attempt()
            pause = max(PAUSE, IDLE_SHARE * (time.monotonic() - began))
            if marker is not None:
                marker.reply.put(error)
            if leave and self._ended():
                return

    def _ended(self) -> bool:
        """Give up the thread's place, unless something was queued meanwhile."""
        with self._switch:
            if not self._queue.empty():
                return False
            self._thread = None
            if not self._backlog:
                atexit.unregister(self.close)
            return True

    def _gather(self, pause: float) -> _Marker | None:
        """Add to the backlog until the pause is over, a batch is full, or somebody waits."""
        deadline = time.monotonic() + (pause if self._backlog else IDLE)
        for _ in range(BATCH_ITEMS):
            try:
                item = self._queue.get(timeout=max(deadline - time.monotonic(), 0))
            except Empty:
                return None
            if isinstance(item, _Marker):
                return item
            if not self._backlog:
                deadline = time.monotonic() + pause
            self._backlog.append(item)
        return None

    def _attempt(self) -> Exception | None:
        if not self._backlog:
            return None
        try:
            self._write(self._backlog)
        except Exception as error:  # noqa: BLE001  Handed to whoever flushes; the items are kept.
            return error
        self._backlog = []
        return None
