"""The bodies of tools: tables, guarded SQL, HTTP. Never decides whether a tool may run.

Table lookups ignore case and outer space and read numbers out of texts (``"90 days"`` is 90).
Everything else about messy cells (defaults, spelling of allowed values) is settled once, when the
pack is compiled.
"""

from __future__ import annotations

import csv
import io
import json
import ssl
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

from logoslab.compile.sql_guard import guarded
from logoslab.compile.tables import number
from logoslab.errors import InvalidValue, ToolError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.base import digest
from logoslab.pack.schema import first_flaw
from logoslab.pack.tool import RestBinding, Schema, SqlBinding, TableBinding, ToolSpec

SQL_SECONDS = 5.0
SQL_LIMITS: dict[str, Any] = {
    "threads": 1, "memory_limit": "256MB", "max_temp_directory_size": "0B",
}  # fmt: skip
HTTP_SECONDS = 10.0
MAX_RESPONSE = 1_000_000
LOOPBACK = ("127.0.0.1", "localhost", "::1")

Row = dict[str, str | None]


class ServiceRefused(ToolError):
    """A service answered with an error.

    Attributes
    ----------
    status : int
    body : JSON value
        The parsed error body, for the trace; the raw text (shortened) when it is not JSON.
    """

    status: int = 0
    body: Any = None

    @classmethod
    def of(cls, tool: str, status: int, body: Any, recovery: str) -> ServiceRefused:
        """The error for one response."""
        error = cls(
            f"tool {tool}",
            got=f"HTTP {status} {body!r}",
            allowed="a 2xx answer that fits the tool's output schema",
            next_step=recovery or "Compare the arguments with the service's description.",
        )
        error.status, error.body = status, body
        return error

    def __reduce__(self) -> tuple[object, ...]:
        rebuild, arguments = super().__reduce__()[:2]
        return rebuild, arguments, {"status": self.status, "body": self.body}


class PackTools:
    """Runs the tools of one pack (``ports.ToolRunner``).

    Parameters
    ----------
    pack : AgentPack
        Its tables are what lookups and SQL read.
    endpoints : mapping
        Service name → base URL. A pack holds names only.
    credentials : callable, optional
        Credential name → value, asked at call time. The value goes into one header and nowhere
        else.
    hosts : sequence of str
        Hosts that tools with declared hosts may reach, besides loopback.
    """

    def __init__(
        self,
        pack: AgentPack,
        endpoints: Mapping[str, str] | None = None,
        credentials: Callable[[str], str] | None = None,
        *,
        hosts: Sequence[str] = (),
    ) -> None:
        self.pack, self.endpoints, self.credentials = pack, dict(endpoints or {}), credentials
        self.hosts = tuple(hosts)
        self._tables: dict[str, list[Row]] = {}

    async def call(self, spec: ToolSpec, arguments: Mapping[str, Any]) -> Any:
        """The result, valid under ``spec.output_schema``.

        Raises
        ------
        ToolError
            Arguments or result break their schema, no row fits, a statement is refused, a limit
            is reached. :class:`ServiceRefused` when a service answered with an error.
        """
        given = coerced(dict(arguments), spec.input_schema)
        _validate(given, spec.input_schema, f"arguments of tool {spec.name}", spec.recovery)
        _require_bound(spec, given)
        result = await self._run(spec, given)
        _validate(result, spec.output_schema, f"result of tool {spec.name}", spec.recovery)
        return result

    async def _run(self, spec: ToolSpec, arguments: dict[str, Any]) -> Any:
        binding = spec.binding
        if isinstance(binding, TableBinding):
            return self._look_up(spec.name, binding, arguments, spec.recovery)
        if isinstance(binding, SqlBinding):
            import anyio

            return await anyio.to_thread.run_sync(self._query, binding, str(arguments["sql"]))
        if isinstance(binding, RestBinding):
            return await self._request(spec, binding, arguments)
        raise ToolError(
            f"tool {spec.name}",
            got="a call from a program",
            allowed="an answer from a person, through the human room",
            next_step="Put the question in the plan as a human step.",
        )

    # ------------------------------------------------------------------ tables
    def rows(self, source: str) -> list[Row]:
        """The rows of one CSV file of the pack; an empty cell is None."""
        if source not in self._tables:
            if source not in self.pack.files:
                raise ToolError(
                    f"table {source}",
                    got="no such file in the pack",
                    allowed="a CSV file that the pack ships",
                    next_step="Compile the pack again from its sources.",
                )
            reader = csv.DictReader(io.StringIO(self.pack.files[source], newline=""))
            self._tables[source] = [{k: v or None for k, v in row.items()} for row in reader]
        return self._tables[source]

    def _look_up(
        self, name: str, binding: TableBinding, arguments: dict[str, Any], recovery: str
    ) -> Row:
        for row in self.rows(binding.source):
            if all(_selects(m, row.get(k), arguments[k]) for k, m in binding.keys.items()):
                return {c: row.get(c) for c in binding.columns}
        raise ToolError(
            f"tool {name}",
            got=arguments,
            allowed=f"arguments that select a row of {binding.source}",
            next_step=recovery or "Check the arguments, or ask a person.",
        )

    # ------------------------------------------------------------------ SQL
    def _query(self, binding: SqlBinding, sql: str) -> dict[str, Any]:
        import duckdb

        statement = guarded(sql, binding.tables)
        connection = duckdb.connect(":memory:", config=SQL_LIMITS)
        timer = threading.Timer(SQL_SECONDS, connection.interrupt)
        try:
            for table, source in binding.tables.items():
                _load(connection, table, self.rows(source), self._header(source))
            for setting in (
                "autoinstall_known_extensions=false",
                "autoload_known_extensions=false",
                "enable_external_access=false",
                "lock_configuration=true",
            ):
                connection.execute(f"SET {setting}")
            timer.start()
            found = connection.execute(statement)
            names = [str(column[0]) for column in found.description or []]
            rows = found.fetchmany(binding.max_rows + 1)
        except duckdb.Error as cause:
            raise ToolError(
                "sql",
                got=str(cause).splitlines()[0],
                allowed=f"a query that finishes in {SQL_SECONDS:g} s and 256 MB",
                next_step="Correct the column names, or ask for less.",
            ) from cause
        finally:
            timer.cancel()
            connection.close()
        plain = [{n: _plain(v) for n, v in zip(names, row, strict=True)} for row in rows]
        return {"rows": plain[: binding.max_rows], "truncated": len(plain) > binding.max_rows}

    def _header(self, source: str) -> list[str]:
        return next(csv.reader(io.StringIO(self.pack.files[source], newline="")))

    # ------------------------------------------------------------------ HTTP
    async def _request(
        self, spec: ToolSpec, binding: RestBinding, arguments: dict[str, Any]
    ) -> Any:
        url, headers = self._url(spec, binding, arguments), {"Accept": "application/json"}
        if spec.idempotency == "key":
            headers["Idempotency-Key"] = digest({"tool": spec.name, "arguments": arguments})[7:]
        if spec.auth:
            headers["Authorization"] = f"Bearer {self._credential(spec)}"
        query = {q: arguments[a] for q, a in binding.query.items() if a in arguments}
        body = {f: arguments[a] for f, a in binding.body.items() if a in arguments}
        status, content = await _exchange(
            spec, binding, url, headers, query or None, body if binding.body else None
        )
        answer = _parsed(content)
        if not 200 <= status < 300:
            raise ServiceRefused.of(spec.name, status, answer, spec.recovery)
        return answer

    def _url(self, spec: ToolSpec, binding: RestBinding, arguments: dict[str, Any]) -> str:
        from urllib.parse import quote, urlsplit

        base = self.endpoints.get(binding.service)
        host = urlsplit(base).hostname if base else None
        allowed = LOOPBACK if spec.network == "loopback" else (*LOOPBACK, *self.hosts)
        if base is None or host not in allowed or spec.network == "none":
            raise ToolError(
                f"tool {spec.name}",
                got=f"service {binding.service} at {host or 'no address'}",
                allowed=f"network {spec.network}: {', '.join(allowed)}",
                next_step="Give the lab an endpoint for the service on an allowed host.",
            )
        path = binding.path
        for name in binding.path_arguments:
            part = quote(str(arguments[name]), safe="")
            if part.strip(".") == "":  # "", "." and ".." would change the path
                raise ToolError(
                    f"tool {spec.name}",
                    got=f"{name}={arguments[name]!r}",
                    allowed="a path argument with a character other than a dot",
                    next_step="Give the identifier of the case.",
                )
            path = path.replace("{" + name + "}", part)
        return base.rstrip("/") + path

    def _credential(self, spec: ToolSpec) -> str:
        if self.credentials is None or spec.auth is None:
            raise ToolError(
                f"tool {spec.name}",
                got=f"no value for credential {spec.auth}",
                allowed="a credential that the lab resolves at call time",
                next_step="Name the credential in the root policy and set its value.",
            )
        return self.credentials(spec.auth)


async def _exchange(
    spec: ToolSpec,
    binding: RestBinding,
    url: str,
    headers: dict[str, str],
    query: dict[str, Any] | None,
    body: dict[str, Any] | None,
) -> tuple[int, bytes]:
    """Status and at most ``MAX_RESPONSE`` + 1 bytes of the answer, in bounded time."""
    import anyio
    import httpx

    content = b""
    try:
        # Proxies and netrc of the environment are not part of the pack's declared network.
        async with httpx.AsyncClient(
            timeout=HTTP_SECONDS, follow_redirects=False, trust_env=False, verify=_trust()
        ) as client:
            with anyio.fail_after(HTTP_SECONDS):
                async with client.stream(
                    binding.method, url, params=query, json=body, headers=headers
                ) as response:
                    async for chunk in response.aiter_bytes():
                        content += chunk
                        if len(content) > MAX_RESPONSE:
                            break
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as cause:
        raise ToolError(
            f"tool {spec.name}",
            got=type(cause).__name__,
            allowed=f"an answer of service {binding.service} within {HTTP_SECONDS:g} s",
            next_step="Check that the service runs; calling again with the same arguments "
            "is safe when the tool declares an idempotency key.",
        ) from cause
    return response.status_code, content[: MAX_RESPONSE + 1]


def coerced(arguments: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Cells are text: a text that is a number becomes one where the schema asks for a number."""
    properties = schema.get("properties")
    for name, value in arguments.items():
        wanted = properties.get(name) if isinstance(properties, dict) else None
        kind = wanted.get("type") if isinstance(wanted, dict) else None
        if isinstance(value, str) and kind in ("integer", "number"):
            found = number(value) if value.strip() else None
            if found is not None:
                whole = kind == "integer" and found.is_integer()
                arguments[name] = int(found) if whole else found
    return arguments


def _require_bound(spec: ToolSpec, given: Mapping[str, Any]) -> None:
    """Keys of a table and parts of a path cannot be left out, whatever the schema says."""
    binding = spec.binding
    needed: Collection[str] = ()
    if isinstance(binding, TableBinding):
        needed = binding.keys
    elif isinstance(binding, RestBinding):
        needed = binding.path_arguments
    absent = sorted(set(needed) - set(given))
    if absent:
        raise ToolError(
            f"arguments of tool {spec.name}",
            got=f"no {', '.join(absent)}",
            allowed="every argument that selects a row or fills the path",
            next_step="Pass it, or make it required in the tool's input_schema.",
        )


def _selects(match: str, cell: str | None, argument: Any) -> bool:
    if cell is None:
        return False
    term, said = cell.strip().casefold(), str(argument).strip().casefold()
    if match == "equals":
        return term == said
    if match == "contained_in":
        return bool(term) and term in said
    most, asked = number(cell), number(argument)
    return most is not None and asked is not None and asked <= most


def _validate(value: Any, schema: Schema, which: str, recovery: str) -> None:
    try:
        wrong = first_flaw(value, schema)
    except InvalidValue as cause:
        raise ToolError(
            which,
            got=f"a schema that cannot be used: {cause.got}",
            allowed=cause.allowed,
            next_step="Correct the tool's schema with a candidate patch.",
        ) from cause
    if wrong is not None:
        raise ToolError(
            which,
            got=wrong,
            allowed="what the tool's schema says",
            next_step=recovery or "Correct the value.",
        )


@lru_cache(maxsize=1)
def _trust() -> ssl.SSLContext:
    """One set of certificate authorities for all calls: loading it takes longer than a call."""
    return ssl.create_default_context()


def _load(connection: Any, table: str, rows: Sequence[Row], header: Sequence[str]) -> None:
    """A table of text columns. Names are quoted; cells are bound, never formatted in."""
    quoted = ", ".join(f"{_quote(name)} VARCHAR" for name in header)
    connection.execute(f"CREATE TABLE {_quote(table)} ({quoted})")
    if rows:
        marks = ", ".join("?" for _ in header)
        cells = [[row.get(name) for name in header] for row in rows]
        connection.executemany(f"INSERT INTO {_quote(table)} VALUES ({marks})", cells)


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _parsed(content: bytes) -> Any:
    if len(content) > MAX_RESPONSE:
        return f"a body of over {MAX_RESPONSE} bytes"
    try:
        return json.loads(content) if content else None
    except (ValueError, RecursionError):
        return content[:2000].decode("utf-8", "replace")
