"""The stub service behaves as its document says."""

from __future__ import annotations

import httpx
import pytest
import yaml

from logoslab.compile import StubService, read_document
from logoslab.compile.examples import NoExample, example
from logoslab.pack.schema import fits
from tests.compile.make import API, DEMO

BODY = {"decision": "deny", "residual_risk": "low", "clause": "4.1"}


def _service():
    return StubService(read_document(DEMO / "exceptions_api_v1.yaml"))


@pytest.fixture(scope="module")
def shared():
    """One service for requests that it refuses anyway."""
    with _service() as service:
        yield service


def _post(service, path, **options):
    return httpx.post(service.url + path, trust_env=False, timeout=10, **options)


def test_accepts_refuses_and_remembers():
    """A valid body is stored under its path arguments; refused bodies are calls, not state."""
    with _service() as service:
        assert service.name == "exceptions"
        path = "/exceptions/SEC-9/draft"
        answer = _post(service, path, json=BODY).json()
        assert answer == {"ticket_id": "SEC-9", "status": "draft", "draft": BODY}
        refused = _post(service, path, json=BODY | {"clause": "x", "extra": 1})
        assert refused.status_code == 422
        assert refused.json()["unexpected"] == ["extra"]
        assert refused.json()["missing"] == []
        assert refused.json()["invalid"] == {"clause": "'x' does not match '^[0-9]+[.][0-9]+$'"}
        assert service.accepted("draft_exception") == {"SEC-9": BODY}
        assert [call.status for call in service.calls] == [200, 422]
        service.clear()
        assert service.calls == []


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/exceptions/SEC-1/draft", b"{", 400),
        ("POST", "/exceptions/SEC-1/draft", b"[]", 422),
        ("POST", "/exceptions/SEC-1/draft", b"", 422),
        ("POST", "/exceptions/SEC-1/draft", b"x" * 1_000_001, 413),
        ("GET", "/exceptions/SEC-1/draft", b"", 404),
        ("POST", "/exceptions/a/b/draft", b"{}", 404),
        ("POST", "/nowhere", b"{}", 404),
    ],
)
def test_bad_requests(shared, method, path, content, status):
    """Broken JSON, no object, nothing, too much, wrong verb, wrong path."""
    url = shared.url + path
    answer = httpx.request(method, url, content=content, trust_env=False, timeout=10)
    assert answer.status_code == status
    assert "error" in answer.json()


def test_switch_changes_what_is_accepted_and_keeps_the_calls():
    """Drift: the body that was accepted is refused, its replacement accepted."""
    with _service() as service:
        path = "/exceptions/SEC-9/draft"
        key = {"Idempotency-Key": "k"}
        assert _post(service, path, json=BODY, headers=key).status_code == 200
        service.switch(read_document(DEMO / "exceptions_api_v2.yaml"))
        assert _post(service, path, json=BODY, headers=key).status_code == 422
        new = {"decision": "deny", "risk_rating": "low", "data_class": "public", "clause": "4.1"}
        assert _post(service, path, json=new).status_code == 200
        assert len(service.calls) == 3
        assert service.accepted("draft_exception") == {"SEC-9": new}


def test_listens_on_loopback_and_stops():
    """After the block nobody answers."""
    with StubService(yaml.safe_load(API)) as service:
        url = service.url
        assert url.startswith("http://127.0.0.1:")
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False, timeout=2)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 2,
         "items": {"type": "integer", "minimum": 5}}}},
        {"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}},
                   {"type": "object", "required": ["b"], "properties": {"b": {"enum": ["x"]}}}]},
        {"oneOf": [{"type": "boolean"}, {"type": "string"}]},
        {"type": ["string", "null"], "format": "date"},
        {"type": "string", "pattern": "^SEC-[0-9]{2,}$"},
        {"type": "string", "minLength": 30},
        {"type": "number", "maximum": -3},
        {"type": "null"},
        {},
    ],
)  # fmt: skip
def test_examples_fit_their_schema(schema):
    """Each is checked by the validator, so the helper cannot hand out a wrong one."""
    assert fits(example(schema), schema)


@pytest.mark.parametrize(
    "schema", [{"not": {}}, {"type": "string", "pattern": "^(?=b)a"}, {"type": 5}]
)
def test_no_example_is_said(schema):
    """What cannot be made is an error, not a guess."""
    with pytest.raises(NoExample, match="no example for"):
        example(schema)


def test_given_values_are_used_where_they_fit():
    """The answer repeats the path argument; one that does not fit is replaced."""
    schema = {
        "type": "object",
        "required": ["id", "n"],
        "properties": {"id": {"type": "string"}, "n": {"type": "integer"}},
    }
    assert example(schema, {"id": "A", "n": "many"}) == {"id": "A", "n": 1}


def test_optional_properties_appear_only_when_given():
    """An answer that echoes a body carries the fields that the body had."""
    echo = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    schema = {"type": "object", "required": ["sent"], "properties": {"sent": echo}}
    assert example(schema, {"a": "x"}) == {"sent": {"a": "x"}}
    assert example(schema) == {"sent": {}}
