"""The trace store: what goes in comes out, whole, and the file belongs to nobody for long."""

from __future__ import annotations

import math
import threading
from pathlib import Path

import duckdb
import pytest

from logoslab.errors import InvalidValue, TraceCorrupt, TraceLocked
from logoslab.pack.event import (
    EVENT_KINDS,
    ActionEvent,
    AuditEvent,
    CostEvent,
    EffectEvent,
    Event,
    HumanEvent,
    ObservationEvent,
    OutcomeEvent,
    PlanEvent,
    RiskEvent,
    RouteEvent,
    TaskEvent,
    VerdictEvent,
)  # fmt: skip
from logoslab.pack.tool import EffectClass
from logoslab.pack.verdict import Outcome
from logoslab.store import OutcomeRow, RunRow, TraceStore, schema
from tests.store.conftest import Script, Still, event

AT = {"run": "r1", "task": "t1", "at": 5.0}
ONE_OF_EACH: tuple[Event, ...] = (
    TaskEvent(**AT, seq=0, inputs={"ticket": "T-1", "text": "naïve \u0000 '); DROP TABLE events"}),
    PlanEvent(**AT, seq=1, phases=("intake", "decide")),
    ActionEvent(**AT, seq=2, call="c1", name="lookup", arguments=[1, None, {"a": 1.5}]),
    ObservationEvent(**AT, seq=3, call="c1", name="lookup", ok=False, result=None, latency=0.25),
    RouteEvent(**AT, seq=4, dimension="intake", stage="greedy", entry="greedy", scores={"g": 0.5}),
    VerdictEvent(**AT, seq=5, verifier="schema", verdict=Outcome.FAIL),
    HumanEvent(**AT, seq=6, act="question", text="May it?", who="ann"),
    CostEvent(**AT, seq=7, model="m", call="c2", tokens_in=7, tokens_out=2, latency=0.5),
    RiskEvent(**AT, seq=8, level="high", reason="new permission"),
    EffectEvent(**AT, seq=9, call="c3", tool="draft", effect=EffectClass.TRANSACTIONAL_WRITE,
                status="executed"),
    OutcomeEvent(**AT, seq=10, status="completed", output={"decision": "grant"}, score=1.0,
                 agent="reviewer", component="skill/intake@2"),
    AuditEvent(**AT, seq=11, act="promote", subject="sha256:1", detail={"by": "ann"}),
)  # fmt: skip


def test_every_kind_of_event_comes_back_equal(store: TraceStore) -> None:
    """What was recorded is what is read, for each of the twelve kinds, in order of ``seq``."""
    assert [e.kind for e in ONE_OF_EACH] != sorted(EVENT_KINDS)
    assert {e.kind for e in ONE_OF_EACH} == set(EVENT_KINDS)
    for one in reversed(ONE_OF_EACH):
        store.record(one)
    assert tuple(store.events()) == ONE_OF_EACH


def test_typed_columns_hold_what_is_queried(store: TraceStore) -> None:
    """Each kind's name, verdict, status and numbers are columns; what does not apply is NULL."""
    for one in ONE_OF_EACH:
        store.record(one)
    frame = store.sql(
        "SELECT name, stage, verdict, status, score, tokens_in, usd, latency, component, call "
        "FROM events ORDER BY seq"
    ).astype(object)
    rows = frame.where(frame.notna(), None).to_numpy().tolist()
    n = None
    assert rows == [
        [n, n, n, n, n, n, n, n, n, n],
        [n, n, n, n, n, n, n, n, n, n],
        ["lookup", n, n, n, n, n, n, n, n, "c1"],
        ["lookup", n, n, "error", n, n, n, 0.25, n, "c1"],
        ["intake", "greedy", n, n, n, n, n, n, n, n],
        ["schema", n, "fail", n, n, n, n, n, n, n],
        ["question", n, n, n, n, n, n, n, n, n],
        ["m", n, n, n, n, 7, n, 0.5, n, "c2"],
        ["high", n, n, n, n, n, n, n, n, n],
        ["draft", n, n, "executed", n, n, n, n, n, "c3"],
        [n, n, n, "completed", 1.0, n, n, n, "skill/intake@2", n],
        ["promote", n, n, n, n, n, n, n, n, n],
    ]


def test_events_are_selected_by_run_task_arm_and_kind(store: TraceStore) -> None:
    """Each argument narrows; None selects all."""
    for run, task, arm in (("a", "t1", "incumbent"), ("a", "t2", "candidate"), ("b", "t1", "x")):
        store.record(event(run, 0, task=task, arm=arm))
        store.record(RiskEvent(run=run, task=task, arm=arm, seq=1, at=0.0, level="low", reason=""))
    count = {
        "all": len(store.events()),
        "run": len(store.events("a")),
        "task": len(store.events(task="t1")),
        "arm": len(store.events(arm="candidate")),
        "kind": len(store.events(kind="risk")),
        "both": len(store.events("a", "t1", "task")),
        "none": len(store.events("c")),
    }
    assert count == {"all": 6, "run": 4, "task": 4, "arm": 2, "kind": 3, "both": 1, "none": 0}


def test_runs_are_listed_oldest_first(store: TraceStore) -> None:
    """A run is known by its first and last time, its tasks and its events."""
    store.record(event("late", 9))
    store.record(event("early", 3, task=""))
    store.record(event("early", 5))
    assert store.runs() == [RunRow("early", 3.0, 5.0, 1, 2), RunRow("late", 9.0, 9.0, 1, 1)]


def test_the_last_outcome_counts_and_an_unknown_cost_stays_unknown(store: TraceStore) -> None:
    """A later score replaces None; 2 + 3 tokens are 5; one unknown price makes the sum unknown."""
    base = {"run": "r", "at": 1.0}
    for task, second in (("t1", 0.25), ("t2", None)):
        first = CostEvent(**base, task=task, seq=0, model="m", call="a", tokens_in=2, usd=0.5)
        store.record(first)
        store.record(first.replace(seq=1, call="b", tokens_in=3, usd=second))
        store.record(OutcomeEvent(**base, task=task, seq=2, status="completed"))
    store.record(OutcomeEvent(**base, task="t1", seq=3, status="completed", score=0.5))
    store.record(OutcomeEvent(**base, task="t3", seq=0, status="failed"))
    assert store.outcomes("r") == [
        OutcomeRow("t1", "incumbent", "completed", 0.5, 1.0, 0.75, 5, None),
        OutcomeRow("t2", "incumbent", "completed", None, 1.0, None, 5, None),
        OutcomeRow("t3", "incumbent", "failed", None, 1.0, None, None, None),
    ]


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (event("r", 2**63), "a count beyond 64 bits"),
        (RouteEvent(**AT, seq=0, dimension="d", stage="s", entry="s", scores={"s": math.inf}),
         "route.scores.s: Input should be a valid number"),
    ],
    ids=["count", "infinite"],
)  # fmt: skip
def test_an_event_that_could_not_be_read_back_is_refused(
    store: TraceStore, bad: Event, why: str
) -> None:
    """It is refused when it is recorded, and what is recorded after it is kept."""
    with pytest.raises(InvalidValue) as refusal:
        store.record(bad)
    assert str(refusal.value) == (
        f"{bad.kind} event of run '{bad.run}': allowed valid Unicode, finite numbers and counts "
        f"below 2**63; got {why}. Clean the value before it is recorded."
    )
    store.record(event("r", 1))
    assert store.events() == [event("r", 1)]


def test_text_that_is_not_unicode_is_refused(store: TraceStore) -> None:
    """A lone surrogate cannot be stored; it must not block what comes after."""
    with pytest.raises(InvalidValue, match="surrogates not allowed"):
        store.record(event("r\ud800", 0))
    store.record(event("r", 1))
    assert store.events() == [event("r", 1)]


def test_a_recorded_call_is_found_again(tmp_path: Path, still: Still) -> None:
    """The first reply for a key stays, here and in a store that opens the lab later."""
    reply = '{"text": "copy", "tokens_in": null}'
    with_call = TraceStore(tmp_path, still)
    assert with_call.recorded_call("k") is None
    with_call.record_call("k", reply)
    with_call.record_call("k", '{"text": "other"}')
    assert with_call.recorded_call("k") == reply
    with_call.close()
    later = TraceStore(tmp_path, still)
    assert later.recorded_call("k") == reply
    later.record_call("k", '{"text": "other"}')
    later.flush()
    assert later.sql("SELECT reply->>'text' AS text FROM calls").text.tolist() == ["copy"]


def test_the_first_of_two_stores_to_write_a_call_wins(tmp_path: Path, still: Still) -> None:
    """A store that missed the key records it too, later: the row that was there stays."""
    first, second = TraceStore(tmp_path, still), TraceStore(tmp_path, still)
    first.record_call("k", '"early"')
    first.flush()
    second.record_call("k", '"late"')
    second.close()
    assert first.sql("SELECT key, reply FROM calls").to_numpy().tolist() == [["k", '"early"']]
    assert TraceStore(tmp_path, still).recorded_call("k") == '"early"'
    first.close()


def test_a_reply_that_is_not_json_is_refused(store: TraceStore) -> None:
    """It is refused before it can block the queue."""
    with pytest.raises(InvalidValue) as refusal:
        store.record_call("k", "{")
    assert str(refusal.value) == (
        "recorded call k: allowed a JSON text; got EOF while parsing an object at line 1 column 1. "
        "Record `reply.model_dump_json()`."
    )
    assert store.recorded_call("k") is None


def test_threads_share_a_store(store: TraceStore) -> None:
    """Eight threads that record, flush and read at once lose and repeat nothing."""
    failures: list[BaseException] = []

    def work(name: str) -> None:
        try:
            for seq in range(60):
                store.record(event(name, seq))
                if seq % 20 == 19:
                    store.flush()
                    assert len(store.events(name)) == seq + 1
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=work, args=(f"run{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert [(r.run, r.events) for r in sorted(store.runs())] == [(f"run{n}", 60) for n in range(8)]


def test_a_closed_store_still_reads_and_records(store: TraceStore) -> None:
    """``close`` ends the thread, twice is harmless, and a later event is not lost."""
    before = set(threading.enumerate())
    store.record(event("r", 0))
    (thread,) = set(threading.enumerate()) - before
    store.close()
    store.close()
    thread.join(timeout=5)
    assert not thread.is_alive()
    store.record(event("r", 1))
    assert [e.seq for e in store.events()] == [0, 1]


def test_another_tool_opens_the_file_between_leases(store: TraceStore) -> None:
    """Plain DuckDB sees acknowledged events in the one file, with no log beside it."""
    store.record(event("r", 0))
    store.flush()
    assert sorted(p.name for p in store.path.parent.iterdir()) == [
        "traces.duckdb",
        "traces.duckdb.lock",
    ]
    with duckdb.connect(store.path) as con:
        assert con.execute("SELECT run, payload->>'$.inputs.n' FROM events").fetchall() == [
            ("r", "0")
        ]


HOLD = """
import duckdb
con = duckdb.connect(lab / "traces.duckdb")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_locked_file_says_who_holds_it_and_loses_nothing(
    tmp_path: Path, still: Still, script: Script
) -> None:
    """``flush`` and reads raise TraceLocked with the PID; after the release nothing is missing."""
    store = TraceStore(tmp_path, still, patience=0.2)
    store.record(event("r", 0))
    store.flush()
    holder = script(HOLD)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    store.record(event("r", 1))
    for act in (store.flush, store.events, store.close):
        with pytest.raises(TraceLocked) as refusal:
            act()
        assert str(refusal.value) == (
            "trace database traces.duckdb: allowed a file that other tools open only for a moment; "
            f"got a file that process {holder.pid} has held for over 0.2 s. Close it there (a "
            "DuckDB shell, a notebook with its own connection) and flush again; nothing that was "
            "recorded is lost while this process lives."
        )
    holder.communicate("")
    store.record(event("r", 2))
    assert [e.seq for e in store.events()] == [0, 1, 2]
    store.close()


def _corrupt(got: str) -> str:
    return (
        "trace database traces.duckdb: allowed a DuckDB file that this or an older version of "
        f"logoslab made; got {got}. Move it away to start a new one, or restore it from a copy; "
        "the archive, the audit log and the live pack do not depend on it."
    )


@pytest.mark.parametrize("content", [b"", b"not a database\n" * 500], ids=["empty", "text"])
def test_a_file_that_is_no_database_is_left_alone(
    tmp_path: Path, still: Still, content: bytes
) -> None:
    """Reading and writing raise TraceCorrupt with what to do; the file keeps its bytes."""
    path = tmp_path / "traces.duckdb"
    path.write_bytes(content)
    store = TraceStore(tmp_path, still)
    store.record(event("r", 0))
    for act in (store.flush, store.runs, lambda: store.sql("SELECT 1")):
        with pytest.raises(TraceCorrupt) as refusal:
            act()
        assert str(refusal.value) == _corrupt(
            f'IO Error: The file "{path}" exists, but it is not a valid DuckDB database file'
        )
    assert path.read_bytes() == content
    path.unlink()
    assert store.events() == [event("r", 0)]


def test_somebody_elses_database_is_left_alone(tmp_path: Path, still: Still) -> None:
    """A DuckDB file without our schema is refused and not changed."""
    path = tmp_path / "traces.duckdb"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE other (x INTEGER)")
    before = path.read_bytes()
    with pytest.raises(TraceCorrupt) as refusal:
        TraceStore(tmp_path, still).runs()
    assert str(refusal.value) == _corrupt(
        "Catalog Error: Table with name schema_version does not exist"
    )
    assert path.read_bytes() == before


def test_a_database_of_a_newer_version_is_refused(store: TraceStore, still: Still) -> None:
    """An unknown schema version is not guessed at."""
    store.runs()
    with duckdb.connect(store.path) as con:
        con.execute("INSERT INTO schema_version VALUES (99, 0)")
    with pytest.raises(TraceCorrupt) as refusal:
        TraceStore(store.path.parent, still).runs()
    assert str(refusal.value) == _corrupt("schema version 99")


def test_an_older_lab_is_migrated_once(
    store: TraceStore, still: Still, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later version's migration runs on the next open and keeps the events."""
    store.record(event("r", 0))
    store.flush()
    later = (*schema.MIGRATIONS, "ALTER TABLE events ADD COLUMN slice TEXT")
    monkeypatch.setattr(schema, "MIGRATIONS", later)
    for _ in range(2):
        newer = TraceStore(store.path.parent, still)
        newer.record(event("r", 1))
        assert newer.sql("SELECT slice FROM events").slice.isna().all()
    with duckdb.connect(store.path) as con:
        assert con.execute("SELECT version FROM schema_version").fetchall() == [(1,), (2,)]


def test_a_damaged_block_is_never_read_as_data(store: TraceStore, still: Still) -> None:
    """With one byte changed, anywhere, a read gives the recorded events or TraceCorrupt."""
    for seq in range(50):
        store.record(event("r", seq))
    truth = store.events()
    store.close()
    whole = store.path.read_bytes()
    refused = 0
    for at in range(3, len(whole), len(whole) // 60):
        store.path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
        try:
            assert TraceStore(store.path.parent, still).events() == truth
        except TraceCorrupt:
            refused += 1
    assert refused > 5
