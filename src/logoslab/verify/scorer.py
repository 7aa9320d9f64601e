"""The exact scorer: labels live here and nowhere an agent or a proposer can look."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from logoslab.errors import InvalidValue
from logoslab.pack.base import digest
from logoslab.pack.run import TaskResult
from logoslab.pack.task import Task
from logoslab.verify.identity import code_digest

Label = Mapping[str, Any]


class Part(NamedTuple):
    """One weighted yes-or-no part of a score."""

    weight: float
    holds: Callable[[TaskResult, Label], bool]


class ExactScorer:
    """Σ weight·1{part holds} against exact labels; weights sum to 1.

    Parameters
    ----------
    labels : mapping
        Task id → expected field values.
    parts : sequence of Part, optional
        Default: one part, all labelled fields equal.

    Raises
    ------
    InvalidValue
        When the weights are not positive or do not sum to 1 within 1e-9.
    """

    name = "exact"

    def __init__(self, labels: Mapping[str, Label], parts: Sequence[Part] = ()) -> None:
        self._labels = labels
        self._parts = tuple(parts) or (Part(1.0, fields_equal()),)
        weights = [part.weight for part in self._parts]
        if min(weights) <= 0 or abs(sum(weights) - 1) > 1e-9:
            raise InvalidValue(
                "scorer weights",
                got=weights,
                allowed="positive weights that sum to 1",
                next_step="Rescale the weights.",
            )

    @property
    def digest(self) -> str:
        """Digest of labels, weights and the code of every part: a change of any changes scores."""
        parts = [[part.weight, code_digest(part.holds)] for part in self._parts]
        labels = {task: dict(label) for task, label in self._labels.items()}
        return digest({"labels": labels, "parts": parts})

    def score(self, task: Task, result: TaskResult) -> float | None:
        """In [0, 1]; None for a task without a label. A failed task scores what its parts hold."""
        label = self._labels.get(task.id)
        if not label:
            return None
        return sum(part.weight for part in self._parts if part.holds(result, label))


def fields_equal(*fields: str) -> Callable[[TaskResult, Label], bool]:
    """A part: these output fields (all labelled ones by default) equal the label."""

    def holds(result: TaskResult, label: Label) -> bool:
        output = result.output or {}
        return all(f in label and output.get(f) == label[f] for f in fields or label)

    return holds


def step_echoes(
    step: str, fields: Mapping[str, Sequence[str]]
) -> Callable[[TaskResult, Label], bool]:
    """A part: the service's answer to ``step`` carries exactly the labelled content.

    Parameters
    ----------
    step : str
        Phase whose result is the service's answer.
    fields : mapping
        Label field → the names it may have in the answer, so that one scorer fits every version
        of a drifting API. Names that the answer lacks are tried in turn; one must be there.
    """

    def holds(result: TaskResult, label: Label) -> bool:
        return any(_carries(node, fields, label) for node in _mappings(result.steps.get(step)))

    return holds


def _mappings(answer: Any) -> Iterator[Mapping[str, Any]]:
    """The answer and its direct members that are mappings."""
    if isinstance(answer, Mapping):
        yield answer
        yield from (child for child in answer.values() if isinstance(child, Mapping))


def _carries(node: Mapping[str, Any], fields: Mapping[str, Sequence[str]], label: Label) -> bool:
    return all(
        field in label and any(name in node and node[name] == label[field] for name in names)
        for field, names in fields.items()
    )
