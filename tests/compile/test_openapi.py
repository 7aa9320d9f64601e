"""OpenAPI: effects, bindings, and references that are never followed outside."""

from __future__ import annotations

import pytest
import yaml

from logoslab.compile import read_document
from logoslab.compile.ingest import ingest
from logoslab.compile.ingest.openapi import OpenApiAdapter
from logoslab.compile.ingest.references import ReferenceProblem, lookup, modern, parse, resolve
from logoslab.errors import SourceError
from tests.compile.make import API, DEMO


def _read(tmp_path, text):
    path = tmp_path / "api.yaml"
    path.write_text(text)
    return OpenApiAdapter().read(path)


def _with(change):
    document = yaml.safe_load(API)
    change(document["paths"]["/orders/{order_id}/note"])
    return yaml.safe_dump(document)


def test_operation_becomes_a_tool():
    """The demo's draft operation: verb → effect, path and body → binding, 422 → error schema."""
    tools = {t.name: t for t in ingest([DEMO / "exceptions_api_v1.yaml"])[0].tools}
    assert {n: t.effect.value for n, t in tools.items()} == {
        "draft_exception": "transactional_write",
        "submit_exception": "external_side_effect",
        "get_exception": "read_only",
    }
    draft = tools["draft_exception"]
    assert draft.binding.model_dump() == {
        "kind": "rest",
        "service": "exceptions",
        "method": "POST",
        "path": "/exceptions/{ticket_id}/draft",
        "path_arguments": ("ticket_id",),
        "query": {},
        "body": {"decision": "decision", "residual_risk": "residual_risk", "clause": "clause"},
    }
    assert draft.input_schema["required"] == ["ticket_id", "decision", "residual_risk", "clause"]
    assert draft.input_schema["additionalProperties"] is False
    assert (draft.network, draft.idempotency) == ("loopback", "key")
    assert tools["get_exception"].idempotency == "safe"
    assert "missing" in draft.error_schema["properties"]


def test_drift_renames_one_field_and_requires_one_more():
    """v2 differs from v1 exactly by residual_risk → risk_rating and a new data_class."""
    old, new = (
        {t.name: t for t in ingest([DEMO / f"exceptions_api_v{v}.yaml"])[0].tools}[
            "draft_exception"
        ]
        for v in (1, 2)
    )
    assert set(old.binding.body) - set(new.binding.body) == {"residual_risk"}
    assert set(new.binding.body) - set(old.binding.body) == {"risk_rating", "data_class"}
    assert "data_class" in new.input_schema["required"]
    assert old.binding.service == new.binding.service


@pytest.mark.parametrize(
    ("declared", "effect", "codes"),
    [
        ("external_side_effect", "external_side_effect", []),
        ("destructive", "destructive", []),
        ("read_only", "transactional_write", ["effect_lowered"]),
        ("harmless", "transactional_write", ["effect_lowered"]),
    ],
)
def test_x_effect_may_only_raise_the_class(tmp_path, declared, effect, codes):
    """A description cannot talk a write down to a read."""
    text = _with(lambda item: item["post"].update({"x-effect": declared}))
    reading = _read(tmp_path, text)
    assert reading.tools[0].effect.value == effect
    assert [d.code for d in reading.diagnostics] == codes


@pytest.mark.parametrize(
    ("ref", "code", "message"),
    [
        ("file:///etc/passwd", "remote_ref", "api.yaml: remote ref: 'file:///etc/passwd'"),
        ("http://127.0.0.1:1/x", "remote_ref", "api.yaml: remote ref: 'http://127.0.0.1:1/x'"),
        ("other.yaml#/a", "remote_ref", "api.yaml: remote ref: 'other.yaml#/a'"),
        ("#/components/none", "dangling_ref", "api.yaml: dangling ref: '#/components/none'"),
    ],
)
def test_references_that_leave_or_dangle_are_refused(tmp_path, monkeypatch, ref, code, message):
    """They become diagnostics, the document gives no tool, and nothing is opened or fetched."""
    text = _with(lambda item: item["post"]["requestBody"].update({"$ref": ref}))
    path = tmp_path / "api.yaml"
    path.write_text(text)

    opened = []
    monkeypatch.setattr("urllib.request.urlopen", lambda *asked, **_: opened.append(asked))
    monkeypatch.setattr("socket.socket.connect", lambda *asked: opened.append(asked))
    reading = OpenApiAdapter().read(path)
    assert opened == []
    assert reading.tools == ()
    assert reading.artefacts == ()
    assert [(d.code, d.message) for d in reading.diagnostics] == [(code, message)]


def test_cycle_costs_only_the_operation_that_uses_it(tmp_path):
    """A recursive schema cannot be written out; the other operations stay."""
    document = yaml.safe_load(API)
    document["components"] = {
        "schemas": {"Node": {"properties": {"next": {"$ref": "#/components/schemas/Node"}}}}
    }
    node = {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}
    document["paths"]["/nodes"] = {"post": {"requestBody": {"content": node}}}
    reading = _read(tmp_path, yaml.safe_dump(document))
    assert [t.name for t in reading.tools] == ["addnote"]
    assert [d.message for d in reading.diagnostics] == [
        "POST /nodes: cyclic ref: '#/components/schemas/Node'"
    ]


def test_alias_bomb_and_deep_nesting_are_refused():
    """Nine levels of nine aliases would be 9⁹ nodes; it is refused, not written out."""
    bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 9)
    )
    for text in (bomb, "[" * 5000, "&a [*a]", "{" * 300):
        with pytest.raises(ValueError):
            parse(text)


def test_resolver_follows_escapes_and_marks_cycles():
    """``~1`` is a slash and ``~0`` a tilde in a pointer (RFC 6901)."""
    document = {"a/b": {"~": [1, {"$ref": "#/x"}]}, "x": 5, "loop": {"$ref": "#/loop"}}
    assert lookup(document, "#/a~1b/~0/0") == 1
    assert resolve(document, document["a/b"]) == {"~": [1, 5]}
    with pytest.raises(ReferenceProblem, match="cyclic ref: '#/loop'"):
        resolve(document, document["loop"])


def test_modern_writes_3_0_schemas_as_json_schema():
    """``nullable`` and boolean exclusive bounds are OpenAPI 3.0's own words."""
    old = {"type": "string", "nullable": True, "enum": ["a"]}
    assert modern(old) == {"type": ["string", "null"], "enum": ["a", None]}
    assert modern({"minimum": 1, "exclusiveMinimum": True}) == {"exclusiveMinimum": 1}
    assert modern({"minimum": 1, "exclusiveMinimum": False}) == {"minimum": 1}


def test_read_document_says_why_not(tmp_path):
    """The error carries the diagnostic's own words."""
    path = tmp_path / "api.yaml"
    path.write_text("openapi: 2.0")
    with pytest.raises(SourceError) as caught:
        read_document(path)
    assert str(caught.value) == (
        "API description api.yaml: allowed an OpenAPI 3 document with '#/' references only; got "
        "api.yaml: not an OpenAPI 3 document with info and paths (openapi is '2.0'). "
        "Give an OpenAPI 3.0 or 3.1 description; convert 2.0 first."
    )
