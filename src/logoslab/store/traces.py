"""Traces of a lab: events and recorded model calls in one DuckDB file.

DuckDB gives a file to one writing process at a time, or to many reading ones. So nothing here
holds it: one writer thread opens it for each batch, appends through Arrow in one transaction and
closes it (a lease); reads open it read-only, many at once; both wait their turn for a bounded time.

Why leases, and not a segment file per process that is folded in later. Measured on two cores: a
lease for 50 events takes 25 ms on an idle machine and 60 ms on a busy one, the same at 10 thousand
and at 1 million events (32 MB); appending 50 lines to a file with fsync takes 4 ms. A batch costs
the same lease whether it holds one event or thousands, a task of a run takes far longer than a
lease, and every acknowledged event is then in the one file that any DuckDB tool opens, with no
second format, no fold and no recovery of ours to get wrong: a kill leaves what DuckDB's own log
makes of it. The price is that a tool that keeps the file open stops acknowledgements
(:class:`~logoslab.errors.TraceLocked`); events stay queued and the next flush tries again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from logoslab.errors import InvalidValue, QueryRefused, StoreError, TraceCorrupt, TraceLocked
from logoslab.files import locked, sync_folder
from logoslab.pack.event import Event, event_adapter
from logoslab.ports import Clock
from logoslab.store import schema
from logoslab.store.guard import read_only
from logoslab.store.schema import CallRow, EventRow, OutcomeRow, RunRow
from logoslab.store.writer import BatchWriter

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import pyarrow as pa

FILE = "traces.duckdb"
PATIENCE = 30.0
"""Seconds to wait for the file. Longer than the time limit of ``sql``, so no query causes it."""
TIME_LIMIT = 10.0
MAX_ROWS = 100_000
CALLS_FRESH_FOR = 30.0

_POLL = 0.01
# Locked for every connection: a query can then reach no file, network or setting. One set of
# options for all, because a process may not open one file twice with different ones.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "enable_external_access": "false",
    "memory_limit": "1GB",
    "temp_directory": "",
    "lock_configuration": "true",
}
_BUSY = ("Could not set lock", "different configuration")
_HOLDER = re.compile(r"\(PID (\d+)\)")

T = TypeVar("T")


class TraceStore:
    """The trace database of a lab. Implements :class:`logoslab.ports.Recorder`.

    Many threads may use one store, and many processes one lab.

    Parameters
    ----------
    folder : Path
        The lab; ``traces.duckdb`` is made in it at the first use.
    clock : Clock
        Dates recorded calls and the schema. Events carry their own time.
    patience : float
        Seconds to wait while another process holds the file.
    """

    def __init__(self, folder: Path, clock: Clock, *, patience: float = PATIENCE) -> None:
        self.path = folder / FILE
        self._clock, self._patience = clock, patience
        self._ready = False
        self._calls: dict[str, str] = {}
        self._calls_read: float | None = None
        self._writer: BatchWriter[EventRow | CallRow] = BatchWriter(self._append)

    # ---- writing

    def record(self, event: Event) -> None:
        """Queue one event; never waits for the disk.

        Raises
        ------
        InvalidValue
            When the event could not be read back as it is.
        """
        self._writer.put(schema.event_row(event))

    def record_call(self, key: str, reply_json: str) -> None:
        """Queue the reply to a request digest. The first reply recorded for a key stays.

        Raises
        ------
        InvalidValue
            When ``reply_json`` is not JSON.
        """
        if key not in self._calls:
            self._calls[key] = _checked_json(key, reply_json)
            self._writer.put(CallRow(key, self._clock.now(), reply_json))

    def flush(self) -> None:
        """Return when everything recorded before is committed and survives a kill.

        Raises
        ------
        TraceLocked, TraceCorrupt, StoreError
            When it is not. The events stay queued; the next flush tries again.
        """
        self._writer.flush()

    def close(self) -> None:
        """Flush and end the writer thread. Reads still work, and so does recording again."""
        self._writer.close()

    def _append(self, rows: Sequence[EventRow | CallRow]) -> None:
        """Write rows in one transaction of one lease, prepared before the lease begins."""
        import duckdb

        events = schema.arrow([row for row in rows if isinstance(row, EventRow)])
        calls = schema.arrow([row for row in rows if isinstance(row, CallRow)])

        try:
            with self._lease(read_only=False) as con:
                con.execute("BEGIN")
                _insert(con, schema.APPEND_EVENTS, events)
                _insert(con, schema.APPEND_CALLS, calls)
                con.execute("COMMIT")
        except duckdb.Error as cause:
            raise StoreError(
                f"write to {FILE}",
                got=_first_line(cause),
                allowed="a database that takes new rows",
                next_step="Make room or mend the cause and flush again; the events stay queued.",
            ) from cause

    # ---- reading

    def events(
        self,
        run: str | None = None,
        task: str | None = None,
        kind: str | None = None,
        *,
        arm: str | None = None,
    ) -> list[Event]:
        """Recorded events in the order (run, task, arm, seq); None selects all."""
        wanted = {"run": run, "task": task, "kind": kind, "arm": arm}
        rows = self._rows(schema.EVENTS, wanted)
        return [event_adapter.validate_json(payload) for (payload,) in rows]

    def runs(self) -> list[RunRow]:
        """Every run, oldest first."""
        return [RunRow(*row) for row in self._rows(schema.RUNS)]

    def outcomes(self, run: str) -> list[OutcomeRow]:
        """How each task of each arm of a run ended, with its last known score."""
        return [OutcomeRow(*row) for row in self._rows(schema.OUTCOMES, {"run": run})]

    def recorded_call(self, key: str) -> str | None:
        """The reply recorded for a request digest, or None.

        Replies are kept in memory. What another process recorded is seen
        within 30 s; to ask the model again in between is only a little waste.
        """
        now = time.monotonic()
        stale = self._calls_read is None or now - self._calls_read > CALLS_FRESH_FOR
        if key not in self._calls and stale:
            self._calls.update(self._rows(schema.CALLS))
            self._calls_read = now
        return self._calls.get(key)

    def sql(
        self,
        query: str,
        params: Mapping[str, Any] | None = None,
        *,
        time_limit: float = TIME_LIMIT,
        max_rows: int = MAX_ROWS,
    ) -> pd.DataFrame:
        """The answer to one read-only query over ``events`` and ``calls``.

        Parameters
        ----------
        query : str
            One SELECT in DuckDB's dialect.
        params : mapping, optional
            Values for ``$name`` in the query. Never format a value into the text.
        time_limit : float
            Seconds, then the query is stopped.
        max_rows : int
            A longer answer is refused, not cut: a cut table gives wrong numbers.

        Raises
        ------
        QueryRefused
            For anything but one SELECT, an error in it, or an answer over the limits.
        TraceLocked, TraceCorrupt
            When the database cannot be read.
        """
        import duckdb
        import pandas  # noqa: F401  Before the lease: the first import takes a second.

        def refused(got: str, next_step: str) -> QueryRefused:
            allowed = f"a correct query, answered within {time_limit:g} s in {max_rows} rows"
            return QueryRefused("sql", got=got, allowed=allowed, next_step=next_step)

        checked = read_only(query, schema.TABLES, max_rows)
        try:
            frame = self._read(checked, params, lambda con: con.df(), time_limit)
        except duckdb.Error as cause:
            raise refused(_first_line(cause), "Correct the query.") from cause
        except TimeoutError as cause:
            raise refused("no answer in time", "Ask for less, or raise time_limit.") from cause
        if len(frame) > max_rows:
            raise refused("more rows", "Aggregate, add LIMIT, or raise max_rows.")
        return frame

    def _rows(self, query: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        return self._read(query, params, lambda con: con.fetchall(), None)

    def _read(
        self,
        query: str,
        params: Mapping[str, Any] | None,
        fetch: Callable[[duckdb.DuckDBPyConnection], T],
        time_limit: float | None,
    ) -> T:
        """Run a query on a read-only lease, after what this process has queued is written."""
        self._writer.flush()
        with self._lease(read_only=True) as con:
            return _interruptible(con, lambda: fetch(con.execute(query, params)), time_limit)

    # ---- leases

    @contextmanager
    def _lease(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        """Hold the file for a moment. Errors of the file become typed; a query's own pass."""
        import duckdb

        self._prepare()
        con = self._connect(self.path, read_only=read_only)
        try:
            yield con
        except (duckdb.IOException, duckdb.FatalException) as cause:
            raise self._unusable(cause) from cause
        except duckdb.Error as cause:
            if type(cause) is duckdb.Error:  # A failed checksum has no class of its own.
                raise self._unusable(cause) from cause
            raise
        finally:
            self._close(con)

    def _close(self, con: duckdb.DuckDBPyConnection) -> None:
        """Close a connection, also one that an interrupt left with a query still in its thread."""
        import duckdb

        deadline = time.monotonic() + self._patience
        while True:
            try:
                con.close()
                return
            except duckdb.ResourceInUseException:
                if time.monotonic() > deadline:
                    raise
            con.interrupt()
            time.sleep(_POLL)

    def _connect(self, path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        import duckdb

        deadline = time.monotonic() + self._patience
        while True:
            try:
                return duckdb.connect(path, read_only=read_only, config=_CONFIG)
            except duckdb.Error as cause:
                if not any(sign in str(cause) for sign in _BUSY):
                    raise self._unusable(cause) from cause
                if time.monotonic() > deadline:
                    raise self._locked(cause) from cause
            time.sleep(_POLL)

    def _prepare(self) -> None:
        """Once per store: make the file whole or not at all, and bring its schema up to date."""
        if self._ready and self.path.exists():
            return
        with locked(self.path, self._patience):
            if not self.path.exists():
                new = self.path.with_name(f"{FILE}.new")
                new.unlink(missing_ok=True)
                with self._connect(new, read_only=False) as con:
                    self._migrate(con, 0)
                new.replace(self.path)
                sync_folder(self.path.parent)
            with self._connect(self.path, read_only=True) as con:
                version = self._version(con)
            if version < len(schema.MIGRATIONS):
                with self._connect(self.path, read_only=False) as con:
                    self._migrate(con, version)
        self._ready = True

    def _migrate(self, con: duckdb.DuckDBPyConnection, version: int) -> None:
        con.execute("BEGIN")
        for number, statements in enumerate(schema.MIGRATIONS[version:], version + 1):
            con.execute(statements)
            con.execute(schema.SET_VERSION, {"version": number, "at": self._clock.now()})
        con.execute("COMMIT")

    def _version(self, con: duckdb.DuckDBPyConnection) -> int:
        import duckdb

        try:
            version: int | None = con.execute(schema.GET_VERSION).fetchall()[0][0]
        except duckdb.Error as cause:
            raise self._unusable(cause) from cause
        if version is None or version > len(schema.MIGRATIONS):
            raise self._unusable(f"schema version {version}")
        return version

    def _locked(self, cause: Exception) -> TraceLocked:
        holder = _HOLDER.search(str(cause))
        who = f"process {holder[1]}" if holder else "another connection"
        return TraceLocked(
            f"trace database {FILE}",
            got=f"a file that {who} has held for over {self._patience:g} s",
            allowed="a file that other tools open only for a moment",
            next_step="Close it there (a DuckDB shell, a notebook with its own connection) "
            "and flush again; nothing that was recorded is lost while this process lives.",
        )

    def _unusable(self, cause: Exception | str) -> TraceCorrupt:
        return TraceCorrupt(
            f"trace database {FILE}",
            got=_first_line(cause),
            allowed="a DuckDB file that this or an older version of logoslab made",
            next_step="Move it away to start a new one, or restore it from a copy; "
            "the archive, the audit log and the live pack do not depend on it.",
        )


def _insert(con: duckdb.DuckDBPyConnection, statement: str, rows: pa.Table | None) -> None:
    """Append the rows of one table through Arrow."""
    if rows is not None:
        con.register("batch", rows)
        con.execute(statement)
        con.unregister("batch")


def _interruptible(
    con: duckdb.DuckDBPyConnection, answer: Callable[[], T], time_limit: float | None
) -> T:
    """Run a query in a thread of its own, so that an interrupt or the limit stops it at once.

    In the main thread DuckDB would turn an interrupt into a RuntimeError, and only at its end.
    Raises TimeoutError at the limit.
    """
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(answer)
        try:
            return future.result(timeout=time_limit)
        finally:
            while wait([future], timeout=_POLL).not_done:
                con.interrupt()


def _checked_json(key: str, reply_json: str) -> str:
    from pydantic_core import from_json

    try:
        from_json(reply_json.encode())
    except ValueError as cause:
        raise InvalidValue(
            f"recorded call {key}",
            got=str(cause),
            allowed="a JSON text",
            next_step="Record `reply.model_dump_json()`.",
        ) from cause
    return reply_json


def _first_line(cause: Exception | str) -> str:
    return str(cause).strip().split("\n", maxsplit=1)[0].rstrip(".!")
