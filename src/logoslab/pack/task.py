"""Task: one unit of work. A label never travels with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from pydantic import Field, JsonValue

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen

Split = Literal["proposal", "selection", "gate", "report"]
SPLITS: tuple[Split, ...] = ("proposal", "selection", "gate", "report")


class Task(Frozen):
    """What an agent may see of a task: its inputs, never the expected answer.

    Attributes
    ----------
    id : str
        Stable identity; the split is a function of it.
    inputs : dict
        JSON facts handed to the plan.
    slice : str
        Name of the population slice it belongs to, for per-slice reports.
    """

    id: str = Field(min_length=1)
    inputs: dict[str, JsonValue] = Field(default_factory=dict)
    slice: str = "all"


def split_of(task_id: str, fractions: Mapping[Split, float], salt: str) -> Split:
    """Which disjoint split a task belongs to, by hash of its id.

    The hash is SHA-256 of ``salt:task_id`` read as a fraction of 2**64, so the split needs no
    stored list, is the same everywhere, and cannot be chosen by whoever names the tasks later.

    Parameters
    ----------
    task_id : str
    fractions : mapping
        Share of each split, in the order of :data:`SPLITS`; must sum to 1.
    salt : str
        Declared in the root policy's holdout sampler.

    Raises
    ------
    InvalidValue
        When the fractions do not sum to 1 within 1e-9.
    """
    total = sum(fractions.values())
    if abs(total - 1) > 1e-9 or min(fractions.values()) < 0:
        raise InvalidValue(
            "split fractions",
            got=dict(fractions),
            allowed="non-negative shares that sum to 1",
            next_step="Correct [holdout.fractions] in root_policy.toml.",
        )
    point = int.from_bytes(hashlib.sha256(f"{salt}:{task_id}".encode()).digest()[:8]) / 2**64
    edge = 0.0
    for split in SPLITS:
        edge += fractions.get(split, 0.0)
        if point < edge:
            return split
    return [s for s in SPLITS if fractions.get(s, 0.0) > 0][-1]


T = TypeVar("T", bound=Task)


def split_tasks(
    tasks: Sequence[T], fractions: Mapping[Split, float], salt: str
) -> dict[Split, list[T]]:
    """Every task in exactly one split, each split ordered by task id."""
    parts: dict[Split, list[T]] = {split: [] for split in SPLITS}
    for task in sorted(tasks, key=lambda t: t.id):
        parts[split_of(task.id, fractions, salt)].append(task)
    return parts
