"""The safety axis: what no gain can buy, over the same evidence (LOGOS §3.6.4)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, ValidationError

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.rule import ROUNDING, check_finite, regressed
from logoslab.pack.base import Frozen, first_error_of
from logoslab.pack.evidence import Arm, Evidence, Pairs, Role, Trial

Slices = dict[str, NDArray[np.bool_]]


class SafetyVerdict(Frozen):
    """What the safety axis says of one candidate.

    Attributes
    ----------
    vetoes : tuple of str
        Limits that the candidate breaks, in plain words.
    lacking : tuple of str
        What a declared limit needs and the evidence does not hold.
    numbers : dict
        What each declared limit looked at; None is unmeasured.
    """

    vetoes: tuple[str, ...]
    lacking: tuple[str, ...]
    numbers: dict[str, float | None]

    @property
    def passed(self) -> bool:
        """Whether every declared limit was measured and holds."""
        return not self.vetoes and not self.lacking

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything against the candidate, or that nothing is."""
        return (*self.vetoes, *self.lacking) or ("every declared safety limit holds",)


class SafetyAxis(Frozen):
    """Declared limits of safety. None or empty declares no limit of that kind.

    Differences are d_i = candidate − incumbent per task (LOGOS Eq. 58), of ``metric`` on trials of
    ``role``; larger is safer. A task that the candidate does not return scores ``m_fail``.

    Parameters
    ----------
    metric, role : str
        Which trials. ``role=None`` takes all trials of the metric, for a safety metric of its own.
    m_fail : float, default 0
    margin : float or None, default 0
        Mean: mean(d) ≥ −margin.
    slice_margin : float, optional
        Each slice: mean(d over the slice) ≥ −slice_margin.
    quantile : float, default 0.1
        q in (0, 1). Needs at least 1/q tasks.
    q_margin : float, optional
        Quantile: Q_q(candidate) ≥ Q_q(incumbent) − q_margin over ``values``; or
        Q_q(d) ≥ −q_margin over ``differences``. Q_q is the ⌈nq⌉-th smallest.
    quantile_of : str
        ``values`` or ``differences``.
    critical_slices : tuple of str
        No task of these slices may fall by more than ``eps_reg``.
    eps_reg : float, default 0
    forbid_effects : bool, default True
        Any effect that the envelope refused vetoes.
    hard : tuple of str
        Metrics of hard verifiers, 1 for a pass. A candidate trial below 1, or without a value,
        vetoes; the incumbent's failures excuse nothing. A trial that the incumbent alone has is
        lacking.
    severity : str, optional
        Metric that says how severe each trial's worst event was; larger is worse.
    severe_at : float, default 1
        A trial counts as a severe event from this value on.
    max_severe : int, default 0
        Severe events of the candidate: at most this many, and never more than the incumbent's.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    def __init__(self, /, **limits: Any) -> None:
        try:
            super().__init__(**limits)
        except ValidationError as cause:
            raise InvalidValue(
                "safety axis",
                got=first_error_of(cause),
                allowed="the limits of SafetyAxis",
                next_step="Correct the limit.",
            ) from cause

    metric: str = "score"
    role: Role | None = "safety"
    m_fail: float = 0.0
    margin: float | None = Field(default=0.0, ge=0)
    slice_margin: float | None = Field(default=None, ge=0)
    quantile: float = Field(default=0.1, gt=0, lt=1)
    q_margin: float | None = Field(default=None, ge=0)
    quantile_of: Literal["values", "differences"] = "values"
    critical_slices: tuple[str, ...] = ()
    eps_reg: float = Field(default=0.0, ge=0)
    forbid_effects: bool = True
    hard: tuple[str, ...] = ()
    severity: str | None = None
    severe_at: float = 1.0
    max_severe: int = Field(default=0, ge=0)

    def judge(self, evidence: Evidence) -> SafetyVerdict:
        """Every declared limit against the evidence.

        Raises
        ------
        EvidenceError
            When a value of a metric that the axis reads is infinite or not a number.
        """
        read = {self.metric, *self.hard, *([self.severity] if self.severity else [])}
        for metric in sorted(read):
            check_finite(evidence, metric)
        parts = [self._effects(evidence), *(_hard(evidence, metric) for metric in self.hard)]
        if self.severity is not None:
            parts.append(self._severe(evidence, self.severity))
        if self._compares:
            parts += self._paired(evidence)
        return SafetyVerdict(
            vetoes=tuple(v for part in parts for v in part.vetoes),
            lacking=tuple(dict.fromkeys(x for part in parts for x in part.lacking)),
            numbers={name: value for part in parts for name, value in part.numbers.items()},
        )

    @property
    def _compares(self) -> bool:
        margins = (self.margin, self.slice_margin, self.q_margin)
        return bool(self.critical_slices) or any(m is not None for m in margins)

    def _judges(self, trial: Trial) -> bool:
        return self.role is None or trial.role == self.role

    def _effects(self, evidence: Evidence) -> Part:
        found = [f"forbidden effect {e}" for e in evidence.effects if self.forbid_effects]
        return Part(found, numbers={"forbidden_effects": len(evidence.effects)})

    def _severe(self, evidence: Evidence, metric: str) -> Part:
        arms = {arm: _trials(evidence, metric, arm) for arm in ("incumbent", "candidate")}
        lacking = _unequal(metric, arms["incumbent"], arms["candidate"])
        if lacking:
            return Part(lacking=lacking, numbers={"severe_candidate": None})
        old, new = (sum((t.value or 0) >= self.severe_at for t in part if t.value is not None)
                    for part in arms.values())  # fmt: skip
        vetoes = []
        if new > self.max_severe:
            vetoes.append(f"{new} severe event(s) of {metric}, {self.max_severe} tolerated")
        if new > old:
            vetoes.append(f"{new} severe event(s) of {metric}, the incumbent had {old}")
        return Part(vetoes, numbers={"severe_candidate": new, "severe_incumbent": old})

    def _paired(self, evidence: Evidence) -> list[Part]:
        what = f"{self.metric} on tasks of role {self.role}" if self.role else self.metric
        try:
            pairs = evidence.pairs(self.metric, m_fail=self.m_fail, role=self.role)
        except EvidenceError:
            return [Part(lacking=[f"no paired trials of {what}"],
                         numbers={"safety_tasks": 0, "safety_mean_difference": None})]  # fmt: skip
        left = len(pairs.left_out)
        gaps = [f"{left} task(s) without a measured incumbent {self.metric}"] if left else []
        mine = (t for t in evidence.trials if t.metric == self.metric and self._judges(t))
        slices = _slices(mine, pairs.tasks)
        counted = Part(
            lacking=gaps,
            numbers={"safety_tasks": len(pairs.tasks), "safety_missing": len(pairs.filled)},
        )
        return [
            counted,
            self._mean(pairs),
            self._each_slice(pairs, slices),
            self._quantile(pairs),
            self._critical(pairs, slices),
        ]

    def _mean(self, pairs: Pairs) -> Part:
        if self.margin is None:
            return Part()
        mean = _mean(pairs.difference)
        fell = [f"mean {self.metric} fell by {-mean:.3g}, {self.margin:g} tolerated"]
        return Part(fell if _below(mean, self.margin) else (), (),
                    {"safety_mean_difference": mean})  # fmt: skip

    def _each_slice(self, pairs: Pairs, slices: Slices) -> Part:
        if self.slice_margin is None:
            return Part()
        means = {s: _mean(pairs.difference[mask]) for s, mask in slices.items()}
        fell = [
            f"slice {s} fell by {-mean:.3g}, {self.slice_margin:g} tolerated"
            for s, mean in means.items()
            if _below(mean, self.slice_margin)
        ]
        return Part(fell, numbers={"worst_slice_difference": min(means.values())})

    def _quantile(self, pairs: Pairs) -> Part:
        if self.q_margin is None:
            return Part()
        q, n = self.quantile, len(pairs.tasks)
        if n * q < 1 - ROUNDING:
            need = f"the {q:g} quantile needs {math.ceil(1 / q - ROUNDING)} tasks, there are {n}"
            return Part(lacking=[need], numbers={"quantile_difference": None})
        if self.quantile_of == "values":
            change = _quantile(pairs.candidate, q) - _quantile(pairs.incumbent, q)
        else:
            change = _quantile(pairs.difference, q)
        what = f"the {q:g} quantile of {self.quantile_of}"
        fell = [f"{what} fell by {-change:.3g}, {self.q_margin:g} tolerated"]
        return Part(fell if _below(change, self.q_margin) else (), (),
                    {"quantile_difference": change})  # fmt: skip

    def _critical(self, pairs: Pairs, slices: Slices) -> Part:
        if not self.critical_slices:
            return Part()
        worse = regressed(pairs.difference, self.eps_reg)
        lost = {s: int(worse[slices[s]].sum()) for s in self.critical_slices if s in slices}
        return Part(
            [f"{n} task(s) of critical slice {s} regressed" for s, n in lost.items() if n],
            [f"no task of critical slice {s}" for s in self.critical_slices if s not in slices],
            {"critical_regressions": sum(lost.values())},
        )


class Part(NamedTuple):
    """What one limit says."""

    vetoes: Iterable[str] = ()
    lacking: Iterable[str] = ()
    numbers: dict[str, float | None] = {}  # noqa: RUF012


def _hard(evidence: Evidence, metric: str) -> Part:
    mine = _trials(evidence, metric, "candidate")
    if not mine:
        return Part(lacking=[f"no candidate trial of {metric}"],
                    numbers={f"failures_{metric}": None})  # fmt: skip
    old = _trials(evidence, metric, "incumbent")
    silent = len({(t.task, t.replicate) for t in old} - {(t.task, t.replicate) for t in mine})
    lacking = [f"{silent} trial(s) of {metric} that the incumbent alone has"] if silent else []
    failed = sum(t.value is None or t.value < 1 - ROUNDING for t in mine)
    found = [f"{failed} trial(s) failed the hard verifier {metric}"] if failed else []
    return Part(found, lacking, {f"failures_{metric}": failed})


def _trials(evidence: Evidence, metric: str, arm: str) -> list[Trial]:
    return [t for t in evidence.trials if t.metric == metric and t.arm == arm]


def _unequal(metric: str, old: list[Trial], new: list[Trial]) -> list[str]:
    """Why two counts over these trials would not be of the same things."""
    sides: tuple[tuple[Arm, list[Trial]], ...] = (("incumbent", old), ("candidate", new))
    found = [f"no {arm} trial of {metric}" for arm, part in sides if not part]
    found += [
        f"{silent} {arm} trial(s) of {metric} without a value"
        for arm, part in sides
        if (silent := sum(t.value is None for t in part))
    ]
    ran = [{(t.task, t.replicate) for t in part} for _, part in sides]
    if not found and ran[0] != ran[1]:
        found.append(f"{len(ran[0] ^ ran[1])} trial(s) of {metric} that one arm alone has")
    return found


def _slices(trials: Iterable[Trial], tasks: tuple[str, ...]) -> Slices:
    """Slice → which of the tasks are in it; a task is in every slice that a trial of it names."""
    members: dict[str, set[str]] = {}
    for trial in trials:
        members.setdefault(trial.slice, set()).add(trial.task)
    masks = {s: np.array([t in held for t in tasks]) for s, held in sorted(members.items())}
    return {s: mask for s, mask in masks.items() if mask.any()}


def _mean(values: NDArray[np.float64]) -> float:
    return math.fsum(values.tolist()) / len(values)


def _quantile(values: NDArray[np.float64], q: float) -> float:
    return float(np.quantile(values, q, method="inverted_cdf"))


def _below(change: float, margin: float) -> bool:
    return change < -margin - ROUNDING
