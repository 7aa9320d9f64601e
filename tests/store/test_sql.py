"""``sql``: one read-only query, or a refusal that names the reason."""

from __future__ import annotations

import pytest

from logoslab.errors import QueryRefused
from logoslab.store import TraceStore, traces
from logoslab.store.guard import read_only
from logoslab.store.schema import TABLES
from tests.store.conftest import Still, event

HOSTILE = (
    "SELECT * FROM read_csv('{secret}')",
    "SELECT * FROM read_text('{secret}')",
    "SELECT * FROM read_blob('{secret}')",
    "SELECT * FROM read_json('{secret}')",
    "SELECT * FROM read_parquet('{secret}')",
    "SELECT * FROM glob('*')",
    "SELECT * FROM '{secret}'",
    'SELECT * FROM "{secret}"',
    "SELECT * FROM events UNION ALL SELECT * FROM read_csv('{secret}')",
    "SELECT (SELECT content FROM read_text('{secret}'))",
    "WITH x AS (SELECT * FROM read_text('{secret}')) SELECT * FROM x",
    "WITH x AS (INSERT INTO events SELECT * FROM events RETURNING *) SELECT * FROM x",
    "COPY events TO '{folder}/out.csv'",
    "COPY events FROM '{secret}'",
    "EXPORT DATABASE '{folder}/out'",
    "IMPORT DATABASE '{folder}'",
    "ATTACH '{folder}/other.duckdb'",
    "DETACH traces",
    "USE memory",
    "SELECT 1; SELECT 2",
    "SELECT 1; DROP TABLE events",
    "",
    ";",
    "-- nothing",
    "DROP TABLE events",
    "DELETE FROM events",
    "UPDATE events SET run = 'x'",
    "INSERT INTO events SELECT * FROM events",
    "MERGE INTO events USING events AS e ON false WHEN MATCHED THEN DELETE",
    "TRUNCATE events",
    "CREATE TABLE t AS SELECT 1",
    "CREATE TEMP TABLE t (x INT)",
    "CREATE MACRO f() AS 1",
    "CREATE SECRET s (TYPE s3)",
    "SELECT * INTO t FROM events",
    "SELECT * INTO events FROM events",
    "WITH x AS (DELETE FROM events RETURNING *) SELECT * FROM x",
    "WITH x AS (UPDATE events SET run = 'x' RETURNING *) SELECT * FROM x",
    "SELECT * FROM events FOR UPDATE",
    "ALTER TABLE events ADD COLUMN x INT",
    "PRAGMA threads = 1",
    "PRAGMA database_list",
    "SET threads = 1",
    "SET VARIABLE x = 1",
    "RESET threads",
    "INSTALL httpfs",
    "LOAD httpfs",
    "CALL pragma_version()",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "PREPARE p AS SELECT 1",
    "EXECUTE p",
    "EXPLAIN ANALYZE SELECT 1",
    "DESCRIBE events",
    "SHOW TABLES",
    "SELECT * FROM (DESCRIBE events)",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM schema_version",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('events')",
    "SELECT getenv('HOME')",
    "SELECT current_setting('home_directory')",
    "SELECT write_log('x')",
    "SELECT nextval('s')",
    "not sql at all",
    "(" * 3000,
    "SELECT " + "1 + " * 6000 + "1",
    "VALUES (1)",
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> TraceStore:
    """One lab for all queries: none may change it."""
    store = TraceStore(tmp_path_factory.mktemp("lab"), Still())
    for seq in range(4):
        store.record(event("r", seq))
    store.flush()
    return store


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_statements_are_refused(recorded: TraceStore, query: str) -> None:
    """Every statement that is not one plain SELECT is refused; database and folder stay as is."""
    folder = recorded.path.parent
    secret = folder / "secret.csv"
    secret.write_text("canary\n")
    before = (recorded.path.read_bytes(), sorted(folder.iterdir()))
    text = query.replace("{secret}", str(secret)).replace("{folder}", str(folder))
    with pytest.raises(QueryRefused):  # First layer alone: the text never reaches the database.
        read_only(text, TABLES, max_rows=10)
    with pytest.raises(QueryRefused) as refusal:
        recorded.sql(text)
    assert "canary" not in str(refusal.value)
    assert (recorded.path.read_bytes(), sorted(folder.iterdir())) == before


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_the_connection_alone_keeps_files_and_data_safe(
    recorded: TraceStore, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Second layer: with the syntax check switched off, no file is read and nothing changes."""
    monkeypatch.setattr(traces, "read_only", lambda text, tables, rows: text)
    folder = recorded.path.parent
    secret = folder / "secret.csv"
    secret.write_text("canary\n")
    before = (recorded.path.read_bytes(), sorted(folder.iterdir()))
    try:
        answer = recorded.sql(
            query.replace("{secret}", str(secret)).replace("{folder}", str(folder))
        )
    except (QueryRefused, AttributeError, TypeError):
        pass  # Refused, or no table came back.
    else:
        assert "canary" not in str(answer)
    assert (recorded.path.read_bytes(), sorted(folder.iterdir())) == before


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) AS n FROM events",
        "FROM events ORDER BY at",
        "SELECT run, max(at) - min(at) AS s FROM events WHERE at >= 0 GROUP BY run",
        "WITH x AS (SELECT seq FROM events) SELECT sum(seq) FROM x JOIN events USING (seq)",
        "SELECT payload->>'$.inputs.n' AS n, json_extract(payload, '$.inputs') FROM events",
        "SELECT kind, row_number() OVER (ORDER BY seq) AS k FROM events QUALIFY k < 3",
        "SELECT median(seq), quantile_cont(seq, 0.9), list(seq), mode(run) FROM events",
        "SELECT * EXCLUDE (payload) FROM events UNION ALL SELECT * EXCLUDE (payload) FROM events",
        "SELECT unnest(range(3)) AS i",
        "SELECT list_sum([1, 2]) AS s, strftime(to_timestamp(at), '%Y') FROM events",
        "SELECT 1 AS a, 2 AS a;",
        "SELECT * FROM Events e SEMI JOIN calls c ON e.run = c.key",
    ],
)
def test_ordinary_questions_are_answered(recorded: TraceStore, query: str) -> None:
    """The guard lets through what researchers ask."""
    assert recorded.sql(query) is not None


def test_a_parameter_is_data(recorded: TraceStore) -> None:
    """A value goes beside the text, so it cannot become SQL."""
    query = "SELECT count(*) AS n FROM events WHERE run = $run"
    assert recorded.sql(query, {"run": "r"}).n.tolist() == [4]
    assert recorded.sql(query, {"run": "r' OR 'x' = 'x"}).n.tolist() == [0]


def test_the_order_of_the_query_is_the_order_of_the_frame(recorded: TraceStore) -> None:
    """The row cap does not disturb ORDER BY."""
    assert recorded.sql("SELECT seq FROM events ORDER BY seq DESC").seq.tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(
    ("query", "limits", "message"),
    [
        (
            "DROP TABLE events",
            {},
            "allowed exactly one SELECT over the tables events and calls, with ordinary functions; "
            "got DROP TABLE events. Ask with one SELECT; to do more, open a copy of traces.duckdb "
            "in DuckDB.",
        ),
        (
            "SELECT 1; SELECT 2",
            {},
            "allowed exactly one SELECT over the tables events and calls, with ordinary functions; "
            "got 2 statements. Ask with one SELECT; to do more, open a copy of traces.duckdb in "
            "DuckDB.",
        ),
        (
            "SELECT colour FROM events",
            {},
            "allowed a correct query, answered within 10 s in 100000 rows; got Binder Error: "
            'Referenced column "colour" not found in FROM clause. Correct the query.',
        ),
        (
            "SELECT seq FROM events",
            {"max_rows": 3},
            "allowed a correct query, answered within 10 s in 3 rows; got more rows. Aggregate, "
            "add LIMIT, or raise max_rows.",
        ),
        (
            "SELECT count(*) FROM unnest(range(1000000)) a(x), unnest(range(1000000)) b(y) "
            "WHERE x * y = 7",
            {"time_limit": 0.2},
            "allowed a correct query, answered within 0.2 s in 100000 rows; got no answer in time. "
            "Ask for less, or raise time_limit.",
        ),
    ],
    ids=["statement", "two", "column", "rows", "time"],
)
def test_a_refusal_says_why(
    recorded: TraceStore, query: str, limits: dict[str, float], message: str
) -> None:
    """Which, allowed, got, next; and the store works on."""
    with pytest.raises(QueryRefused) as refusal:
        recorded.sql(query, **limits)  # type: ignore[arg-type]
    assert str(refusal.value) == f"sql: {message}"
    assert recorded.sql("SELECT count(*) AS n FROM events").n.tolist() == [4]


def test_exactly_the_allowed_number_of_rows_is_no_refusal(recorded: TraceStore) -> None:
    """Four rows fit a cap of four."""
    assert len(recorded.sql("SELECT seq FROM events", max_rows=4)) == 4


def test_a_lab_without_traces_answers_with_no_rows(store: TraceStore) -> None:
    """A new lab has the tables and nothing in them."""
    assert store.sql("SELECT * FROM events").empty
    assert list(store.sql("SELECT * FROM calls").columns) == ["key", "at", "reply"]
