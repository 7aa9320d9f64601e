"""References into earlier results."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import PackError
from logoslab.pack.plan import Condition, HumanStep, ModelStep, ToolStep
from logoslab.pack.references import resolve, roots, step_roots

KNOWN: dict[str, Any] = {"inputs": {"n": 3}, "risk": {"level": {"name": "high"}}, "skipped": None}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("$inputs.n", 3),
        ("$risk.level.name", "high"),
        ("$risk", {"level": {"name": "high"}}),
        ("$skipped", None),
        ("$skipped.any.field", None),
        ("$$inputs.n", "$inputs.n"),
        ("costs $inputs.n", "costs $inputs.n"),
        ({"a": ["$inputs.n", 1]}, {"a": [3, 1]}),
        (True, True),
    ],
)
def test_a_reference_keeps_the_type_of_what_it_refers_to(value: Any, expected: Any) -> None:
    """Whole strings are references; text with a dollar inside is text; ``$$`` escapes."""
    assert resolve(value, KNOWN) == expected


@pytest.mark.parametrize(
    ("reference", "allowed"),
    [
        ("$nowhere.x", "names ['inputs', 'risk', 'skipped']"),
        ("$inputs.m", "a field of ['n']"),
        ("$inputs.n.deeper", "a field of int"),
        ("$Not a reference", "names ['inputs', 'risk', 'skipped']"),
    ],
)
def test_a_dangling_reference_is_an_error(reference: str, allowed: str) -> None:
    """Nothing is guessed for a name or field that is not there."""
    with pytest.raises(PackError) as caught:
        resolve(reference, KNOWN)
    assert str(caught.value) == (
        f"reference in execution_plan.json: allowed {allowed}; got {reference}. Correct the "
        "reference, or the tool or schema that should give the field."
    )


def test_roots_name_what_a_value_depends_on() -> None:
    """Every reference inside counts, literals do not."""
    assert list(roots({"a": "$risk.level", "b": ["$inputs.n", "$$x", "y", 1]})) == [
        "risk",
        "inputs",
    ]


@pytest.mark.parametrize("text", ["$Big money", "$5", "$", "$a b", "$a."])
def test_what_cannot_be_resolved_names_nothing_that_exists(text: str) -> None:
    """A malformed reference comes whole, so whoever looks its name up finds nothing."""
    assert list(roots([text])) == [text]
    with pytest.raises(PackError):
        resolve(text, KNOWN)


def test_a_step_depends_on_what_it_resolves() -> None:
    """Condition, text and arguments at any depth; a question or a schema is never resolved."""
    check = ToolStep(tool="t", arguments={"a": "$output.a"})
    solver = ToolStep(tool="t", arguments={"a": [{"b": "$c.d"}]})
    schema = {"const": "$schema"}
    model = ModelStep(skill="s", text="$a.b", output_schema=schema, check=check, solver=solver)
    when = Condition(ref="$w", values=(1,))
    assert list(step_roots(model, when)) == ["w", "a", "output", "c"]
    asked = HumanStep(question="$question", arguments={"x": "$e.f"})
    assert list(step_roots(asked, None)) == ["e"]
    assert list(step_roots(ToolStep(tool="t", arguments={"a": {"b": "$g"}}), None)) == ["g"]


_texts = st.text().filter(lambda text: text[:1] != "$")
_literals = st.recursive(
    st.none() | st.integers() | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(_literals)
def test_literals_resolve_to_themselves(value: Any) -> None:
    """A value without references is unchanged."""
    assert resolve(value, {}) == value
