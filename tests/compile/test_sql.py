"""Guarded SQL: two layers, each tested by itself."""

from __future__ import annotations

import duckdb
import pytest

from logoslab.compile import PackTools, bindings
from logoslab.compile.sql_guard import guarded
from logoslab.errors import ToolError
from tests.compile.make import demo_pack, run

HOSTILE = (
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from '/etc/passwd'",
    'select * from "/etc/passwd"',
    "select * from glob('/*')",
    "select * from tickets, read_blob('/etc/passwd')",
    "select (select content from read_text('/etc/passwd'))",
    "with x as (select * from read_text('/etc/passwd')) select * from x",
    "select * from duckdb_settings()",
    "select * from information_schema.tables",
    "select * from main.tickets",
    "select * from sqlite_master",
    "select getenv('HOME')",
    "select current_setting('home_directory')",
    "select * from tickets; drop table tickets",
    "drop table tickets",
    "create table x as select 1",
    "insert into tickets values (1)",
    "update tickets set vendor = 'x'",
    "delete from tickets",
    "copy tickets to '/tmp/x.csv'",
    "copy (select 1) to '/tmp/x.csv'",
    "attach '/tmp/x.db'",
    "install httpfs",
    "load httpfs",
    "pragma database_list",
    "set enable_external_access = true",
    "export database '/tmp/x'",
    "call pragma_version()",
    "explain select 1",
    "describe tickets",
    "with recursive r as (select 1 as n union all select n + 1 from r) select * from r",
    "select * from tickets where vendor = $1",
    "select * into x from tickets",
    "select 1 from range(1000000000)",
    "select unnest(range(10))",
    "values (1)",
    "",
    "selec * from tickets",
    "select " + "1," * 3000 + "1",
    "select " + "(" * 400 + "1" + ")" * 400,
)

BENIGN = (
    ("select count(*) as n from tickets", [{"n": 320}]),
    ("select exposure, count(*) as n from tickets group by 1 order by n desc limit 1",
     [{"exposure": "internal", "n": 129}]),
    ("select max(requested_days::int) as most from tickets", [{"most": 365}]),
    ("select d.decision from decisions d join decisions e using (clause) where d.clause = '4.9'",
     [{"decision": "deny"}]),
    ("with x as (select upper(data) as t from definitions) select t from x order by t limit 1",
     [{"t": "BIOMETRIC TEMPLATES"}]),
    ("select data from definitions where data like 'p%' and data_class in ('public') union all "
     "select 'end' order by 1 limit 2", [{"data": "end"}, {"data": "press releases"}]),
    ("select case when max_days = '14' then 1 else 0 end as s from decisions order by s desc "
     "limit 1", [{"s": 1}]),
)  # fmt: skip


def _query(sql):
    pack = demo_pack()
    return run(PackTools(pack).call(pack.tools["sources_sql"], {"sql": sql}))


@pytest.mark.parametrize("sql", HOSTILE, ids=lambda s: s[:40] or "empty")
def test_guard_refuses(sql):
    """Anything but one plain SELECT over known tables."""
    with pytest.raises(ToolError):
        guarded(sql, {"tickets", "definitions"})


@pytest.mark.parametrize(("sql", "rows"), BENIGN, ids=range(len(BENIGN)))
def test_plain_questions_are_answered(sql, rows):
    """Aggregates, joins, CTEs, unions, casts and CASE over the pack's tables."""
    assert _query(sql) == {"rows": rows, "truncated": False}


def test_size_is_capped_in_characters_and_in_parts():
    """3,001 characters can hold 3,000 parts; the message says which cap was met."""
    with pytest.raises(ToolError, match="got a statement of over 2000 parts"):
        guarded("select 1" + "+1" * 1500, set())
    with pytest.raises(ToolError, match="got 4007 characters"):
        guarded("select " + "x" * 4000, set())


def test_deep_nesting_is_refused_not_raised(monkeypatch):
    """However deep the tree is, the outcome is a ToolError or SQL."""
    monkeypatch.setattr("logoslab.compile.sql_guard.MAX_NODES", 10**6)
    for sql in (
        "select 1" + "+1" * 1900,
        "select " + "- " * 1900 + "1",
        "select " + "not " * 900 + "1",
    ):
        try:
            assert guarded(sql, set()).startswith("SELECT")
        except ToolError:
            continue


def test_refusal_says_which_part():
    """The message names the table or function and what is allowed."""
    with pytest.raises(ToolError) as caught:
        guarded("select getenv('HOME')", set())
    assert str(caught.value) == (
        "sql: allowed one SELECT over the tool's own tables with plain functions; got function "
        "getenv. Rewrite the query without other statements, tables, files or functions."
    )


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_text('/etc/passwd')",
        "copy (select 1) to 'x.csv'",
        "attach 'x.db'",
        "set memory_limit = '8GB'",
        "set enable_external_access = true",
        "install httpfs",
        "select * from read_csv('http://127.0.0.1:9/')",
    ],
)
def test_connection_is_locked_even_without_the_guard(sql, monkeypatch):
    """The second layer alone: the database cannot reach files, the network or its own settings."""
    monkeypatch.setattr(bindings, "guarded", lambda text, _tables: text)
    with pytest.raises(ToolError, match=r"^sql: allowed a query that finishes in 5 s and 256 MB"):
        _query(sql)


def test_rows_are_limited_and_say_so():
    """200 of 320 rows come back, marked as truncated."""
    found = _query("select ticket_id from tickets")
    assert (len(found["rows"]), found["truncated"]) == (200, True)


def test_runaway_query_is_stopped(monkeypatch):
    """A join of 320⁴ rows is interrupted by the timer."""
    monkeypatch.setattr(bindings, "SQL_SECONDS", 0.3)
    with pytest.raises(ToolError, match="INTERRUPT"):
        _query(
            "select count(*) as n from tickets a, tickets b, tickets c, tickets d "
            "where a.vendor || b.vendor < c.vendor || d.vendor"
        )


def test_cells_are_bound_not_formatted():
    """A cell and a column name that look like SQL stay a cell and a name."""
    rows = [{'a"b': "'); drop table t; --"}]
    with duckdb.connect(":memory:") as connection:
        bindings._load(connection, 't"x', rows, ['a"b'])
        assert connection.execute('select * from "t""x"').fetchall() == [("'); drop table t; --",)]
