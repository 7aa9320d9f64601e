"""A batch: many candidates on equally many tasks, as arrays in place of trials.

Studies judge thousands of candidates. A rule sees the same numbers in a batch as it sees in the
evidence of each row, so both forms conclude the same (a contract check holds every rule to it).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logoslab.errors import EvidenceError
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Role, Sampling, Trial
from logoslab.ports import AdmissionRule

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LARGEST: Final = 1e100
"""Largest size of a value: beyond it sums and squares of differences might not be finite."""
SCORE: Final = "score"
"""Metric of the paired scores and of the replayed cases."""
PROXY: Final = "proxy"
"""Metric of the proposal-time proxy: the score that the proposer saw, on both arms."""
SATISFIED: Final = "satisfied"
"""Metric of the acting model's own flag: 1 when it calls its candidate good."""
RECURRENCE: Final = "recurrence"
"""Metric of live sessions: 1 when the failure that the candidate should cure came again."""

WORD: Final = np.dtype(f"U{max(len(c.value) for c in Conclusion)}")
"""Type of an array of conclusions."""


@dataclass(frozen=True)
class Cases:
    """Replayed cases of K candidates: m captured sessions, each run again by two arms.

    Attributes
    ----------
    roles : tuple of str, length m
        ``failure`` or ``protected``.
    captured : array, shape (K, m)
        The score on record when the case was captured.
    control, candidate : array, shape (K, m, B)
        Fresh runs without and with the change.
    """

    roles: tuple[Role, ...]
    captured: Floats
    control: Floats
    candidate: Floats

    def __post_init__(self) -> None:
        shape = np.shape(self.captured)
        for name, part in self.arms():
            if part.ndim != (2 if name == "captured" else 3) or part.shape[:2] != shape:
                raise _unfit(f"{name} of shape {part.shape}", "(candidates, cases[, runs])")
        if shape[1] != len(self.roles):
            raise _unfit(f"{len(self.roles)} roles", f"{shape[1]}, one a case")

    def arms(self) -> Iterator[tuple[str, Floats]]:
        """The scores of each arm by name."""
        yield from (
            ("captured", self.captured), ("control", self.control), ("candidate", self.candidate),
        )  # fmt: skip

    def take(self, rows: slice | NDArray[Any]) -> Cases:
        """The cases of some rows."""
        return Cases(self.roles, self.captured[rows], self.control[rows], self.candidate[rows])


@dataclass(frozen=True)
class Batch:
    """K candidates, each with fresh paired trials on n tasks, and what else rules may need.

    Attributes
    ----------
    incumbent, candidate : array, shape (K, n)
        Paired scores, one trial a task and arm.
    proxy : array, shape (K,), optional
        Proxy gain that the proposer saw.
    satisfied : array of bool, shape (K,), optional
        The acting model's own verdict.
    recurrence : array, shape (K, s), optional
        1 where the failure came again in live session s under the candidate.
    cases : Cases, optional
    sampling : str

    Raises
    ------
    EvidenceError
        When shapes do not fit each other, there is no task, or a score is infinite or not a number.
    """

    incumbent: Floats
    candidate: Floats
    proxy: Floats | None = None
    satisfied: NDArray[np.bool_] | None = None
    recurrence: Floats | None = None
    cases: Cases | None = None
    sampling: Sampling = "iid"

    def __post_init__(self) -> None:
        shape = np.shape(self.incumbent)
        if len(shape) != 2 or not shape[1] or np.shape(self.candidate) != shape:
            raise _unfit(
                f"shapes {shape} and {np.shape(self.candidate)}",
                "incumbent and candidate of one shape (candidates, tasks), with a task or more",
            )
        for name, part in self._measured():
            if len(part) != shape[0]:
                raise _unfit(f"{len(part)} rows of {name}", f"{shape[0]}, one a candidate")
            if not (np.abs(part) <= LARGEST).all():  # nor of NaN
                raise _unfit(f"a {name} value that is too large or not a number", "finite numbers")

    def _measured(self) -> Iterator[tuple[str, Floats | Bools]]:
        optional = {
            "proxy": self.proxy, "satisfied": self.satisfied, "recurrence": self.recurrence,
        }  # fmt: skip
        yield from (("incumbent", self.incumbent), ("candidate", self.candidate))
        yield from ((name, part) for name, part in optional.items() if part is not None)
        if self.cases:
            yield from self.cases.arms()

    def __len__(self) -> int:
        return len(self.incumbent)

    def take(self, rows: slice | NDArray[Any]) -> Batch:
        """The batch of some rows."""
        return replace(
            self,
            incumbent=self.incumbent[rows],
            candidate=self.candidate[rows],
            proxy=None if self.proxy is None else self.proxy[rows],
            satisfied=None if self.satisfied is None else self.satisfied[rows],
            recurrence=None if self.recurrence is None else self.recurrence[rows],
            cases=self.cases and self.cases.take(rows),
        )

    def parts(self, values: int = 1 << 20) -> Iterator[Batch]:
        """Consecutive rows, about so many scores at a time, so that arrays stay small."""
        step = max(1, values // self.incumbent.shape[1])
        for first in range(0, len(self), step):
            yield self.take(slice(first, first + step))

    @property
    def binary(self) -> Bools:
        """Rows whose every score, replayed cases included, is 0 or 1; shape (K,)."""
        arrays = [self.incumbent, self.candidate]
        arrays += [part for _, part in self.cases.arms()] if self.cases else []
        flat = [array.reshape(len(self), -1) for array in arrays]
        return np.asarray(np.all([((a == 0) | (a == 1)).all(axis=1) for a in flat], axis=0))

    @property
    def difference(self) -> Floats:
        """d = candidate − incumbent, shape (K, n) (LOGOS Eq. 58)."""
        return self.candidate - self.incumbent

    def evidence(self, k: int) -> Evidence:
        """Row k as trials."""
        return Evidence(
            trials=tuple(self._trials(k)), candidate=f"candidate-{k}", sampling=self.sampling
        )

    def _trials(self, k: int) -> Iterator[Trial]:
        for i, (old, new) in enumerate(zip(self.incumbent[k], self.candidate[k], strict=True)):
            yield Trial(task=f"t{i}", arm="incumbent", value=float(old), order=i)
            yield Trial(task=f"t{i}", arm="candidate", value=float(new), order=i)
        if self.proxy is not None:
            yield Trial(task="proposal", arm="incumbent", metric=PROXY, value=0.0)
            yield Trial(task="proposal", arm="candidate", metric=PROXY, value=float(self.proxy[k]))
        if self.satisfied is not None:
            flag = float(self.satisfied[k])
            yield Trial(task="proposal", arm="candidate", metric=SATISFIED, value=flag)
        if self.recurrence is not None:
            for i, fired in enumerate(self.recurrence[k]):
                yield Trial(
                    task=f"session{i}", arm="candidate", metric=RECURRENCE, value=float(fired),
                    order=i,
                )  # fmt: skip
        if self.cases is not None:
            yield from _replayed(self.cases, k)


class Outcomes(NamedTuple):
    """What one rule concluded of every row.

    Attributes
    ----------
    conclusions : array of str, shape (K,)
        Values of :class:`~logoslab.pack.decision.Conclusion`.
    tasks : array of int, shape (K,)
        Tasks that the rule used before it concluded.
    """

    conclusions: NDArray[np.str_]
    tasks: NDArray[np.int64]

    @property
    def accepted(self) -> NDArray[np.bool_]:
        """Which rows were accepted, shape (K,)."""
        return np.asarray(self.conclusions == Conclusion.ACCEPT.value)

    @classmethod
    def first_true(
        cls,
        cases: Sequence[tuple[ArrayLike, Conclusion]],
        otherwise: Conclusion,
        tasks: int | NDArray[np.int64],
        rows: int,
    ) -> Self:
        """Each row's conclusion is that of the first case whose mask holds there."""
        masks = [np.broadcast_to(np.asarray(mask, dtype=np.bool_), rows) for mask, _ in cases]
        words = np.full(rows, otherwise.value, dtype=WORD)
        for mask, (_, conclusion) in reversed(list(zip(masks, cases, strict=True))):
            words[mask] = conclusion.value
        return cls(words, np.broadcast_to(np.asarray(tasks, dtype=np.int64), rows).copy())

    @classmethod
    def of(cls, decisions: Sequence[Decision]) -> Self:
        """What decisions, one a row, concluded."""
        return cls(
            np.array([d.conclusion.value for d in decisions], dtype=WORD),
            np.array([d.tasks for d in decisions], dtype=np.int64),
        )

    @classmethod
    def joined(cls, parts: Sequence[Outcomes]) -> Self:
        """The outcomes of consecutive parts."""
        return cls(
            np.concatenate([part.conclusions for part in parts]),
            np.concatenate([part.tasks for part in parts]),
        )


def decide_one_by_one(rule: AdmissionRule, batch: Batch) -> Outcomes:
    """The outcomes of any rule, row after row through its evidence."""
    return Outcomes.of([rule.decide(batch.evidence(k)) for k in range(len(batch))])


def _replayed(cases: Cases, k: int) -> Iterator[Trial]:
    for i, role in enumerate(cases.roles):
        task, score = f"case{i}", float(cases.captured[k, i])
        yield Trial(task=task, arm="captured", role=role, value=score, order=i)
        for b, value in enumerate(cases.control[k, i]):
            yield Trial(
                task=task, arm="control", role=role, value=float(value), replicate=b, order=i
            )
        for b, value in enumerate(cases.candidate[k, i]):
            yield Trial(
                task=task, arm="candidate", role=role, value=float(value), replicate=b, order=i
            )


def _unfit(got: str, allowed: str) -> EvidenceError:
    return EvidenceError(
        "batch", got=got, allowed=allowed, next_step="Give every candidate the same tasks."
    )
