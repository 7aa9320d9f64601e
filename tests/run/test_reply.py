"""Bounds before decoding, checks after."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import InvalidValue, ModelReplyInvalid
from logoslab.run.models.reply import bounded, parse_reply

TEXT = {"type": "string"}
OBJECT = {"type": "object", "properties": {"data": TEXT}, "required": ["data"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {"type": "string", "maxLength": 120}),
        ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 5}),
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "pattern": "^a$"}, {"type": "string", "pattern": "^a$"}),
        ({"type": "integer"}, {"type": "integer", "minimum": -(10**9), "maximum": 10**9}),
        (
            {"type": "integer", "exclusiveMinimum": 0},
            {"type": "integer", "exclusiveMinimum": 0, "maximum": 10**9},
        ),
        (
            {"type": "array", "items": {"type": "string"}},
            {"type": "array", "items": {"type": "string", "maxLength": 120}, "maxItems": 16},
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string", "maxLength": 120}, {"type": "null"}]},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}},
            {
                "type": "object",
                "properties": {"a": {"type": "string", "maxLength": 120}},
                "additionalProperties": False,
            },
        ),
        (
            {"$ref": "#/$defs/n", "$defs": {"n": {"type": "string"}}},
            {"$ref": "#/$defs/n", "$defs": {"n": {"type": "string", "maxLength": 120}}},
        ),
    ],
)
def test_every_open_branch_gets_an_end(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    """A schema keeps its own bounds and gets one wherever it had none."""
    assert bounded(schema) == expected


_leaf = st.sampled_from([{"type": "string"}, {"type": "number"}, {"const": 1}, {"type": "null"}])
_schemas = st.recursive(
    _leaf,
    lambda inner: (
        st.builds(lambda s: {"type": "array", "items": s}, inner)
        | st.builds(lambda s: {"type": "object", "properties": {"p": s}}, inner)
        | st.builds(lambda a, b: {"anyOf": [a, b]}, inner, inner)
    ),
    max_leaves=6,
)


@given(_schemas)
def test_bounding_twice_is_bounding_once(schema: dict[str, Any]) -> None:
    """``bounded`` is idempotent: what has an end is left alone."""
    assert bounded(bounded(schema)) == bounded(schema)


def test_a_complete_answer_is_parsed() -> None:
    """JSON that satisfies the schema comes back as data; a Markdown fence around it is dropped."""
    assert parse_reply('{"data": "x"}', OBJECT, "stop", "m") == {"data": "x"}
    assert parse_reply('```json\n{"data": "x"}\n```', OBJECT, "stop", "m") == {"data": "x"}
    assert parse_reply("anything", None, "stop", "m") is None


@pytest.mark.parametrize(
    ("text", "reason", "message"),
    [
        (
            '{"data": "x"}',
            "length",
            "reply of m: allowed a complete answer (finish reason 'stop'); got finish reason "
            "'length' after '{\"data\": \"x\"}'. Raise max_tokens, or shorten what the schema asks "
            "for.",
        ),
        (
            "{",
            "stop",
            "reply of m: allowed one JSON value and nothing else; got {. Ask again, or use a model "
            "that supports constrained output.",
        ),
        (
            '{"data": 3}',
            "stop",
            "reply of m: allowed JSON that satisfies the requested schema; got $.data: 3 is not of "
            "type 'string' in '{\"data\": 3}'. Simplify the schema, add an example to the skill, "
            "or use another stage.",
        ),
    ],
)
def test_half_an_answer_is_no_answer(text: str, reason: str, message: str) -> None:
    """Cut off (even when it parses), not JSON, or against the schema: refused, with the reason."""
    with pytest.raises(ModelReplyInvalid) as caught:
        parse_reply(text, OBJECT, reason, "m")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("schema", "got"),
    [
        ({"type": "nonsense"}, "'nonsense' is not valid under any of the given schemas"),
        (
            {"$ref": "http://127.0.0.1/s.json"},
            "_WrappedReferencingError: Unresolvable: http://127.0.0.1/s.json",
        ),
    ],
)
def test_a_schema_that_is_none_is_said_to_be(schema: dict[str, Any], got: str) -> None:
    """A malformed schema, or one that points outside, is the pack's fault, not the model's."""
    with pytest.raises(InvalidValue) as caught:
        parse_reply("1", schema, "stop", "m")
    assert str(caught.value) == (
        "schema: allowed JSON Schema 2020-12 whose references stay inside it and end; "
        f"got {got}. Correct the schema."
    )
