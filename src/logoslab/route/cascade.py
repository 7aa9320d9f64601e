"""The verification-gated cascade: enter where experience says it pays, escalate on rejection."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen
from logoslab.pack.run import Attempt, Routed
from logoslab.ports import Stage
from logoslab.route.stages import Accept, attempt_stage, passed, total_cost


class Experience(Frozen):
    """What one stage has shown on one dimension: a Beta posterior on verifier pass (Eq. 38).

    Attributes
    ----------
    alpha, beta : float
        Prior plus passes, prior plus failures. They track the verifier, not correctness.
    cost : float or None
        Exponential moving average over the attempts whose cost is known; None before the first.
    """

    alpha: float = Field(gt=0)
    beta: float = Field(gt=0)
    cost: float | None = None

    @property
    def mean(self) -> float:
        """Posterior mean α/(α+β)."""
        return self.alpha / (self.alpha + self.beta)

    @property
    def sd(self) -> float:
        """Posterior standard deviation √(αβ/((α+β)²(α+β+1)))."""
        total = self.alpha + self.beta
        return math.sqrt(self.alpha * self.beta / (total**2 * (total + 1)))

    def ucb(self, c_ucb: float) -> float:
        """min(1, mean + c·sd), the optimistic pass estimate (Eq. 82)."""
        return min(1.0, self.mean + c_ucb * self.sd)

    def after(self, accepted: bool, cost: float | None, weight: float) -> Experience:
        """The posterior after one attempt; an unknown cost leaves the average as it was."""
        if cost is not None and self.cost is not None:
            cost = (1 - weight) * self.cost + weight * cost
        return Experience(
            alpha=self.alpha + accepted,
            beta=self.beta + (not accepted),
            cost=self.cost if cost is None else cost,
        )


class Cascade:
    """Router over a ladder ordered cheap to strong (LOGOS §3.5.1, Eqs. 38, 39, 82).

    Parameters
    ----------
    t_acc : float, default 0.5
        Acceptance threshold in (0, 1]: enter at the first stage whose optimistic pass estimate
        reaches it, else at the last stage.
    c_ucb : float, default 2.0
        Posterior standard deviations of optimism, at least 0.
    prior : (float, float), default (1, 1)
        Beta prior of a stage nobody has tried. With the defaults a new stage is entered until it
        has failed four times in a row (estimates 1, 0.80, 0.64, 0.53, then 0.45).
    cost_weight : float, default 0.2
        Weight of the newest cost in the moving average, in (0, 1].

    Raises
    ------
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    One attempt of a stage is one Beta update, however many outputs it sampled; a stage that
    abstains has not passed. A stage that raises leaves no update. The router records no event:
    the caller does, from the :class:`~logoslab.pack.run.Routed` it gets.
    """

    def __init__(
        self,
        *,
        t_acc: float = 0.5,
        c_ucb: float = 2.0,
        prior: tuple[float, float] = (1.0, 1.0),
        cost_weight: float = 0.2,
    ) -> None:
        _require(0 < t_acc <= 1, "t_acc", t_acc, "a number in (0, 1]")
        _require(0 <= c_ucb < math.inf, "c_ucb", c_ucb, "a finite number of at least 0")
        _require(min(prior) > 0, "prior", prior, "two positive numbers")
        _require(0 < cost_weight <= 1, "cost_weight", cost_weight, "a number in (0, 1]")
        self.t_acc, self.c_ucb, self.cost_weight = t_acc, c_ucb, cost_weight
        self._blank = Experience(alpha=prior[0], beta=prior[1])
        self._seen: dict[tuple[str, str], Experience] = {}

    async def answer(self, dimension: str, stages: Sequence[Stage], accept: Accept) -> Routed:
        """Run stages from the entry upward and accept the first output the verifier passes.

        Raises
        ------
        InvalidValue
            When there is no stage, or two stages share a name.
        """
        names = [stage.name for stage in stages]
        _require(
            bool(names) and len(set(names)) == len(names), "stages", names,
            "at least one stage, each with its own name",
        )  # fmt: skip
        scores = {name: self.experience(dimension, name).ucb(self.c_ucb) for name in names}
        entry = self.entry(dimension, names)
        attempts: list[Attempt] = []
        for stage in stages[names.index(entry) :]:
            tried = await attempt_stage(stage, accept)
            attempts += tried
            self._learn(dimension, stage.name, passed(tried), total_cost(tried))
            if passed(tried):
                return _routed(tried[-1].output, stage.name, entry, attempts, scores)
        return _routed(None, None, entry, attempts, scores)

    def entry(self, dimension: str, stages: Sequence[str]) -> str:
        """s(d) of Eq. 39: the first stage name with UCB ≥ T_acc, else the last."""
        hopeful = (s for s in stages if self.experience(dimension, s).ucb(self.c_ucb) >= self.t_acc)
        return next(hopeful, stages[-1])

    def experience(self, dimension: str, stage: str) -> Experience:
        """The posterior of one stage on one dimension; the prior when it was never tried."""
        return self._seen.get((dimension, stage), self._blank)

    def snapshot(self) -> dict[str, Any]:
        """All experience as JSON: dimension → stage → alpha, beta, cost."""
        state: dict[str, Any] = {}
        for (dimension, stage), seen in sorted(self._seen.items()):
            state.setdefault(dimension, {})[stage] = seen.model_dump(mode="json")
        return {"version": 1, "experience": state}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Continue from a snapshot; what was learned here before is replaced.

        Raises
        ------
        InvalidValue
            When ``state`` is not what :meth:`snapshot` gives; nothing changes then.
        """
        try:
            if state["version"] != 1:
                raise KeyError("version 1")
            self._seen = {
                (dimension, stage): Experience.model_validate(seen)
                for dimension, per_stage in state["experience"].items()
                for stage, seen in per_stage.items()
            }
        except (KeyError, AttributeError, TypeError, ValidationError) as cause:
            raise InvalidValue(
                "router state",
                got=state,
                allowed="what Cascade.snapshot() returned",
                next_step="Take a new snapshot, or start without one.",
            ) from cause

    def _learn(self, dimension: str, stage: str, accepted: bool, cost: float | None) -> None:
        seen = self.experience(dimension, stage)
        self._seen[dimension, stage] = seen.after(accepted, cost, self.cost_weight)


def _routed(
    output: dict[str, Any] | None,
    stage: str | None,
    entry: str,
    attempts: list[Attempt],
    scores: dict[str, float],
) -> Routed:
    return Routed(output=output, stage=stage, entry=entry, attempts=tuple(attempts), scores=scores)


def _require(holds: bool, which: str, got: object, allowed: str) -> None:
    if not holds:
        raise InvalidValue(
            f"Cascade {which}", got=got, allowed=allowed, next_step="Choose a value in its domain."
        )
