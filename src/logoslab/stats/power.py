"""What a decision rule would do, by simulation: false adoption, power, sample size, cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy.special import bdtrc

from logoslab.errors import EvidenceError
from logoslab.stats._check import Bools, Floats, open_unit, positive, whole
from logoslab.stats.adoption import adoption_p_values
from logoslab.stats.intervals import clopper_pearson


class Decisions(NamedTuple):
    """Of many simulated runs: accepted or not, and observations used; each of shape (runs,)."""

    accepted: Bools
    used: Floats


Decide = Callable[[Floats], Decisions]
Draw = Callable[[np.random.Generator, int], Floats]


class Characteristics(NamedTuple):
    """Acceptance rate and sample size in one scenario, with Monte-Carlo error.

    `accept_low` and `accept_high` are a 95 % Clopper-Pearson interval for the acceptance rate: the
    false-adoption rate where nothing improved, the power where something did.
    """

    accept_rate: float
    accept_low: float
    accept_high: float
    mean_used: float
    used_error: float
    mean_cost: float
    runs: int


class DetectableEffect(NamedTuple):
    """Smallest simulated effect that reaches the wanted power, and that power with its error."""

    effect: float | None
    power: float
    power_error: float
    runs: int


class NullAudit(NamedTuple):
    """False adoptions on identical arms, and the chance of so many if the level holds."""

    false_adoptions: int
    runs: int
    level: float
    chance: float

    @property
    def passed(self) -> bool:
        """Whether the count is compatible with the level, at one in a million."""
        return self.chance > 1e-6


def operating_characteristics(
    decide: Decide,
    scenarios: Mapping[str, Draw],
    *,
    rng: np.random.Generator,
    runs: int = 2_000,
    cost: float = 1.0,
) -> dict[str, Characteristics]:
    """Simulate a decision function in named scenarios.

    Parameters
    ----------
    decide : callable
        Takes observations of shape (runs, n) and returns `Decisions`.
    scenarios : mapping of str to callable
        Each draws observations: (rng, runs) → array of shape (runs, n).
    rng : numpy Generator
    runs : int
        Simulated runs in each scenario.
    cost : float
        Cost of one observation, above 0.

    Returns
    -------
    dict of str to Characteristics

    Raises
    ------
    EvidenceError
        When `decide` does not return one decision for each run.
    """
    positive(cost, "cost")
    return {
        name: _characteristics(_decided(decide, draw, rng, whole(runs, 2, "runs")), cost)
        for name, draw in scenarios.items()
    }


def minimum_detectable_effect(
    decide: Decide,
    draw_at: Callable[[float], Draw],
    *,
    seed: int,
    low: float,
    high: float,
    power: float = 0.8,
    runs: int = 1_000,
    steps: int = 12,
) -> DetectableEffect:
    """Bisect for the smallest effect whose simulated power reaches `power`.

    Every effect is simulated from the same `seed`, so power moves smoothly with the effect when
    the sampler uses its random numbers in a fixed order. `effect` is None when even `high` falls
    short. Power must not fall with the effect.
    """
    open_unit(power, "power")
    whole(runs, 2, "runs")

    def power_at(effect: float) -> float:
        decisions = _decided(decide, draw_at(effect), np.random.default_rng(seed), runs)
        return float(decisions.accepted.mean())

    reached = power_at(high)
    if reached < power:
        return DetectableEffect(None, reached, _rate_error(reached, runs), runs)
    below, above = low, high
    for _ in range(whole(steps, 1, "steps")):
        middle = 0.5 * (below + above)
        found = power_at(middle)
        if found >= power:
            above, reached = middle, found
        else:
            below = middle
    return DetectableEffect(above, reached, _rate_error(reached, runs), runs)


def null_audit(
    decide: Decide, draw: Draw, *, level: float, rng: np.random.Generator, runs: int = 2_000
) -> NullAudit:
    """A/A self-test: draw runs in which nothing improved and count how often `decide` accepts.

    The chance is P(Binomial(runs, level) >= false adoptions), exact for independent runs.
    """
    open_unit(level, "level")
    decisions = _decided(decide, draw, rng, whole(runs, 2, "runs"))
    found = int(decisions.accepted.sum())
    chance = float(bdtrc(found - 1, runs, level)) if found else 1.0
    return NullAudit(found, runs, level, chance)


def first_crossing(log_wealth: Floats, level: float) -> Decisions:
    """Accept at the first time log wealth reaches log(1/level); rows are runs.

    A run that never crosses uses every observation.
    """
    crossed = np.asarray(log_wealth) >= -math.log(open_unit(level, "level"))
    accepted = np.asarray(crossed.any(axis=1))
    used = np.where(accepted, crossed.argmax(axis=1) + 1, crossed.shape[1])
    return Decisions(accepted, used.astype(np.float64))


def adoption_decider(
    level: float, *, delta_min: float = 0.0, eps_reg: float = 0.0, rho_max: float = 0.05
) -> Decide:
    """The anytime gate as a decision function on paired differences of shape (runs, n)."""

    def decide(d: Floats) -> Decisions:
        limits = {"delta_min": delta_min, "eps_reg": eps_reg, "rho_max": rho_max}
        p = adoption_p_values(d, **limits).composite
        return first_crossing(-np.log(p), level)

    return decide


def _decided(decide: Decide, draw: Draw, rng: np.random.Generator, runs: int) -> Decisions:
    decisions = decide(draw(rng, runs))
    if np.shape(decisions.accepted) != (runs,) or np.shape(decisions.used) != (runs,):
        raise EvidenceError(
            "decide",
            got=f"shapes {np.shape(decisions.accepted)} and {np.shape(decisions.used)}",
            allowed=f"one decision and one count for each of {runs} runs",
            next_step="Return Decisions(accepted, used) over the rows.",
        )
    return decisions


def _characteristics(decisions: Decisions, cost: float) -> Characteristics:
    runs = len(decisions.accepted)
    found, used = int(decisions.accepted.sum()), np.asarray(decisions.used, dtype=np.float64)
    low, high = clopper_pearson(found, runs)
    error = float(used.std(ddof=1) / math.sqrt(runs))
    mean = float(used.mean())
    return Characteristics(found / runs, float(low), float(high), mean, error, cost * mean, runs)


def _rate_error(rate: float, runs: int) -> float:
    return math.sqrt(rate * (1.0 - rate) / runs)
