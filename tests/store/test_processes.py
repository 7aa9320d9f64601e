"""Several processes in one lab, killed and interrupted at will."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from logoslab.store import TraceStore
from tests.store.conftest import Script, Still

WORK = """
me, other, seconds = sys.argv[2], sys.argv[3], float(sys.argv[4])
store = TraceStore(lab, Still())
deadline, seq, reads = time.monotonic() + seconds, 0, 0
while time.monotonic() < deadline:
    for _ in range(1 + seq % 7):
        store.record(event(me, seq))
        seq += 1
    store.record_call(f"{me}-{seq}", str(seq))
    store.flush()
    (lab / me).write_text(f"{seq:09}")
    heard = int((lab / other).read_text() or 0) if (lab / other).exists() else 0
    seen = len(store.events(other))
    assert seen >= heard, (seen, heard)
    assert [e.seq for e in store.events(me)] == list(range(seq))
    reads += 1
store.close()
print(seq, reads)
"""


@pytest.mark.parametrize(
    "seconds", [2, pytest.param(60, marks=pytest.mark.slow)], ids=["short", "minute"]
)
def test_two_processes_lose_nothing(
    tmp_path: Path, still: Still, script: Script, seconds: float
) -> None:
    """Both write and read one lab; each read, by either or by a third process, sees every event
    that was acknowledged before it began."""
    workers = [script(WORK, "a", "b", seconds), script(WORK, "b", "a", seconds)]
    reader = TraceStore(tmp_path, still)
    while any(worker.poll() is None for worker in workers):
        heard = {n: int((tmp_path / n).read_text() or 0) for n in "ab" if (tmp_path / n).exists()}
        for name, acknowledged in heard.items():
            assert len(reader.events(name)) >= acknowledged
        time.sleep(0.2)
    for name, worker in zip("ab", workers, strict=True):
        out, errors = worker.communicate()
        assert errors == ""
        written, reads = map(int, out.split())
        assert reads > 0
        assert [e.seq for e in reader.events(name)] == list(range(written))
    calls = reader.sql("SELECT left(key, 1) AS who, count(*) AS n FROM calls GROUP BY who")
    assert set(calls.who) == {"a", "b"}


ENDLESS = """
store, seq = TraceStore(lab, Still()), int(sys.argv[2])
while True:
    for _ in range(50):
        store.record(event("r", seq))
        seq += 1
    if seq % 100 == 0:
        store.flush()
        print(seq, flush=True)
"""


def test_kill_loses_no_acknowledged_event(tmp_path: Path, still: Still, script: Script) -> None:
    """kill -9 at any moment: what was acknowledged is there, what is there has no gap and no
    repetition, and the next process goes on."""
    found = 0
    for patience in (0.003, 0.031):
        worker = script(ENDLESS, found)
        assert worker.stdout is not None
        acknowledged = [int(worker.stdout.readline()) for _ in range(3)][-1]
        time.sleep(patience)
        worker.send_signal(signal.SIGKILL)
        rest = worker.communicate()[0].split()
        acknowledged = max([acknowledged, *map(int, rest)])
        seqs = [e.seq for e in TraceStore(tmp_path, still).events("r")]
        found = len(seqs)
        assert seqs == list(range(found))
        assert found >= acknowledged


INTERRUPTED = """
# What a notebook does: the cell dies, the kernel lives, the user runs the next cell.
store, recorded, seq, interrupts = TraceStore(lab, Still()), [], 0, 0
store.sql("SELECT 1")
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.037)
while interrupts < 80:
    try:
        for _ in range(20):
            seq += 1
            store.record(event("r", seq))
            recorded.append(seq)
        store.flush()
        store.sql("SELECT count(*) FROM events")
    except KeyboardInterrupt:
        interrupts += 1
signal.setitimer(signal.ITIMER_REAL, 0)
store.flush()
seqs = [e.seq for e in store.events("r")]
assert seqs == sorted(set(seqs)), "repeated"
assert set(recorded) <= set(seqs) <= set(range(1, seq + 1)), "lost or invented"
print(len(recorded))
"""


def test_interrupts_leave_whole_events(script: Script) -> None:
    """Eighty interrupts while recording, flushing and reading: the store works on, every event
    whose ``record`` returned is there after the next flush, and none is there twice."""
    out, errors = script(INTERRUPTED).communicate()
    assert errors == ""
    assert int(out) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork to survive")
def test_a_forked_child_repeats_nothing(tmp_path: Path, still: Still, script: Script) -> None:
    """What the parent has queued is written once, although the child inherits the queue."""
    worker = script(
        """
        store = TraceStore(lab, Still())
        store.runs()
        store.record(event("parent", 0))
        child = os.fork()
        if child == 0:
            store.record(event("child", 0))
            store.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        store.close()
        """
    )
    assert worker.communicate()[1] == ""
    assert [(r.run, r.events) for r in sorted(TraceStore(tmp_path, still).runs())] == [
        ("child", 1),
        ("parent", 1),
    ]


def test_a_process_that_ends_without_close_still_writes(
    tmp_path: Path, still: Still, script: Script
) -> None:
    """A normal exit flushes what is queued."""
    worker = script("TraceStore(lab, Still()).record(event('r', 0))")
    assert worker.communicate()[1] == ""
    assert len(TraceStore(tmp_path, still).events()) == 1
