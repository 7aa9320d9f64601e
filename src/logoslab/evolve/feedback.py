"""Feedback: what an evaluator tells a proposer about one proposal task, never a gate task."""

from __future__ import annotations

from pydantic import JsonValue

from logoslab.pack.base import Frozen


class Feedback(Frozen):
    """The right answer of one task of the proposal split.

    Attributes
    ----------
    task : str
    text : dict
        Text fields of the task, field → text.
    expected : dict
        Answer field → right value.
    """

    task: str
    text: dict[str, str]
    expected: dict[str, JsonValue]
