"""Candidate streams: candidates of known truth, with everything that any admission rule reads.

Candidate k is drawn from its own generator, keyed by (seed, k). What it scores depends on nothing
else, so chunks, executors and order change no number.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field, ValidationError, model_validator
from scipy.special import ndtri

from logoslab.errors import InvalidValue
from logoslab.gate.batch import Batch, Cases
from logoslab.gate.rule import ROUNDING
from logoslab.pack.base import Frozen
from logoslab.pack.evidence import Role, Sampling

Floats = NDArray[np.float64]
Label = Literal["beneficial", "neutral", "harmful"]

FAILURE: Final[Role] = "failure"
PROTECTED: Final[Role] = "protected"
UNCURED: Final = 0.5
"""Share of live sessions in which the failure comes again when nothing cures it."""
ABILITY: Final = (0.4, 1.0)
"""Range of a session's true score, uniform."""


class Described(Frozen):
    """A frozen description whose errors are InvalidValue."""

    model_config = ConfigDict(allow_inf_nan=False)

    def __init__(self, **fields: Any) -> None:
        try:
            super().__init__(**fields)
        except ValidationError as cause:
            raise self._refused(cause) from cause

    def replace(self, **changes: Any) -> Self:
        """A new description with some fields changed, checked again."""
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self)(**{**kept, **changes})

    @classmethod
    def _refused(cls, cause: ValidationError) -> InvalidValue:
        first = cause.errors(include_url=False)[0]
        field = str(first["loc"][0]) if first["loc"] else ""
        known = not field or field in cls.model_fields
        return InvalidValue(
            f"{cls.__name__} {field}".strip(),
            got=first["input"] if field else "fields that do not fit together",
            allowed=first["msg"].removeprefix("Value error, ")
            if known
            else f"the fields {', '.join(cls.model_fields)}",
            next_step="Correct the description.",
        )


class CandidateFamily(Described):
    """Candidates that change behaviour in one way.

    The true mean effect is ``fixed − broken``. Flips that happen between two runs of one version
    are the stream's ``noise`` and come on top, as often up as down.
    """

    name: str = Field(description="what figures and frames call it")
    weight: int = Field(default=1, ge=1, description="candidates in each round of the stream")
    fixed: float = Field(default=0.0, ge=0, le=1, description="share of tasks that it fixes")
    broken: float = Field(default=0.0, ge=0, le=1, description="share of tasks that it breaks")
    proxy_bias: float = Field(
        default=0.0, description="what the proposal-time proxy shows beyond the true effect"
    )
    satisfied: float = Field(
        default=0.9, ge=0, le=1, description="how often its own author calls it good"
    )
    cure: float = Field(
        default=0.0, ge=-1, le=1, description="share of the missing score gained on failure cases"
    )
    spill: float = Field(default=0.0, ge=-1, le=1, description="the same on protected cases")
    recurrence: float = Field(
        default=UNCURED, ge=0, le=1, description="share of live sessions with the failure again"
    )

    @property
    def effect(self) -> float:
        """True mean paired difference."""
        return self.fixed - self.broken


FAMILIES: Final = (
    CandidateFamily(
        name="large gain", weight=3, fixed=0.15, broken=0.01, cure=0.6, spill=0.1, recurrence=0.1
    ),
    CandidateFamily(
        name="small gain", weight=3, fixed=0.06, broken=0.01, cure=0.3, recurrence=0.3
    ),
    CandidateFamily(name="no effect", weight=6),
    CandidateFamily(
        name="plain harm", weight=3, fixed=0.03, broken=0.12, satisfied=0.6, cure=-0.1, spill=-0.2,
        recurrence=0.6,
    ),
    CandidateFamily(
        name="proxy gaming", weight=3, fixed=0.02, broken=0.10, proxy_bias=0.3, satisfied=0.95,
        spill=-0.1,
    ),
    CandidateFamily(
        name="rare harm", weight=2, fixed=0.14, broken=0.07, cure=0.5, spill=-0.2, recurrence=0.2
    ),
)  # fmt: skip
"""The default mixture [ours]: six of twenty gain, six do nothing, eight harm."""


class Truth(NamedTuple):
    """What is true of each candidate; arrays of shape (K,).

    ``regression_rate`` is P(d < 0) on a fresh task, run-to-run flips included; ``broken`` is the
    part of it that the change causes.
    """

    family: NDArray[np.str_]
    label: NDArray[np.str_]
    effect: Floats
    broken: Floats
    regression_rate: Floats


class Drawn(NamedTuple):
    """Candidates ``first`` to ``last`` of a stream, and the truth about them."""

    batch: Batch
    truth: Truth


class CandidateStream(Described):
    """K candidates over n tasks each, described in full.

    Notes
    -----
    A task scores 0 or 1: P(d = 1) = fixed + noise/2 and P(d = −1) = broken + noise/2. A session
    scores the share of ``checks`` that pass, each with the session's own probability. From
    ``pool`` sessions the lowest become failure cases and the highest protected cases when
    ``captured`` is ``lowest``, as a harness does; ``any`` takes them unseen. Each case is run
    again ``runs`` times without and with the change. With more than one check the scores of cases
    are graded, and rules for 0/1 scores do not apply. The proxy shows the true effect plus the
    family's bias plus Gaussian noise.

    A family is harmful when its effect is negative or it breaks more than ``tolerated``,
    beneficial when its effect is positive otherwise, else neutral.
    """

    families: tuple[CandidateFamily, ...] = Field(default=FAMILIES, min_length=1)
    candidates: int = Field(default=5_000, ge=1, description="K")
    tasks: int = Field(default=100, ge=1, description="fresh tasks for each candidate")
    base: float = Field(default=0.6, ge=0, le=1, description="success rate of the incumbent")
    noise: float = Field(default=0.04, ge=0, le=1, description="tasks that flip between two runs")
    proxy_noise: float = Field(default=0.1, ge=0, description="standard deviation of the proxy")
    tolerated: float = Field(default=0.05, ge=0, le=1, description="broken tasks that are no harm")
    captured: Literal["lowest", "any"] = Field(default="lowest", description="which sessions")
    pool: int = Field(default=40, ge=1, description="sessions that cases are captured from")
    failures: int = Field(default=3, ge=1, description="failure cases")
    protected: int = Field(default=2, ge=0, description="protected cases")
    checks: int = Field(default=1, ge=1, description="checks behind the score of a session")
    runs: int = Field(default=2, ge=1, description="replays of a case in each arm")
    sessions: int = Field(default=20, ge=1, description="live sessions under the candidate")
    sampling: Sampling = "iid"

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.failures + self.protected > self.pool:
            raise ValueError("the pool must hold as many sessions as there are cases")
        names = [family.name for family in self.families]
        if len(set(names)) < len(names):
            raise ValueError("families with a name of their own each")
        for family in self.families:
            up, down = family.fixed + self.noise / 2, family.broken + self.noise / 2
            if up > 1 - self.base + ROUNDING or down > self.base + ROUNDING:
                raise ValueError(
                    f"family {family.name} with noise fixes {up:g} and breaks {down:g} of the "
                    f"tasks; a base of {self.base:g} has room for {1 - self.base:g} and "
                    f"{self.base:g}"
                )
        return self

    def label(self, family: CandidateFamily) -> Label:
        """What the truth calls a family."""
        if family.effect < 0 or family.broken > self.tolerated:
            return "harmful"
        return "beneficial" if family.effect > 0 else "neutral"

    def truth(self, first: int, last: int) -> Truth:
        """The truth about candidates ``first`` to ``last``, the last one left out."""
        mine = self._members(first, last)
        broken = np.array([f.broken for f in mine])
        return Truth(
            np.array([f.name for f in mine], dtype=np.str_),
            np.array([self.label(f) for f in mine], dtype=np.str_),
            np.array([f.effect for f in mine]),
            broken,
            broken + self.noise / 2,
        )

    def draw(self, seed: int, first: int, last: int) -> Drawn:
        """Candidates ``first`` to ``last``, the last one left out.

        Parameters
        ----------
        seed : int
            In [0, 2⁶⁴).
        first, last : int
            0 ≤ first < last ≤ candidates.

        Raises
        ------
        InvalidValue
            When there is no such seed or there are no such candidates.
        """
        if not isinstance(seed, int | np.integer) or not 0 <= seed < 1 << 64:
            raise InvalidValue(
                "seed of a stream",
                got=seed,
                allowed="a whole number from 0 to 2**64 - 1",
                next_step="Choose another seed.",
            )
        whole = all(isinstance(k, int | np.integer) for k in (first, last))
        if not whole or not 0 <= first < last <= self.candidates:
            raise InvalidValue(
                "candidates to draw",
                got=f"{first} to {last}",
                allowed=f"0 <= first < last <= {self.candidates}",
                next_step="Ask for candidates of the stream.",
            )
        batch = self._batch(self._members(first, last), self._uniforms(seed, first, last))
        return Drawn(batch, self.truth(first, last))

    def _members(self, first: int, last: int) -> list[CandidateFamily]:
        """The family of each candidate: every round of the stream holds each by its weight."""
        one_round = [f for f in self.families for _ in range(f.weight)]
        return [one_round[k % len(one_round)] for k in range(first, last)]

    def _uniforms(self, seed: int, first: int, last: int) -> list[Floats]:
        """Uniform numbers by use, one row a candidate."""
        m = self.failures + self.protected
        widths = (self.tasks, self.tasks, 1, 1, self.sessions, self.pool, self.pool * self.checks,
                  m * self.runs * self.checks, m * self.runs * self.checks)  # fmt: skip
        rows = [
            np.random.Generator(
                np.random.Philox(key=np.array([seed, k], dtype=np.uint64))
            ).random(sum(widths))
            for k in range(first, last)
        ]  # fmt: skip
        return np.split(np.stack(rows), np.cumsum(widths)[:-1], axis=1)

    def _batch(self, mine: list[CandidateFamily], u: list[Floats]) -> Batch:
        incumbent = (u[0] < self.base).astype(np.float64)
        flips = [(f.fixed + self.noise / 2, f.broken + self.noise / 2) for f in mine]
        up, down = np.array(flips).T[:, :, None]
        # Given the incumbent's score, the chance that the candidate's differs.
        chance = np.where(
            incumbent > 0, down / max(self.base, 1e-300), up / max(1 - self.base, 1e-300)
        )
        bias = np.array([f.effect + f.proxy_bias for f in mine])
        return Batch(
            incumbent=incumbent,
            candidate=np.where(u[1] < chance, 1.0 - incumbent, incumbent),
            proxy=bias + self.proxy_noise * ndtri(u[2][:, 0]),
            satisfied=u[3][:, 0] < np.array([f.satisfied for f in mine]),
            recurrence=(u[4] < np.array([[f.recurrence] for f in mine])).astype(np.float64),
            cases=self._cases(mine, u[5:]),
            sampling=self.sampling,
        )

    def _cases(self, mine: list[CandidateFamily], u: list[Floats]) -> Cases:
        k, m = len(mine), self.failures + self.protected
        ability = ABILITY[0] + (ABILITY[1] - ABILITY[0]) * u[0]
        score = _passed(u[1].reshape(k, self.pool, self.checks), ability)
        order = np.tile(np.arange(self.pool), (k, 1))
        if self.captured == "lowest":
            order = np.argsort(score, axis=1, kind="stable")
        chosen = np.concatenate(
            [order[:, : self.failures], order[:, self.pool - self.protected :]], axis=1
        )
        true = np.take_along_axis(ability, chosen, axis=1)
        shift = np.array([[f.cure] * self.failures + [f.spill] * self.protected for f in mine])
        changed = np.where(shift >= 0, true + shift * (1 - true), true * (1 + shift))
        shape = (k, m, self.runs, self.checks)
        return Cases(
            (FAILURE,) * self.failures + (PROTECTED,) * self.protected,
            np.take_along_axis(score, chosen, axis=1),
            _passed(u[2].reshape(shape), true[..., None]),
            _passed(u[3].reshape(shape), changed[..., None]),
        )


def _passed(uniform: Floats, ability: Floats) -> Floats:
    """Share of checks that pass; the last axis of ``uniform`` holds the checks."""
    return np.asarray((uniform < ability[..., None]).mean(axis=-1))
