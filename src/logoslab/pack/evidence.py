"""Evidence: a tidy set of trials, judged by admission rules. It runs nothing."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, JsonValue

from logoslab.errors import EvidenceError
from logoslab.pack.base import Frozen, canonical_json, digest_bytes
from logoslab.pack.canonical import column_bytes

if TYPE_CHECKING:
    import pandas as pd

Arm = Literal["incumbent", "candidate", "control", "placebo", "captured"]
Role = Literal["failure", "protected", "holdout", "safety"]
Sampling = Literal["iid", "with_replacement", "fixed_holdout", "shared_pool"]


class Trial(Frozen):
    """One execution of one task by one arm.

    ``value`` is None when nothing came back; a rule then uses the declared failure value and keeps
    the task in the denominator. ``cost`` and ``latency`` (seconds) are None when unknown, never 0.
    ``component`` is the digest of the version that ran, ``calls`` the executed calls it cites.
    """

    task: str
    arm: Arm
    metric: str = "score"
    value: float | None
    replicate: int = Field(default=0, ge=0)
    role: Role = "holdout"
    slice: str = "all"
    order: int = Field(default=0, ge=0)
    cost: float | None = None
    latency: float | None = None
    component: str | None = None
    calls: tuple[str, ...] = ()


class Pairs(NamedTuple):
    """Paired per-task means in the order the tasks arrived."""

    tasks: tuple[str, ...]
    incumbent: NDArray[np.float64]
    candidate: NDArray[np.float64]
    filled: tuple[str, ...]
    left_out: tuple[str, ...] = ()

    @property
    def difference(self) -> NDArray[np.float64]:
        """d_i = candidate − incumbent (LOGOS Eq. 58), shape (n,)."""
        return self.candidate - self.incumbent


class Evidence(Frozen):
    """Trials plus what they are about and how the tasks were sampled.

    Attributes
    ----------
    trials : tuple of Trial
    incumbent, candidate : str
        Digests of the two packs (or names, for results that came from files).
    sampling : str
        The sampling contract; it decides which claim a sequential rule may make.
    scorer : str
        Name or digest of what produced the values.
    verifiers : tuple of str
        Names and digests of the verifiers that judged outputs while the arms ran.
    effects : tuple of str
        Effects that the envelope refused in trials, as ``tool:effect``; empty when none.
    draws : tuple of str
        Tasks in the order in which the holdout sampler drew them, with repeats. Sequential rules
        read this stream; empty means each task once, in arrival order.
    complete : bool
        False for a part of the evidence: more tasks may follow, so running out decides nothing.
    """

    trials: tuple[Trial, ...] = Field(min_length=1)
    incumbent: str = "incumbent"
    candidate: str = "candidate"
    sampling: Sampling = "fixed_holdout"
    scorer: str = "unstated"
    verifiers: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    draws: tuple[str, ...] = ()
    complete: bool = True
    notes: dict[str, JsonValue] = Field(default_factory=dict)

    @cached_property
    def digest(self) -> str:
        """Digest of everything, the trials column by column.

        Trials differ in few of their fields, so a column of one value counts once.
        """
        head = self.model_dump(mode="json", exclude={"trials"})
        parts = {name: canonical_json(value) for name, value in head.items()}
        return digest_bytes(_object({**parts, "trials": _column_bytes(self.trials)}))

    @cached_property
    def _paired(self) -> dict[tuple[str, float, Role | None], Pairs]:
        """Pairs by question: every rule of a tournament asks for the same ones."""
        return {}

    def pairs(
        self, metric: str = "score", *, m_fail: float = 0.0, role: Role | None = None
    ) -> Pairs:
        """Per-task means over replicates of both arms (LOGOS Eq. 58).

        A task that the incumbent measured counts. What the candidate did not return is ``m_fail``
        and is named in ``filled``. A task without any measured incumbent value has no baseline:
        it is named in ``left_out``, since counting it would turn the incumbent's hole into a gain.

        Raises
        ------
        EvidenceError
            When no trial of the metric exists for one of the two arms, or no task has a baseline.
        """
        asked = (metric, m_fail, role)
        if asked not in self._paired:
            self._paired[asked] = self._pair(*asked)
        return self._paired[asked]

    def _pair(self, metric: str, m_fail: float, role: Role | None) -> Pairs:
        rows = [t for t in self.trials if t.metric == metric and (role is None or t.role == role)]
        tasks: dict[str, int] = {}
        for trial in rows:
            if trial.arm in ("incumbent", "candidate"):
                order = trial.order
                if tasks.setdefault(trial.task, order) > order:
                    tasks[trial.task] = order
        arrived = sorted(sorted(tasks), key=tasks.__getitem__)
        index = {task: i for i, task in enumerate(arrived)}
        arms = {arm: _cells(rows, arm, index, m_fail) for arm in ("incumbent", "candidate")}
        there = sorted({t.arm for t in rows} & set(arms))
        if len(there) < 2:
            raise EvidenceError(
                f"paired evidence on {metric!r}",
                got=f"arms {there or 'none'} among {len(rows)} trials",
                allowed="trials of both incumbent and candidate",
                next_step="Run the missing arm, or name a metric that both arms measured.",
            )
        kept = arms["incumbent"].measured
        if not kept.any():
            raise EvidenceError(
                f"paired evidence on {metric!r}",
                got=f"no measured incumbent value on any of {len(arrived)} tasks",
                allowed="tasks with a baseline",
                next_step="Run the incumbent on these tasks, or compare tasks that it has run.",
            )
        hole = kept & (arms["incumbent"].hole | arms["candidate"].hole)
        return Pairs(
            _chosen(arrived, kept),
            arms["incumbent"].mean[kept],
            arms["candidate"].mean[kept],
            tuple(sorted(_chosen(arrived, hole))),
            tuple(sorted(_chosen(arrived, ~kept))),
        )

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame | Mapping[str, Sequence[Any]],
        *,
        task: str = "task",
        value: str = "value",
        arm: str = "arm",
        metric: str = "metric",
        replicate: str = "replicate",
        role: str = "role",
        slice: str = "slice",
        order: str = "order",
        cost: str = "cost",
        latency: str = "latency",
        **about: Any,
    ) -> Evidence:
        """Evidence from a long tidy frame, one row a trial.

        Parameters
        ----------
        frame : DataFrame or mapping of column → sequence
            A missing value, cost or latency (None, NaN) is unmeasured. Rows may come in any order;
            without an ``order`` column tasks arrive in the order in which they first appear.
        task, value, arm : str
            Columns that must be there; an arm is incumbent, candidate, control, placebo or
            captured.
        metric, replicate, role, slice, order, cost, latency : str
            Columns that are used when they are there. Naming another than the default one demands
            it. Repeated rows of a task without a ``replicate`` column are numbered as they come.
        **about
            The other fields of :class:`Evidence`: ``sampling``, ``incumbent``, ``candidate``…

        Raises
        ------
        EvidenceError
            For an absent column, no row, an unknown arm or role, a value that is no finite number,
            or one trial (task, arm, metric, replicate) twice.
        """
        names = {"task": task, "value": value, "arm": arm, "metric": metric,
                 "replicate": replicate, "role": role, "slice": slice, "order": order,
                 "cost": cost, "latency": latency}  # fmt: skip
        from logoslab.pack.trial_columns import trials_of

        return cls(trials=trials_of(frame, names), **about)

    def frame(self) -> pd.DataFrame:
        """The trials as a tidy frame, one row each."""
        import pandas as pd

        return pd.DataFrame([t.model_dump() for t in self.trials], columns=list(Trial.model_fields))


def evidence_from_scores(
    incumbent: Mapping[str, float | None],
    candidate: Mapping[str, float | None],
    *,
    order: Iterable[str] | None = None,
    sampling: Sampling = "fixed_holdout",
    metric: str = "score",
) -> Evidence:
    """Evidence from two mappings task → score: the shortest way in for two result files."""
    tasks = list(order) if order is not None else sorted({*incumbent, *candidate})
    arms: tuple[tuple[Arm, Mapping[str, float | None]], ...] = (
        ("incumbent", incumbent),
        ("candidate", candidate),
    )
    trials = tuple(
        Trial(task=task, arm=arm, metric=metric, value=scores.get(task), order=i)
        for i, task in enumerate(tasks)
        for arm, scores in arms
    )
    return Evidence(trials=trials, sampling=sampling)


def _column_bytes(trials: tuple[Trial, ...]) -> bytes:
    """Each field as the list of its values, or as the one value that all trials share."""
    parts = {"n": canonical_json(len(trials))}
    for name in Trial.model_fields:
        values = list(map(attrgetter(name), trials))
        same = values.count(values[0]) == len(values)
        column = canonical_json(values[0]) if same else column_bytes(values)
        parts[name] = _object({"all" if same else "each": column})
    return _object(parts)


def _object(parts: Mapping[str, bytes]) -> bytes:
    """Canonical JSON of an object whose values are canonical already; its names are ASCII."""
    return b"{" + b",".join(canonical_json(n) + b":" + parts[n] for n in sorted(parts)) + b"}"


class _Cells(NamedTuple):
    """One arm, task by task: the mean, whether anything was measured, whether anything is missing.

    Arrays of shape (tasks,).
    """

    mean: NDArray[np.float64]
    measured: NDArray[np.bool_]
    hole: NDArray[np.bool_]


def _cells(rows: Sequence[Trial], arm: str, index: Mapping[str, int], m_fail: float) -> _Cells:
    mine = [t for t in rows if t.arm == arm]
    task = np.array([index[t.task] for t in mine], dtype=np.intp)
    value = np.array([t.value for t in mine], dtype=np.float64)  # None becomes NaN
    missing = np.isnan(value)
    if missing.any():  # A trial that holds NaN is not one that returned nothing.
        missing &= np.array([t.value is None for t in mine], dtype=np.bool_)
    value[missing] = m_fail
    runs = np.bincount(task, minlength=len(index))
    holes = np.bincount(task[missing], minlength=len(index))
    mean = np.full(len(index), float(m_fail))
    mean[task] = value
    # A sum that is rounded once, so that the order of the replicates cannot matter.
    repeated: dict[int, list[float]] = {}
    for row in np.flatnonzero(runs[task] > 1).tolist():
        repeated.setdefault(int(task[row]), []).append(float(value[row]))
    for i, values in repeated.items():
        mean[i] = math.fsum(values) / len(values)
    return _Cells(mean, runs > holes, (holes > 0) | (runs == 0))


def _chosen(tasks: Sequence[str], mask: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(tasks[i] for i in np.flatnonzero(mask).tolist())
