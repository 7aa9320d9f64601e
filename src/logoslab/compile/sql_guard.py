"""Allow-list for SQL that an agent writes: one SELECT over known tables, nothing else.

The first of two layers; the second is a DuckDB connection that cannot reach files or the network.
"""

from __future__ import annotations

from collections.abc import Collection

from logoslab.errors import ToolError

MAX_CHARACTERS = 4000
MAX_NODES = 2000

ALLOWED = """
    abs and array_agg avg between case cast ceil coalesce concat contains count count_if
    date_diff date_trunc day dense_rank extract floor greatest group_concat if ilike in initcap
    lag lead least length like lower ltrim max median min mod month not nullif or quantile rank
    regexp_extract regexp_like replace round row_number rtrim sign sqrt starts_with stddev
    str_position substring sum timestamp_trunc trim try_cast upper variance year
"""
FUNCTIONS = frozenset(ALLOWED.split())


def guarded(sql: str, tables: Collection[str]) -> str:
    """The statement re-rendered from its syntax tree, if it is one allowed SELECT.

    Raises
    ------
    ToolError
        For more than one statement, anything but a SELECT, unknown tables, table functions,
        functions outside the list, recursion, or a statement that is too long.
    """
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if len(sql) > MAX_CHARACTERS:
        raise _refused(f"{len(sql)} characters")
    try:
        statements = sqlglot.parse(sql, read="duckdb")
    except (SqlglotError, RecursionError, ValueError) as cause:
        raise _refused(str(cause).splitlines()[0]) from cause
    root = statements[0] if len(statements) == 1 else None
    if not isinstance(root, exp.Select | exp.SetOperation | exp.Subquery):
        raise _refused(sql)
    known = {name.casefold() for name in tables}
    known |= {cte.alias.casefold() for cte in root.find_all(exp.CTE)}
    for count, node in enumerate(root.walk()):
        if count > MAX_NODES:
            raise _refused(f"a statement of over {MAX_NODES} parts")
        _check(node, known)
    try:
        return root.sql(dialect="duckdb")
    except RecursionError as cause:
        raise _refused("a statement that is nested too deeply") from cause


def _check(node: object, known: Collection[str]) -> None:
    from sqlglot import exp

    if isinstance(node, exp.Table):
        plain = isinstance(node.this, exp.Identifier) and not node.db and not node.catalog
        if not plain or node.name.casefold() not in known:
            raise _refused(f"table {node.sql()}")
    elif isinstance(node, exp.Anonymous):
        raise _refused(f"function {node.name}")
    elif isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        if node.sql_name().casefold() not in FUNCTIONS:
            raise _refused(f"function {node.sql_name()}")
    elif isinstance(node, exp.With) and node.args.get("recursive"):
        raise _refused("WITH RECURSIVE")
    elif isinstance(node, exp.Into | exp.Command | exp.DDL | exp.DML):
        raise _refused(type(node).__name__)
    elif isinstance(node, exp.Parameter | exp.Placeholder | exp.SessionParameter):
        raise _refused("a parameter")


def _refused(got: str) -> ToolError:
    return ToolError(
        "sql",
        got=got,
        allowed="one SELECT over the tool's own tables with plain functions",
        next_step="Rewrite the query without other statements, tables, files or functions.",
    )
