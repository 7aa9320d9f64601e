"""The trace tables: what each event kind puts into which typed column, and every SQL text.

Typed columns hold what is filtered and summed; ``payload`` holds the whole event, so a read gives
back exactly what was recorded. The event field ``at`` is a column of that name: plain DuckDB wants
it quoted (``"at"``), ``sql()`` does not mind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from logoslab.errors import InvalidValue
from logoslab.pack.base import first_error_of
from logoslab.pack.event import Event, event_adapter

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = frozenset({"events", "calls"})

# Only append: a lab that was made by an older version runs the ones it lacks.
MIGRATIONS = (
    """
    CREATE TABLE schema_version (version INTEGER NOT NULL, "at" DOUBLE NOT NULL);
    CREATE TABLE events (
        run TEXT NOT NULL, task TEXT NOT NULL, arm TEXT NOT NULL, seq BIGINT NOT NULL,
        "at" DOUBLE NOT NULL, kind TEXT NOT NULL, agent TEXT, component TEXT,
        name TEXT, call TEXT, stage TEXT, verdict TEXT, status TEXT, score DOUBLE,
        tokens_in BIGINT, tokens_out BIGINT, usd DOUBLE, latency DOUBLE, payload JSON NOT NULL);
    CREATE TABLE calls (key TEXT PRIMARY KEY, "at" DOUBLE NOT NULL, reply JSON NOT NULL);
    """,
)

APPEND_EVENTS = "INSERT INTO events BY NAME SELECT * FROM batch"
APPEND_CALLS = "INSERT OR IGNORE INTO calls BY NAME SELECT * FROM batch"
SET_VERSION = "INSERT INTO schema_version VALUES ($version, $at)"
GET_VERSION = "SELECT max(version) FROM schema_version"

EVENTS = """
    SELECT payload FROM events
    WHERE ($run IS NULL OR run = $run) AND ($task IS NULL OR task = $task)
      AND ($arm IS NULL OR arm = $arm) AND ($kind IS NULL OR kind = $kind)
    ORDER BY run, task, arm, seq"""
RUNS = """
    SELECT run, min("at"), max("at"), count(DISTINCT task) FILTER (task <> ''), count(*)
    FROM events GROUP BY run ORDER BY min("at"), run"""
# A task can be scored after it ended, by a second outcome event: the last one counts.
# A sum with an unknown part is unknown.
OUTCOMES = """
    WITH cost AS (
        SELECT task, arm,
               CASE WHEN count(usd) = count(*) THEN sum(usd) END AS usd,
               CASE WHEN count(tokens_in) = count(*) THEN sum(tokens_in) END AS tokens_in,
               CASE WHEN count(tokens_out) = count(*) THEN sum(tokens_out) END AS tokens_out
        FROM events WHERE run = $run AND kind = 'cost' GROUP BY task, arm)
    SELECT task, arm, ended.status, ended.score, ended."at",
           cost.usd, cost.tokens_in::BIGINT, cost.tokens_out::BIGINT
    FROM events AS ended LEFT JOIN cost USING (task, arm)
    WHERE ended.run = $run AND ended.kind = 'outcome'
    QUALIFY row_number() OVER (PARTITION BY task, arm ORDER BY ended.seq DESC) = 1
    ORDER BY task, arm"""
CALLS = "SELECT key, reply FROM calls"


class RunRow(NamedTuple):
    """One run: when it was active, and how many tasks and events it has."""

    run: str
    started: float
    ended: float
    tasks: int
    events: int


class OutcomeRow(NamedTuple):
    """How one task of one arm ended, and what its model calls used (None when any is unknown)."""

    task: str
    arm: str
    status: str
    score: float | None
    at: float
    usd: float | None
    tokens_in: int | None
    tokens_out: int | None


class EventRow(NamedTuple):
    """A row of ``events``; the order and names are the table's."""

    run: str
    task: str
    arm: str
    seq: int
    at: float
    kind: str
    agent: str | None
    component: str | None
    name: str | None
    call: str | None
    stage: str | None
    verdict: str | None
    status: str | None
    score: float | None
    tokens_in: int | None
    tokens_out: int | None
    usd: float | None
    latency: float | None
    payload: str


class CallRow(NamedTuple):
    """A row of ``calls``: a recorded model call."""

    key: str
    at: float
    reply: str


Row = EventRow | CallRow

_INTEGERS = frozenset({"seq", "tokens_in", "tokens_out"})
_REALS = frozenset({"at", "score", "usd", "latency"})


def arrow(rows: Sequence[Row]) -> pa.Table | None:
    """Rows of one table as an Arrow table; None when there are none.

    Types are stated, because a batch may hold only nulls.
    """
    if not rows:
        return None
    import pyarrow as pa

    def kind(name: str) -> pa.DataType:
        return pa.int64() if name in _INTEGERS else pa.float64() if name in _REALS else pa.string()

    names = rows[0]._fields
    columns = [pa.array(c, kind(n)) for n, c in zip(names, zip(*rows, strict=True), strict=True)]
    return pa.table(columns, names=list(names))


# Where each kind keeps the name of what it is about.
_NAME_FIELD = {
    "action": "name", "observation": "name", "route": "dimension", "verdict": "verifier",
    "human": "act", "cost": "model", "risk": "level", "effect": "tool", "audit": "act",
}  # fmt: skip
_INT64 = 2**63


def event_row(event: Event) -> EventRow:
    """The row of an event.

    Raises
    ------
    InvalidValue
        When the event could not be read back: lone surrogates, a non-finite number where one is
        required, or a count beyond 64 bits. It is refused here, before it can block the queue.
    """
    get = event.__dict__.get
    ok = get("ok")
    counts = (event.seq, get("tokens_in") or 0, get("tokens_out") or 0)
    try:
        payload = event.model_dump_json()
        event_adapter.validate_json(payload)
        if max(counts) >= _INT64:
            raise ValueError("a count beyond 64 bits")
    except (PydanticSerializationError, ValidationError, ValueError) as cause:
        raise InvalidValue(
            f"{event.kind} event of run {event.run!a}",
            got=first_error_of(cause) if isinstance(cause, ValidationError) else str(cause),
            allowed="valid Unicode, finite numbers and counts below 2**63",
            next_step="Clean the value before it is recorded.",
        ) from cause
    return EventRow(
        run=event.run,
        task=event.task,
        arm=event.arm,
        seq=event.seq,
        at=event.at,
        kind=event.kind,
        agent=event.agent,
        component=event.component,
        name=get(_NAME_FIELD.get(event.kind, "")),
        call=get("call"),
        stage=get("stage"),
        verdict=get("verdict"),
        status=get("status") if ok is None else ("ok" if ok else "error"),
        score=get("score"),
        tokens_in=get("tokens_in"),
        tokens_out=get("tokens_out"),
        usd=get("usd"),
        latency=get("latency"),
        payload=payload,
    )
