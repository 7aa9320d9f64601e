"""The genome: eight policy axes that may evolve, and their overlay (LOGOS Eq. 23)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field, JsonValue

from logoslab.errors import GenomeConflict
from logoslab.pack.base import Frozen, canonical_json

AXES = ("route", "memory", "verify", "promotion", "safety", "sandbox", "tools", "attention")

Axis = dict[str, JsonValue]
Side = Literal["left", "right"]


class Conflict(Frozen):
    """A field whose two concrete values cannot be merged.

    ``why`` is ``type`` (a mapping meets a scalar, a string meets a number) or ``precedence``
    (two concrete values and nobody declared which wins).
    """

    path: str
    left: JsonValue
    right: JsonValue
    why: Literal["type", "precedence"]


class Genome(Frozen):
    """Eight axes. ``None`` means unset: it inherits, and never clobbers."""

    route: Axis = Field(default_factory=dict)
    memory: Axis = Field(default_factory=dict)
    verify: Axis = Field(default_factory=dict)
    promotion: Axis = Field(default_factory=dict)
    safety: Axis = Field(default_factory=dict)
    sandbox: Axis = Field(default_factory=dict)
    tools: Axis = Field(default_factory=dict)
    attention: Axis = Field(default_factory=dict)


def overlay(left: Genome, right: Genome, precedence: Mapping[str, Side] | None = None) -> Genome:
    """``left ⊔ right``: field-wise deep overlay (LOGOS §3.1).

    Parameters
    ----------
    left, right : Genome
        Usually pack defaults and task overrides.
    precedence : mapping, optional
        Dotted path (or a prefix of it) → which side wins where both are concrete and differ.

    Raises
    ------
    GenomeConflict
        With every :class:`Conflict` in ``got``. Nothing is merged silently.

    Notes
    -----
    Deterministic; where no conflict arises it is associative and the empty genome is its identity
    (property-tested).
    """
    merged, conflicts = {}, []
    for axis in AXES:
        merged[axis], found = _merge(
            getattr(left, axis), getattr(right, axis), axis, precedence or {}
        )
        conflicts += found
    if conflicts:
        raise GenomeConflict(
            "overlay",
            got="; ".join(f"{c.path}: {c.left!r} against {c.right!r} ({c.why})" for c in conflicts),
            allowed="one concrete value a field, or a declared precedence",
            next_step="Declare precedence for each path, or unset one side.",
        )
    return Genome.model_validate(merged)


def _merge(
    left: JsonValue, right: JsonValue, path: str, precedence: Mapping[str, Side]
) -> tuple[JsonValue, list[Conflict]]:
    if right is None or canonical_json(left) == canonical_json(right):
        return left, []
    if left is None:
        return right, []
    if isinstance(left, dict) and isinstance(right, dict):
        return _merge_mappings(left, right, path, precedence)
    if _shape(left) != _shape(right):
        return left, [Conflict(path=path, left=left, right=right, why="type")]
    side = _declared(path, precedence)
    if side is None:
        return left, [Conflict(path=path, left=left, right=right, why="precedence")]
    return (left if side == "left" else right), []


def _merge_mappings(
    left: dict[str, JsonValue],
    right: dict[str, JsonValue],
    path: str,
    precedence: Mapping[str, Side],
) -> tuple[dict[str, JsonValue], list[Conflict]]:
    merged: dict[str, JsonValue] = {}
    conflicts: list[Conflict] = []
    for key in sorted({*left, *right}):
        merged[key], found = _merge(left.get(key), right.get(key), f"{path}.{key}", precedence)
        conflicts += found
    return merged, conflicts


def _shape(value: JsonValue) -> str:
    """The JSON type, with all numbers one type and booleans their own."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__


def _declared(path: str, precedence: Mapping[str, Side]) -> Side | None:
    for prefix in _prefixes(path):
        if prefix in precedence:
            return precedence[prefix]
    return None


def _prefixes(path: str) -> Iterator[str]:
    """The path itself, then its parents, nearest first."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        yield ".".join(parts[:n])
