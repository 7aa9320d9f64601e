"""The batch writer: order, batches, and what happens when a write fails."""

from __future__ import annotations

import threading

import pytest

from logoslab.store import writer
from logoslab.store.writer import BatchWriter


class Sink:
    """Keeps batches; raises while ``broken``."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.broken = False

    def write(self, items: list[int]) -> None:
        if self.broken:
            raise OSError("disk full")
        self.batches.append(list(items))


def test_a_flush_writes_one_batch_in_order() -> None:
    """A thousand items and a flush are one write, in the order they came."""
    sink = Sink()
    batches = BatchWriter(sink.write)
    for item in range(1000):
        batches.put(item)
    batches.flush()
    assert [item for batch in sink.batches for item in batch] == list(range(1000))
    assert len(sink.batches) == 1
    batches.close()


def test_a_batch_is_written_without_a_flush(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the pause the items are written although nobody asks."""
    monkeypatch.setattr(writer, "PAUSE", 0.01)
    written = threading.Event()
    batches: BatchWriter[int] = BatchWriter(lambda items: written.set())
    batches.put(1)
    assert written.wait(timeout=10)
    batches.close()


def test_what_failed_is_kept_and_tried_again() -> None:
    """A flush raises what prevented it, each time; the first one that can writes all, in order."""
    sink = Sink()
    batches = BatchWriter(sink.write)
    sink.broken = True
    batches.put(1)
    for act in (batches.flush, batches.flush, batches.close):
        with pytest.raises(OSError, match="disk full"):
            act()
    batches.put(2)
    with pytest.raises(OSError, match="disk full"):
        batches.flush()
    sink.broken = False
    batches.put(3)
    batches.close()
    assert sink.batches == [[1, 2, 3]]


def test_a_full_backlog_does_not_stop_flushes(monkeypatch: pytest.MonkeyPatch) -> None:
    """More failed items than a batch holds: a flush is still answered."""
    monkeypatch.setattr(writer, "BATCH_ITEMS", 3)
    sink = Sink()
    batches = BatchWriter(sink.write)
    sink.broken = True
    for item in range(10):
        batches.put(item)
    with pytest.raises(OSError, match="disk full"):
        batches.flush()
    sink.broken = False
    batches.flush()
    assert [item for batch in sink.batches for item in batch] == list(range(10))
    batches.close()


def test_an_idle_thread_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without work the thread goes; the next item starts another."""
    monkeypatch.setattr(writer, "IDLE", 0.01)
    sink = Sink()
    batches = BatchWriter(sink.write)
    before = set(threading.enumerate())
    batches.put(1)
    for thread in set(threading.enumerate()) - before:
        thread.join(timeout=10)
        assert not thread.is_alive()
    batches.put(2)
    batches.flush()
    assert sink.batches == [[1], [2]]
    batches.close()
