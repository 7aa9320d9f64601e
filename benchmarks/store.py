"""How many events a second the trace store acknowledges, against plain baselines in the same run.

``python benchmarks/store.py [--rounds N]``. An event counts when ``flush`` has returned. Baselines,
on the same events, flushed equally often:

* ``lines``: ``model_dump_json`` appended to a text file with one fsync a flush. It has no types,
  no queries and no second writer: a floor for what durability alone costs here.
* ``rows``: the obvious use of DuckDB, one connection kept open (so nobody else can read) and one
  INSERT a row in one transaction a flush.

Only ratios within a run mean anything on another machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import duckdb

from logoslab.pack.event import Event, ObservationEvent
from logoslab.store import AuditLog, TraceStore
from logoslab.store.schema import MIGRATIONS, EventRow, event_row


class _Wall:
    def now(self) -> float:
        return time.time()


def _events(count: int) -> list[Event]:
    result = {"data_class": "confidential", "clause": "4.2", "note": "as the policy says"}
    return [
        ObservationEvent(
            run="bench", task=f"t{n // 12}", seq=n % 12, at=float(n), call=f"c{n}",
            name="lookup", ok=True, result=result, latency=0.01,
        )
        for n in range(count)
    ]  # fmt: skip


def through_store(folder: Path, batches: Sequence[Sequence[Event]]) -> None:
    """The store: a lease a flush."""
    store = TraceStore(folder, _Wall())
    for batch in batches:
        for event in batch:
            store.record(event)
        store.flush()
    store.close()


def as_lines(folder: Path, batches: Sequence[Sequence[Event]]) -> None:
    """Text lines and fsync."""
    with (folder / "events.jsonl").open("a") as handle:
        for batch in batches:
            handle.writelines(f"{event.model_dump_json()}\n" for event in batch)
            handle.flush()
            os.fsync(handle.fileno())


def as_rows(folder: Path, batches: Sequence[Sequence[Event]]) -> None:
    """One INSERT an event on a connection that is kept open."""
    marks = ", ".join(f"${name}" for name in EventRow._fields)
    with duckdb.connect(folder / "rows.duckdb") as con:
        con.execute(MIGRATIONS[0].replace("CREATE TABLE", "CREATE TABLE IF NOT EXISTS"))
        for batch in batches:
            con.execute("BEGIN")
            for event in batch:
                con.execute(f"INSERT INTO events VALUES ({marks})", event_row(event)._asdict())
            con.execute("COMMIT")


WAYS: tuple[Callable[[Path, Sequence[Sequence[Event]]], None], ...] = (
    through_store, as_lines, as_rows,
)  # fmt: skip


def rate(way: Callable[[Path, Sequence[Sequence[Event]]], None], size: int, rounds: int) -> float:
    """Acknowledged events a second, batches of ``size``."""
    events = _events(size * rounds)
    batches = [events[n : n + size] for n in range(0, len(events), size)]
    with tempfile.TemporaryDirectory() as folder:
        way(Path(folder), batches[:1])  # Imports and the new file are not counted.
        began = time.perf_counter()
        way(Path(folder), batches[1:])
        return len(events) * (rounds - 1) / rounds / (time.perf_counter() - began)


def audit_rate(count: int) -> float:
    """Audit records a second; each is two fsynced files and a walk of the whole chain."""
    with tempfile.TemporaryDirectory() as folder:
        log = AuditLog(Path(folder) / "audit.jsonl", _Wall())
        began = time.perf_counter()
        for n in range(count):
            log.append("decide", f"sha256:{n:064x}", {"n": n})
        return count / (time.perf_counter() - began)


def main() -> None:
    """Print one line a batch size, and the audit log's rate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12, help="flushes a measurement")
    rounds = parser.parse_args().rounds
    print(f"{'events a flush':>14}{'store/s':>12}{'lines/s':>12}{'rows/s':>12}"
          f"{'store:lines':>13}{'store:rows':>12}")  # fmt: skip
    for size in (1, 20, 200, 2000):
        store, lines, rows = (rate(way, size, rounds) for way in WAYS)
        print(f"{size:>14}{store:>12,.0f}{lines:>12,.0f}{rows:>12,.0f}"
              f"{store / lines:>13.2f}{store / rows:>12.2f}")  # fmt: skip
    print(f"audit log: {audit_rate(100):,.0f} records/s for the first 100")


if __name__ == "__main__":
    main()
