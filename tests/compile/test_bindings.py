"""Tool bodies: lookups, HTTP, refusals. Results are checked as well as arguments."""

from __future__ import annotations

import pickle
import time

import httpx
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from logoslab.compile import PackTools, ServiceRefused, StubService, read_document
from logoslab.compile.bindings import coerced
from logoslab.errors import ToolError
from logoslab.pack.agent_pack import build_pack
from logoslab.pack.tool import EffectClass, HumanBinding, RestBinding, TableBinding, ToolSpec
from tests.compile.make import API, DEMO, demo_pack, run

DRAFT = {"ticket_id": "SEC-1", "decision": "deny", "residual_risk": "high", "clause": "4.7"}


def _table_tool(keys, columns=("a", "b", "c"), **changes):
    text = {"type": ["string", "number"]}
    fields = {
        "name": "t_lookup",
        "description": "d",
        "input_schema": {
            "type": "object",
            "properties": dict.fromkeys(keys, text),
            "required": list(keys),
            "additionalProperties": False,
        },
        "output_schema": {"type": "object", "required": list(columns)},
        "binding": TableBinding(source="sources/t.csv", columns=columns, keys=keys),
    }
    return ToolSpec(**(fields | changes))


def _look_up(table, keys, arguments, **changes):
    tools = PackTools(build_pack("p", {"sources/t.csv": table}))
    return run(tools.call(_table_tool(keys, **changes), arguments))


TABLE = "a,b,c\nlow,30,x\nlow,90,\nhigh,90,z\n"


@pytest.mark.parametrize(
    ("keys", "arguments", "row"),
    [
        ({"a": "equals"}, {"a": " LOW "}, ("low", "30", "x")),
        ({"a": "equals", "b": "at_most"}, {"a": "low", "b": 30}, ("low", "30", "x")),
        ({"a": "equals", "b": "at_most"}, {"a": "low", "b": "31 days"}, ("low", "90", None)),
        ({"a": "contained_in"}, {"a": "a High wall"}, ("high", "90", "z")),
        ({"b": "equals"}, {"b": 90}, ("low", "90", None)),
    ],
)
def test_first_matching_row_wins(keys, arguments, row):
    """By hand on three rows: equality ignores case and space, bounds are inclusive."""
    assert _look_up(TABLE, keys, arguments) == dict(zip("abc", row, strict=True))


@pytest.mark.parametrize(
    ("keys", "arguments"),
    [
        ({"a": "equals"}, {"a": "lo"}),
        ({"a": "equals"}, {"a": "below"}),
        ({"a": "contained_in"}, {"a": "lo"}),
        ({"b": "at_most"}, {"b": "91"}),
        ({"b": "at_most"}, {"b": "soon"}),
        ({"c": "contained_in"}, {"c": ""}),
    ],
)
def test_no_row_is_a_tool_error(keys, arguments):
    """A lookup that finds nothing never returns an empty row."""
    with pytest.raises(ToolError) as caught:
        _look_up(TABLE, keys, arguments)
    assert str(caught.value) == (
        f"tool t_lookup: allowed arguments that select a row of sources/t.csv; got {arguments!r}. "
        "Check the arguments, or ask a person."
    )


@pytest.mark.parametrize(
    ("arguments", "flaw"),
    [({}, "$: 'a' is a required property"), ({"a": "low", "z": 1}, "$: Additional properties")],
)
def test_arguments_are_checked_before_the_call(arguments, flaw):
    """Missing and unknown arguments never reach the body."""
    with pytest.raises(ToolError) as caught:
        _look_up(TABLE, {"a": "equals"}, arguments)
    assert str(caught.value).startswith(
        f"arguments of tool t_lookup: allowed what the tool's schema says; got {flaw}"
    )


def test_result_is_checked_after_the_call():
    """A table that lost a column breaks the output schema instead of passing silently."""
    schema = {"type": "object", "properties": {"c": {"type": "string", "minLength": 2}}}
    with pytest.raises(ToolError, match=r"^result of tool t_lookup: .*'x' is too short"):
        _look_up(TABLE, {"a": "equals"}, {"a": "low"}, output_schema=schema)


def test_missing_table_says_what_to_do():
    """A pack without the CSV file fails with its name."""
    with pytest.raises(ToolError) as caught:
        run(PackTools(build_pack("p", {"x": ""})).call(_table_tool({"a": "equals"}), {"a": "1"}))
    assert str(caught.value) == (
        "table sources/t.csv: allowed a CSV file that the pack ships; got no such file in the "
        "pack. Compile the pack again from its sources."
    )


@settings(max_examples=25, deadline=None)
@given(term=st.text(min_size=1, max_size=12).filter(lambda t: t.strip() == t and t.isalnum()))
def test_a_term_is_found_in_any_text_around_it(term):
    """contained_in: whatever stands before and after."""
    row = _look_up(f"a,b\n{term},1\n", {"a": "contained_in"}, {"a": f"x {term}y"}, columns=("a",))
    assert row == {"a": term}


@pytest.mark.parametrize("schema", [{"$ref": "file:///etc/passwd"}, {"$ref": "http://127.0.0.1:9/"},
                                    {"$ref": "#"}, {"type": 5}])  # fmt: skip
def test_schema_references_are_never_followed(schema, monkeypatch):
    """A candidate's tool schema can point anywhere; the call fails and opens nothing."""

    fetched = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *asked, **_: fetched.append(asked))
    with pytest.raises(ToolError) as caught:
        _look_up(TABLE, {"a": "equals"}, {"a": "low"}, output_schema=schema)
    assert str(caught.value).startswith("result of tool t_lookup: allowed JSON Schema 2020-12")
    assert fetched == []


def test_draft_reaches_the_service_with_an_idempotency_key():
    """The body is what the binding maps; the same call has the same key, another call another."""
    pack = demo_pack()
    with StubService(read_document(DEMO / "exceptions_api_v1.yaml")) as service:
        tools = PackTools(pack, {"exceptions": service.url})
        draft = pack.tools["draft_exception"]
        for arguments in (DRAFT, DRAFT, DRAFT | {"clause": "4.6"}):
            answer = run(tools.call(draft, arguments))
            body = {k: v for k, v in arguments.items() if k != "ticket_id"}
            assert answer == {"ticket_id": "SEC-1", "status": "draft", "draft": body}
        keys = [call.key for call in service.calls]
        assert keys[0] == keys[1] != keys[2]
        assert [call.replayed for call in service.calls] == [False, True, False]
        assert service.accepted("draft_exception") == {
            "SEC-1": {"decision": "deny", "residual_risk": "high", "clause": "4.6"}
        }


def test_drifted_service_refuses_and_the_error_carries_its_body():
    """The observation a repair is made from: missing, unexpected, and schemas of what it wants."""
    pack = demo_pack()
    with StubService(read_document(DEMO / "exceptions_api_v1.yaml")) as service:
        service.switch(read_document(DEMO / "exceptions_api_v2.yaml"))
        tools = PackTools(pack, {"exceptions": service.url})
        with pytest.raises(ServiceRefused) as caught:
            run(tools.call(pack.tools["draft_exception"], DRAFT))
        assert service.accepted("draft_exception") == {}
    error = pickle.loads(pickle.dumps(caught.value))
    assert error.status == 422
    assert {k: error.body[k] for k in ("error", "missing", "unexpected", "invalid")} == {
        "error": "schema",
        "missing": ["risk_rating", "data_class"],
        "unexpected": ["residual_risk"],
        "invalid": {},
    }
    assert set(error.body["expected"]) == {"decision", "risk_rating", "data_class", "clause"}
    assert error.body["expected"]["data_class"]["enum"] == [
        "confidential", "internal", "public", "restricted",
    ]  # fmt: skip


def _rest_tool(**changes):
    fields = {
        "name": "go",
        "description": "d",
        "input_schema": {"type": "object"},
        "output_schema": {},
        "network": "declared_hosts",
        "effect": EffectClass.READ_ONLY,
        "binding": RestBinding(service="s", method="GET", path="/a/{x}", path_arguments=("x",)),
    }
    return ToolSpec(**(fields | changes))


@pytest.mark.parametrize(
    ("network", "base", "hosts"),
    [
        ("loopback", "http://example.org", ("example.org",)),
        ("declared_hosts", "http://example.org", ()),
        ("declared_hosts", "http://example.org@evil.test", ("example.org",)),
        ("declared_hosts", "http://127.0.0.1.evil.test", ()),
        ("none", "http://127.0.0.1:9", ()),
    ],
)
def test_only_declared_hosts_are_reached(network, base, hosts, monkeypatch):
    """The host is compared as a whole, before any connection is made."""

    def forbidden(*_args, **_kwargs):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("httpx.AsyncClient.stream", forbidden)
    tools = PackTools(build_pack("p", {"x": ""}), {"s": base}, hosts=hosts)
    with pytest.raises(ToolError, match=r"Give the lab an endpoint for the service on an allowed"):
        run(tools.call(_rest_tool(network=network), {"x": "1"}))


def test_service_without_endpoint_and_service_that_is_down():
    """Both name the service and what to do."""
    pack = build_pack("p", {"x": ""})
    with pytest.raises(ToolError) as absent:
        run(PackTools(pack).call(_rest_tool(), {"x": "1"}))
    assert str(absent.value) == (
        "tool go: allowed network declared_hosts: 127.0.0.1, localhost, ::1; got service s at no "
        "address. Give the lab an endpoint for the service on an allowed host."
    )
    with pytest.raises(
        ToolError, match=r"^tool go: allowed an answer of service s within 10 s; got Conn"
    ):
        run(PackTools(pack, {"s": "http://127.0.0.1:1"}).call(_rest_tool(), {"x": "1"}))


@pytest.mark.parametrize(
    ("value", "reached"),
    [("a/b", "/a/a%2Fb"), ("..", None), (".", None), ("", None), ("a?b#c", "/a/a%3Fb%23c")],
)
def test_path_arguments_cannot_change_the_path(value, reached, monkeypatch):
    """Separators are escaped; dots alone are refused."""
    seen = []

    def stream(_client, _method, url, **_rest):
        seen.append(url)
        raise httpx.ConnectError("stop here")

    monkeypatch.setattr(httpx.AsyncClient, "stream", stream)
    tools = PackTools(build_pack("p", {"x": ""}), {"s": "http://127.0.0.1:9/"})
    with pytest.raises(ToolError):
        run(tools.call(_rest_tool(), {"x": value}))
    assert seen == ([f"http://127.0.0.1:9{reached}"] if reached else [])


def test_credential_goes_into_one_header_and_no_message():
    """A tool with ``auth`` asks for the value by name; without a resolver it fails closed."""
    document = yaml.safe_load(API)
    secret = "canary-7f3a"
    spec = _rest_tool(
        auth="orders_key",
        binding=RestBinding(
            service="orders", method="POST", path="/orders/{x}/none", path_arguments=("x",)
        ),
    )
    pack = build_pack("p", {"x": ""})
    with StubService(document) as service:
        endpoints = {"orders": service.url}
        with pytest.raises(ToolError, match="no value for credential orders_key"):
            run(PackTools(pack, endpoints).call(spec, {"x": "1"}))
        with pytest.raises(ServiceRefused) as caught:
            run(PackTools(pack, endpoints, lambda _name: secret).call(spec, {"x": "1"}))
    assert caught.value.status == 404
    assert secret not in str(caught.value)


def test_redirects_are_not_followed(monkeypatch):
    """A 3xx answer is an error, wherever it points."""
    with StubService(yaml.safe_load(API)) as service:
        monkeypatch.setattr(service, "answer", lambda *_: (302, {"error": "moved"}))
        tools = PackTools(build_pack("p", {"x": ""}), {"s": service.url})
        with pytest.raises(ServiceRefused) as caught:
            run(tools.call(_rest_tool(), {"x": "1"}))
    assert caught.value.status == 302


def test_answers_are_bounded_in_size_and_time(monkeypatch):
    """A body over the limit breaks the output schema; a silent service ends in a ToolError."""
    monkeypatch.setattr("logoslab.compile.bindings.MAX_RESPONSE", 20)
    monkeypatch.setattr("logoslab.compile.bindings.HTTP_SECONDS", 0.3)
    tools = PackTools(build_pack("p", {"x": ""}), {"s": "http://127.0.0.1:1"})
    with StubService(yaml.safe_load(API)) as service:
        tools.endpoints["s"] = service.url
        monkeypatch.setattr(service, "answer", lambda *_: (200, {"a": "x" * 50}))
        with pytest.raises(ToolError, match="'a body of over 20 bytes' is not of type 'object'"):
            run(tools.call(_rest_tool(output_schema={"type": "object"}), {"x": "1"}))
        monkeypatch.setattr(service, "answer", lambda *_: time.sleep(1) or (200, {}))
        with pytest.raises(ToolError, match=r"got (ReadTimeout|TimeoutError)\."):
            run(tools.call(_rest_tool(), {"x": "1"}))


def test_person_is_not_a_program():
    """A human tool cannot be run here."""
    spec = _rest_tool(binding=HumanBinding())
    with pytest.raises(ToolError) as caught:
        run(PackTools(build_pack("p", {"x": ""})).call(spec, {}))
    assert str(caught.value) == (
        "tool go: allowed an answer from a person, through the human room; got a call from a "
        "program. Put the question in the plan as a human step."
    )


def test_cells_become_numbers_where_the_schema_asks():
    """Texts stay texts elsewhere; a text without a number stays and fails its schema."""
    schema = {"properties": {"n": {"type": "integer"}, "f": {"type": "number"}, "s": {}}}
    given_ = {"n": "90 days", "f": "2.5", "s": "7", "m": "8"}
    assert coerced(dict(given_), schema) == {"n": 90, "f": 2.5, "s": "7", "m": "8"}
    assert coerced({"n": "soon"}, schema) == {"n": "soon"}
