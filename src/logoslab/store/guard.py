"""One read-only query, or a refusal. The first of two layers; the second is a locked, read-only
database connection, which alone would already keep every file and setting out of reach."""

from __future__ import annotations

from collections.abc import Set
from typing import TYPE_CHECKING

from logoslab.errors import QueryRefused

if TYPE_CHECKING:
    from sqlglot import exp

MAX_QUERY_CHARACTERS = 20_000

# Functions that sqlglot does not know by type. Everything it does know computes on values, except
# the file readers, which are refused as tables and do not exist as scalars.
_FUNCTION_PREFIXES = (
    "list_", "array_", "json_", "struct_", "map_", "string_", "regexp_", "regr_", "bit_",
    "approx_", "date", "epoch", "to_", "time", "year", "month", "week", "day", "hour", "minute",
)  # fmt: skip
_FUNCTIONS = frozenset({
    "entropy", "favg", "format", "fsum", "geomean", "histogram", "isfinite", "isinf", "isnan",
    "jaccard", "kahan_sum", "kurtosis", "kurtosis_pop", "levenshtein", "len", "mad", "max_by",
    "min_by", "mode", "printf", "product", "quantile", "sem", "skewness", "trim", "typeof",
})  # fmt: skip


def read_only(query: str, tables: Set[str], max_rows: int) -> str:
    """The query re-rendered from its syntax tree and capped at ``max_rows + 1`` rows.

    What runs is what was checked: a text that two parsers read differently is never passed on.

    Parameters
    ----------
    query : str
        DuckDB SQL; ``$name`` marks a parameter.
    tables : set of str
        The only tables it may name, beside its own CTEs.
    max_rows : int
        One row more is asked for, so that the caller can tell a full answer from a cut one.

    Raises
    ------
    QueryRefused
        For anything but one SELECT (or UNION…) over those tables with known functions.
    """
    from sqlglot import exp

    tree = _parsed(query)
    # Data changes can hide in a CTE, and SELECT … INTO parses as a plain SELECT.
    forbidden = (exp.DDL, exp.DML, exp.Command, exp.Describe, exp.Into, exp.Lock)
    for node in tree.walk():
        if isinstance(node, forbidden) and not isinstance(node, exp.Query):
            raise _refused(f"{node.key.upper()} inside a query")
    _check_tables(tree, tables)
    _check_functions(tree)
    return exp.select("*").from_(tree.subquery("answer")).limit(max_rows + 1).sql("duckdb")


def _parsed(query: str) -> exp.Query:
    """The syntax tree of exactly one query."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    if len(query) > MAX_QUERY_CHARACTERS:
        raise _refused(f"a text of {len(query)} characters")
    try:
        statements = sqlglot.parse(query, dialect="duckdb")
    except (SqlglotError, RecursionError) as cause:
        raise _refused(query) from cause
    tree = statements[0] if len(statements) == 1 else None
    if tree is None:
        raise _refused(f"{sum(s is not None for s in statements)} statements")
    if not isinstance(tree, exp.Query):
        raise _refused(query)
    return tree


def _check_tables(tree: exp.Query, tables: Set[str]) -> None:
    from sqlglot import exp

    known = {*tables, *(cte.alias.lower() for cte in tree.find_all(exp.CTE))}
    for table in tree.find_all(exp.Table):
        plain = isinstance(table.this, exp.Identifier) and not table.db
        if not plain or table.name.lower() not in known:
            raise _refused(f"the table {table.sql('duckdb')}")


def _check_functions(tree: exp.Query) -> None:
    from sqlglot import exp

    for call in tree.find_all(exp.Anonymous):
        name = call.name.lower()
        if name not in _FUNCTIONS and not name.startswith(_FUNCTION_PREFIXES):
            raise _refused(f"the function {name}")


def _refused(got: str) -> QueryRefused:
    return QueryRefused(
        "sql",
        got=got,
        allowed="exactly one SELECT over the tables events and calls, with ordinary functions",
        next_step="Ask with one SELECT; to do more, open a copy of traces.duckdb in DuckDB.",
    )
