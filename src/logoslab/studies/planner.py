"""The planner: what a gate would let through, find and cost, before anything is run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import Executor
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.registry import all_rules, rule_named
from logoslab.gate.rule import Rule
from logoslab.stats import minimum_detectable_effect, operating_characteristics
from logoslab.studies.designs import (
    PairedTasks,
    check_plannable,
    decider,
    label_of,
    several,
    whole_tasks,
)
from logoslab.studies.jobs import as_list, run_jobs, seed_of
from logoslab.studies.plans import Design, NotPlanned, Plan

SAFELY: Final = 0.75
"""Share of the error at which rules with a level are planned as well.

A simulation cannot show that a rule holds the very level at which it errs.
"""
HALVINGS: Final = 7
"""Bisection steps for an end of the indifference region: 1/128 of the possible effects."""


class _Job(NamedTuple):
    rule: Rule
    tasks: PairedTasks
    n: int
    harm: float | None
    error: float
    power: float
    seed: int
    runs: int


def plan(
    *,
    effect: float,
    n: int | Sequence[int],
    rng: np.random.Generator,
    discordance: float | None = None,
    noise: float | None = None,
    delta_min: float | Sequence[float] | None = None,
    eps_reg: float | Sequence[float] = 0.0,
    r_max: int | Sequence[int] = 0,
    rho_max: float | Sequence[float] = 0.1,
    replicates: int | Sequence[int] = 1,
    harm: float | None = None,
    price: float | None = None,
    error: float = 0.05,
    power: float = 0.8,
    level: float | Sequence[float] | None = None,
    rules: str | Rule | Sequence[str | Rule] | None = None,
    simulations: int = 2_000,
    executor: Executor | None = None,
) -> Plan:
    """How each rule would do on paired tasks: false adoption, power, expected n, cost.

    Parameters
    ----------
    effect : float
        Gain E[candidate − incumbent] that should be found, above 0, in units of the score.
    n, replicates : int or sequence of int
        Tasks, and runs of each task and arm; every combination is planned.
    rng : numpy Generator
        Gives one seed; all designs see the random numbers of that seed.
    discordance, noise : float
        Exactly one: see :class:`~logoslab.studies.designs.PairedTasks`. The null is effect 0 at
        the same discordance or noise.
    delta_min, eps_reg, r_max, rho_max : number or sequence
        For every rule named in ``rules`` that has the parameter. Rule objects keep their own.
    level : float or sequence of float, optional
        ``alpha`` and ``level`` of the named rules that have one. By default ``error`` and three
        quarters of it: simulation hardly shows that a rule holds the level at which it errs.
    harm : float, optional
        A harmful effect, below 0; a design must not adopt it more often than ``error`` either.
    price : float, optional
        Of one evaluation, at least 0. Both arms are run: evaluations = 2 · replicates · tasks.
    error, power : float
        Tolerated false adoption and wanted power, 0 < error < power < 1.
    rules : str, Rule or sequence of them, optional
        By default every rule there is.
    simulations : int, default 2,000
        Simulated gates a scenario; each rate carries a 95 % Clopper-Pearson interval.
    executor : concurrent.futures.Executor, optional
        Runs the designs; the numbers are the same with and without.

    Returns
    -------
    Plan

    Raises
    ------
    InvalidValue
        On a value outside its domain, an impossible combination or an unknown rule.
    """
    _check_question(effect, harm, price, error, power, simulations)
    values = {
        "delta_min": several(delta_min) if delta_min is not None else (),
        "eps_reg": several(eps_reg),
        "r_max": several(r_max),
        "rho_max": several(rho_max),
    }
    levels = (error, round(SAFELY * error, 12)) if level is None else several(level)
    known = all_rules()
    chosen, refused = _chosen(
        list(known) if rules is None else as_list(rules), known, values, levels
    )
    seed = seed_of(rng)
    jobs = [
        _Job(rule, PairedTasks(effect, discordance, noise, b), size, harm, error, power, seed,
             simulations)
        for rule, size, b in product(chosen, whole_tasks(n), several(replicates))
    ]  # fmt: skip
    for job in jobs:
        job.tasks.at(0.0 if harm is None else harm)
    done = run_jobs(_planned, [(job,) for job in jobs], executor)
    refused += [found for found in done if isinstance(found, NotPlanned)]
    return Plan(
        designs=tuple(found for found in done if isinstance(found, Design)),
        not_planned=_once(refused),
        effect=effect,
        discordance=discordance,
        noise=noise,
        harm=harm,
        error=error,
        power=power,
        price=price,
        simulations=simulations,
    )


def _planned(job: _Job) -> Design | NotPlanned:
    rule, tasks, n = job.rule, job.tasks, job.n
    rng = np.random.default_rng(job.seed)
    scenarios = {"null": 0.0, "gain": tasks.effect, "harm": job.harm}
    draws = {name: tasks.at(e).draw(n) for name, e in scenarios.items() if e is not None}
    try:
        check_plannable(rule, tasks, n, np.random.default_rng(job.seed))
        found = operating_characteristics(
            decider(rule), draws, rng=rng, runs=job.runs, cost=2.0 * tasks.replicates
        )
        region = [_reached(job, rate) for rate in (job.error, job.power)]
    except EvidenceError as cause:
        return NotPlanned(label=label_of(rule), reason=str(cause.got))
    return Design(
        rule=rule.name,
        label=label_of(rule),
        params=rule.params,
        n=n,
        replicates=tasks.replicates,
        null=found["null"],
        gain=found["gain"],
        harm=found.get("harm"),
        indifferent_from=region[0],
        indifferent_to=region[1],
    )


def _reached(job: _Job, rate: float) -> float | None:
    """The smallest effect that is accepted at a rate, to 1/128 of the possible ones.

    It is the least possible one where that is accepted as well.
    """
    limit = job.tasks.largest_effect
    worst = job.tasks.at(-limit).draw(job.n)(np.random.default_rng(job.seed), job.runs)
    if decider(job.rule)(worst).accepted.mean() >= rate:
        return -limit
    return minimum_detectable_effect(
        decider(job.rule),
        lambda effect: job.tasks.at(effect).draw(job.n),
        seed=job.seed,
        low=-limit,
        high=limit,
        power=rate,
        runs=job.runs,
        steps=HALVINGS,
    ).effect


def _once(refused: Sequence[NotPlanned]) -> tuple[NotPlanned, ...]:
    """Each label once, and of labels of one rule with one reason the first."""
    labels = {found.label: found for found in reversed(refused)}
    kept = {(r.label.partition("(")[0], r.reason): r for r in labels.values()}
    return tuple(sorted(kept.values(), key=refused.index))


def _chosen(
    rules: Sequence[str | Rule],
    known: dict[str, type[Rule]],
    values: dict[str, tuple[Any, ...]],
    levels: tuple[float, ...],
) -> tuple[list[Rule], list[NotPlanned]]:
    """Rule objects: each named rule with every combination of the values that it has.

    ``alpha`` and ``level`` of one rule are one level.
    """
    chosen: list[Rule] = []
    refused: list[NotPlanned] = []
    for rule in rules:
        if isinstance(rule, Rule):
            chosen.append(rule)
            continue
        kind = known.get(rule) or type(rule_named(rule))
        fields = kind.model_fields
        axes = [[(k, v) for v in given] for k, given in values.items() if k in fields and given]
        named = [k for k in ("alpha", "level") if k in fields]
        own = {axis[0][0] for axis in axes} | set(named)
        absent = [k for k, f in fields.items() if f.is_required() and k not in own]
        if absent:
            reason = f"it has no default for {', '.join(absent)}; pass the rule as an object"
            refused.append(NotPlanned(label=rule, reason=reason))
            continue
        chosen += [
            kind(**dict(point), **dict.fromkeys(named, level))
            for level, *point in product(levels if named else levels[:1], *axes)
        ]
    return chosen, refused


def _check_question(
    effect: float, harm: float | None, price: float | None, error: float, power: float, runs: int
) -> None:
    checks = (
        ("effect", effect, effect > 0, "a gain above 0", "State the gain that should be found."),
        ("harm", harm, harm is None or harm < 0, "an effect below 0, or None", "State a loss."),
        ("price", price, price is None or 0 <= price < math.inf, "a price of at least 0, or None",
         "State the price of one evaluation, or leave it unknown."),
        ("error and power", f"{error:g} and {power:g}", 0 < error < power < 1,
         "0 < error < power < 1", "State the tolerated error and the wanted power."),
        ("simulations", runs, runs >= 2, "a whole number of at least 2", "Simulate more."),
    )  # fmt: skip
    for which, got, good, allowed, step in checks:
        if not good:
            raise InvalidValue(which, got=got, allowed=allowed, next_step=step)
