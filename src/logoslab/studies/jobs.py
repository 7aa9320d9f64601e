"""Jobs of a study, with or without an executor, and the one number that seeds them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from logoslab.errors import InvalidValue

Found = TypeVar("Found")


def seed_of(rng: np.random.Generator) -> int:
    """One number of a generator, from which all else of a study follows.

    Raises
    ------
    InvalidValue
        When it is no generator.
    """
    if not isinstance(rng, np.random.Generator):
        raise InvalidValue(
            "rng of a study",
            got=repr(rng),
            allowed="a numpy Generator",
            next_step="Pass rng=np.random.default_rng(seed).",
        )
    return int(rng.integers(1 << 63))


def run_jobs(
    call: Callable[..., Found], jobs: Sequence[tuple[Any, ...]], executor: Executor | None
) -> list[Found]:
    """The results of ``call`` on each job, in order.

    Raises
    ------
    InvalidValue
        When the executor is none, or takes no more work.
    """
    if executor is None:
        return [call(*job) for job in jobs]
    try:
        futures = [executor.submit(call, *job) for job in jobs]
    except (AttributeError, RuntimeError) as cause:
        raise InvalidValue(
            "executor of a study",
            got=f"{executor!r}: {cause}",
            allowed="a concurrent.futures.Executor that is open",
            next_step="Pass an open executor, or none.",
        ) from cause
    return [future.result() for future in futures]


def require_alpha(which: str, alpha: float) -> None:
    """Refuse a miss probability outside (0, 1).

    Raises
    ------
    InvalidValue
    """
    if not (isinstance(alpha, Real) and 0 < alpha < 1):
        raise InvalidValue(
            f"alpha of a {which}",
            got=alpha,
            allowed="a number strictly between 0 and 1",
            next_step="Choose a value inside (0, 1).",
        )


def as_list(rules: Any) -> list[Any]:
    """What was given as rules, one by one; a rule alone is one, though it can be iterated."""
    alone = isinstance(rules, str) or hasattr(rules, "decide") or not isinstance(rules, Iterable)
    return [rules] if alone else list(rules)


def whole_numbers(which: str, given: Iterable[int]) -> list[int]:
    """The numbers, when each is whole and at least 0.

    Raises
    ------
    InvalidValue
    """
    numbers = list(given)
    odd = [n for n in numbers if not isinstance(n, int | np.integer) or n < 0]
    if odd:
        raise InvalidValue(
            which,
            got=odd[0],
            allowed="whole numbers from 0",
            next_step="Choose values in this domain.",
        )
    return [int(n) for n in numbers]
