"""A rule's acceptance rate over a grid of effects, discordances and numbers of tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import product
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from logoslab.errors import InvalidValue
from logoslab.gate.registry import rule_named
from logoslab.gate.rule import Rule
from logoslab.stats import Characteristics, operating_characteristics
from logoslab.studies.designs import (
    Draw,
    PairedTasks,
    check_plannable,
    decider,
    label_of,
    several,
    whole_tasks,
)
from logoslab.studies.jobs import run_jobs, seed_of

if TYPE_CHECKING:
    import pandas as pd


TOGETHER: Final = 20
"""Points that share one draw of random numbers, and go to an executor as one job."""


class _Row(NamedTuple):
    rule: Rule
    points: tuple[tuple[PairedTasks, int], ...]
    largest: int
    seed: int
    runs: int


def surface(
    rule: str | Rule,
    *,
    effects: Sequence[float],
    n: int | Sequence[int],
    rng: np.random.Generator,
    discordance: float | Sequence[float] | None = None,
    noise: float | Sequence[float] | None = None,
    replicates: int = 1,
    simulations: int = 2_000,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Acceptance rate of one rule over a grid of effects, discordances (or noises) and n.

    Every point sees the same random numbers, and fewer tasks are the first of more, so that the
    surface is smooth and moves as the rule does.

    Parameters
    ----------
    rule : str or Rule
    effects : sequence of float
        In units of the score; 0 gives false adoption, and effects below 0 are harmful.
    n, discordance, noise : number or sequence
        One of discordance and noise, as in :func:`plan`.
    replicates, simulations, rng, executor
        As in :func:`plan`.

    Returns
    -------
    DataFrame
        Columns ``rule``, ``effect``, ``discordance``, ``noise``, ``n``, ``replicates``,
        ``accept``, ``low``, ``high`` (95 % Clopper-Pearson), ``expected_n``, ``simulations``. A
        combination that no law has stays in the frame with NaN.

    Raises
    ------
    InvalidValue
        On a value outside its domain or an unknown rule.
    EvidenceError
        When the rule needs more than paired scores.
    """
    import pandas as pd

    chosen = rule_named(rule) if isinstance(rule, str) else rule
    seed, sizes = seed_of(rng), whole_tasks(n)
    spread, spreads = _spread(discordance, noise)
    grid = list(product(spreads, several(effects), sizes))
    laws = [_law(spread, value, effect, replicates) for value, effect, _ in grid]
    possible = [(law, size) for law, (_, _, size) in zip(laws, grid, strict=True) if law]
    if possible:
        check_plannable(chosen, *possible[0], np.random.default_rng(seed))
    parts = [tuple(possible[at : at + TOGETHER]) for at in range(0, len(possible), TOGETHER)]
    jobs = [(_Row(chosen, part, max(sizes), seed, simulations),) for part in parts]
    rates = run_jobs(_walked, jobs, executor)
    found = iter([point for part in rates for point in part])
    rows = [
        {
            "rule": label_of(chosen),
            "effect": effect,
            "discordance": value if spread == "discordance" else math.nan,
            "noise": value if spread == "noise" else math.nan,
            "n": size,
            "replicates": replicates,
            **_point(next(found) if law else None),
            "simulations": simulations,
        }
        for law, (value, effect, size) in zip(laws, grid, strict=True)
    ]
    return pd.DataFrame(rows)


def _walked(row: _Row) -> list[Characteristics]:
    """The points of one row of a surface, all from one set of uniforms."""
    replicates = row.points[0][0].replicates
    shape = (row.runs, row.largest, replicates)
    uniform = np.random.default_rng(row.seed).random(shape)

    def point(law: PairedTasks, n: int) -> Draw:
        return lambda _rng, _runs: law.differences(uniform[:, :n])

    scenarios = {str(i): point(law, n) for i, (law, n) in enumerate(row.points)}
    found = operating_characteristics(
        decider(row.rule), scenarios, rng=np.random.default_rng(row.seed), runs=row.runs
    )
    return list(found.values())


def _law(spread: str, value: float, effect: float, replicates: int) -> PairedTasks | None:
    """The law of a point; None where the effect does not fit beside the discordance or noise."""
    law = (
        PairedTasks(0.0, discordance=value, replicates=replicates)
        if spread == "discordance"
        else PairedTasks(0.0, noise=value, replicates=replicates)
    )
    try:
        return law.at(effect)
    except InvalidValue:
        return None


def _spread(
    discordance: float | Sequence[float] | None, noise: float | Sequence[float] | None
) -> tuple[str, tuple[float, ...]]:
    if (discordance is None) == (noise is None):
        raise InvalidValue(
            "discordance and noise",
            got=f"discordance {discordance}, noise {noise}",
            allowed="exactly one of them",
            next_step="Give discordance for 0/1 scores, noise for any other score.",
        )
    given = noise if discordance is None else discordance
    return "noise" if discordance is None else "discordance", several(given)


def _point(found: Characteristics | None) -> dict[str, float]:
    names = ("accept", "low", "high", "expected_n")
    values = (math.nan,) * 4 if found is None else found[:4]
    return dict(zip(names, values, strict=True))
