"""Canonical JSON and digests."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen, canonical_json, digest, first_error_of


class Point(Frozen):
    x: int
    y: float = 0.0


def test_canonical_json_follows_rfc_8785():
    """The sample of RFC 8785 §3.2.2 (numbers and literals) serialises as the RFC prints it."""
    sample = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "literals": [None, True, False],
    }
    expected = b'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27]}'
    assert canonical_json(sample) == expected


def test_digest_is_sha256_of_the_canonical_form():
    """A digest can be recomputed with any SHA-256 tool."""
    expected = hashlib.sha256(b'{"a":2,"b":1}').hexdigest()
    assert digest({"b": 1, "a": 2}) == f"sha256:{expected}"


@given(st.dictionaries(st.text(), st.integers(-100, 100)))
def test_digest_ignores_key_order(value):
    """Two equal mappings have one digest however they were built."""
    assert digest(value) == digest(dict(reversed(list(value.items()))))


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 2**60, object()])
def test_what_is_not_json_is_refused(bad):
    """NaN, infinities, huge integers and foreign objects have no canonical form."""
    with pytest.raises(InvalidValue, match="canonical_json: allowed JSON values with finite"):
        canonical_json({"v": bad})


def test_replace_validates_again():
    """A changed value is a new value that passed validation; the old one stays."""
    point = Point(x=1)
    assert (point.replace(x=2).x, point.x) == (2, 1)
    with pytest.raises(ValueError, match="valid integer"):
        point.replace(x="two")


class Path(Frozen):
    points: tuple[Point, ...]


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"points": [{"x": 1}, {"y": 2}, {}]}, "points.1.x: Field required"),
        ({}, "points: Field required"),
        (3, "Input should be a valid dictionary or instance of Path"),
    ],
)
def test_the_first_error_names_its_field(value, said):
    """One line: where, with dots, and what; no place for the value as a whole."""
    with pytest.raises(ValidationError) as caught:
        Path.model_validate(value)
    assert first_error_of(caught.value) == said
