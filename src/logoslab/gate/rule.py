"""What every admission rule shares: paired evidence in, one Decision out, nothing else touched."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any, ClassVar, Final, Literal, get_args, get_origin

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, ValidationError
from pydantic.fields import FieldInfo

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.batch import LARGEST, SCORE, Batch, Outcomes, decide_one_by_one
from logoslab.pack.base import Frozen
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.needs import Needs

# Means over replicates are sums of floats; a difference this small is rounding, not a regression.
ROUNDING: Final = 1e-12

NO_CLAIM: Final = "Empirical rule on the observed tasks; it carries no error rate."


class Rule(Frozen, ABC):
    """An admission rule: a frozen value whose fields are its parameters.

    A field's constraints are the parameter's range, its description says what it means; both are
    listed by :func:`~logoslab.gate.registry.rules` and quoted by errors.

    Parameters
    ----------
    metric : str, default "score"
        Metric of the trials that are compared.
    m_fail : float, default 0
        Value of a trial that returned nothing; its task stays in every sum and count.

    Raises
    ------
    InvalidValue
        On an unknown parameter or a value outside its range.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    name: ClassVar[str]
    source: ClassVar[str]
    needs: ClassVar[Needs] = Needs()
    claim: ClassVar[str] = NO_CLAIM
    sequential: ClassVar[bool] = False
    """Whether the order in which the tasks arrived is part of what the rule reads."""

    metric: str = Field(default="score", description="metric that is compared")
    m_fail: float = Field(default=0.0, description="value of a trial that returned nothing")

    def __init__(self, /, **parameters: Any) -> None:
        try:
            super().__init__(**parameters)
        except ValidationError as cause:
            raise self._refused(cause) from cause

    def decide(self, evidence: Evidence) -> Decision:
        """The conclusion; ``not_applicable`` when an arm or a need of the rule is missing.

        Raises
        ------
        EvidenceError
            When a value is infinite, not a number, or too large to be summed.
        """
        check_finite(evidence, self.metric)
        lacking = self.needs.lacking(evidence, self.metric)
        if lacking:
            return self.not_applicable(evidence, "; ".join(lacking))
        return self._decide(evidence)

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row of a batch: the same as from its evidence, only faster."""
        return decide_one_by_one(self, batch)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Only the parameters that were set to something else than their default."""
        for name, field in type(self).model_fields.items():
            value = self.__dict__.get(name, field.default)  # absent while one is being made
            if value != field.default:
                yield name, value

    def __str__(self) -> str:
        return repr(self)

    @property
    def params(self) -> dict[str, Any]:
        """The parameters as they go on record."""
        return self.model_dump(mode="json")

    def not_applicable(self, evidence: Evidence, reason: str, *, tasks: int = 0) -> Decision:
        """What the rule says of evidence that it cannot judge."""
        return self._conclude(evidence, Conclusion.NOT_APPLICABLE, reason, tasks=tasks)

    @abstractmethod
    def _decide(self, evidence: Evidence) -> Decision:
        """The conclusion from evidence that has everything in ``needs``."""

    @classmethod
    def _refused(cls, cause: ValidationError) -> InvalidValue:
        first = cause.errors(include_url=False)[0]
        field = str(first["loc"][0]) if first["loc"] else "parameters"
        if first["type"] == "extra_forbidden":
            return InvalidValue(
                f"parameters of rule {cls.name}",
                got=field,
                allowed=", ".join(cls.model_fields),
                next_step="Correct the parameter names.",
            )
        known = cls.model_fields.get(field)
        return InvalidValue(
            f"{cls.name} {field}",
            got=first["input"],
            allowed=range_of(known) if known else first["msg"].removeprefix("Value error, "),
            next_step="Choose a value in this domain.",
        )

    def _conclude(
        self,
        evidence: Evidence,
        conclusion: Conclusion,
        reason: str,
        *,
        tasks: int,
        numbers: Mapping[str, float | None] | None = None,
        path: Mapping[str, Sequence[float]] | None = None,
        params: Mapping[str, Any] | None = None,
        claim: str | None = None,
    ) -> Decision:
        return Decision(
            rule=self.name,
            params={**self.params, **(params or {})},
            conclusion=conclusion,
            reason=reason,
            numbers=dict(numbers or {}),
            path={name: tuple(values) for name, values in (path or {}).items()},
            claim=claim or self.claim,
            incumbent=evidence.incumbent,
            candidate=evidence.candidate,
            evidence=evidence.digest,
            tasks=tasks,
        )


class PairedRule(Rule):
    """A rule over paired per-task means of incumbent and candidate (LOGOS Eq. 58)."""

    def _decide(self, evidence: Evidence) -> Decision:
        try:
            pairs = evidence.pairs(self.metric, m_fail=self.m_fail)
        except EvidenceError as missing:
            return self.not_applicable(evidence, str(missing))
        if self.needs.bounded and np.abs(pairs.difference).max() > 1 + ROUNDING:
            wide = pairs.difference[np.abs(pairs.difference).argmax()]
            return self.not_applicable(
                evidence,
                f"a paired difference of {wide:g} lies outside [-1, 1]; divide every "
                "score of both arms by the length of the scale. Differences are never clipped.",
                tasks=len(pairs.tasks),
            )
        return self._judge(evidence, pairs)

    @abstractmethod
    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        """The conclusion from paired means."""

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row of a batch: the same as from its evidence, only faster."""
        if self.metric != SCORE or not len(batch):
            return decide_one_by_one(self, batch)
        # What a batch lacks it lacks in every row; only 0/1 scores are a matter of the row.
        if self.needs.replace(binary=False).lacking(batch.evidence(0), SCORE):
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        return Outcomes.joined([self._decide_part(part) for part in batch.parts()])

    def _decide_part(self, batch: Batch) -> Outcomes:
        d = batch.difference
        foreign = ~batch.binary if self.needs.binary else np.zeros(len(batch), dtype=np.bool_)
        wide = np.zeros_like(foreign)
        if self.needs.bounded:
            wide = np.abs(d).max(axis=1) > 1 + ROUNDING
        fits = ~(foreign | wide)
        if fits.all():
            return self._judge_many(batch, d)
        unused = np.where(foreign, 0, d.shape[1])
        found = Outcomes.first_true([], Conclusion.NOT_APPLICABLE, unused, len(batch))
        if fits.any():
            found.conclusions[fits], found.tasks[fits] = self._judge_many(batch.take(fits), d[fits])
        return found

    def _judge_many(self, batch: Batch, d: NDArray[np.float64]) -> Outcomes:
        """The conclusions of rows that have all the rule needs; ``d`` are their differences.

        A rule with a faster form than one evidence after the other overrides this.
        """
        return decide_one_by_one(self, batch)


def range_of(field: FieldInfo) -> str:
    """A parameter's range in words, from its type and constraints."""
    signs = (("gt", ">"), ("ge", "≥"), ("lt", "<"), ("le", "≤"))
    bounds = [
        f"{sign} {getattr(part, name):g}"
        for part in field.metadata
        for name, sign in signs
        if getattr(part, name, None) is not None
    ]
    kind = _kind(field.annotation)
    return f"{kind} {' and '.join(bounds)}".strip()


def _kind(annotation: Any) -> str:
    options = get_args(annotation)
    if get_origin(annotation) is Literal:
        return " | ".join(map(str, options))
    if get_origin(annotation) is tuple:
        return "a list of names"
    if NoneType in options:
        return f"None, or {_kind(next(o for o in options if o is not NoneType))}"
    words = {float: "a number", int: "a whole number", bool: "true or false", str: "a name"}
    return words.get(annotation, str(annotation))


def check_finite(evidence: Evidence, metric: str) -> None:
    """Refuse a trial whose value is infinite, not a number, or too large to be summed."""
    for trial in evidence.trials:
        value = trial.value if trial.metric == metric else None
        if value is not None and not abs(value) <= LARGEST:  # nor is NaN
            raise EvidenceError(
                f"{metric} of task {trial.task!r}, {trial.arm}",
                got=repr(value),
                allowed=f"a finite number up to {LARGEST:g}, or None when nothing came back",
                next_step="Correct the scorer, or record the trial as None.",
            )


def chosen(tasks: Sequence[str], where: NDArray[np.bool_]) -> list[str]:
    """The tasks of a mask. Not through an array: it pads names and cuts zeros off their ends."""
    return [tasks[i] for i in np.flatnonzero(where).tolist()]


def is_binary(evidence: Evidence, metric: str) -> bool:
    """Whether every measured value of the metric is 0 or 1."""
    return all(t.value in (None, 0.0, 1.0) for t in evidence.trials if t.metric == metric)


def regressed(difference: NDArray[np.float64], eps_reg: float) -> NDArray[np.bool_]:
    """1{d_i < −ε_reg}, up to rounding."""
    return np.asarray(difference < -eps_reg - ROUNDING, dtype=np.bool_)
