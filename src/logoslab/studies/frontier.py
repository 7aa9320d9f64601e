"""The safety-power frontier: false adoption against power for each rule over its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from logoslab.gate.registry import default_rules, rule_named
from logoslab.gate.rule import Rule
from logoslab.studies.streams import CandidateStream
from logoslab.studies.summary import summary
from logoslab.studies.tournament import tournament

if TYPE_CHECKING:
    import pandas as pd

LEVELS: Final = (0.001, 0.01, 0.05, 0.1, 0.2, 0.4)
SWEEPS: Final[Mapping[str, tuple[str, Sequence[Any]]]] = {
    "paired": ("r_max", (0, 1, 2, 3, 4, 6, 8, 12)),
    "anytime": ("level", LEVELS),
    "validated_route": ("regression_cap", (0.0, 0.02, 0.05, 0.1, 0.2)),
    "proxy": ("threshold", (-0.2, -0.1, 0.0, 0.1, 0.2, 0.3)),
    "target_only": ("delta_prom", (0.05, 0.6)),
    "replay_captured": ("delta_reg", (0.05, 0.6)),
    "replay_narrowed": ("delta_reg", (0.05, 0.6)),
    "replay_controlled": ("min_gain", (0.05, 0.2, 0.4, 0.6, 0.8)),
    "forward_trial": ("sessions", (1, 2, 3, 5, 10, 20)),
    "corpus_guard": ("delta_reg", (0.05, 0.6)),
    # Its default also compares latencies, which a stream of scores does not have.
    "rollout": ("max_latency_ratio", (None,)),
    "minibatch_sum": ("size", (3, 10, 30, 100)),
    "mcnemar": ("level", LEVELS),
    "wilcoxon": ("level", LEVELS),
    "bootstrap_interval": ("alpha", LEVELS),
    "sprt": ("alpha", LEVELS),
    "e_value_pairs": ("level", LEVELS),
}
"""Rule → the parameter that trades safety for power, and its values. Other rules are one point."""
GROUPS: Final = ("LOGOS", "Self-Healing Harness", "AgentEvolver", "Autogenesis")
"""The papers, as rules name them in their source; the rest are tools outside the papers."""
ELSEWHERE: Final = "other tools"
ENDS: Final = ("", "_low", "_high")


class Point(NamedTuple):
    """One rule at one value of its parameter; ``default`` is the paper's own operating point."""

    rule: Rule
    parameter: str
    value: Any
    default: bool


def frontier(
    stream: CandidateStream | None = None,
    sweeps: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
    *,
    rng: np.random.Generator,
    executor: Executor | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """Where each rule stands between safety and power, on one stream, at each parameter value.

    Parameters
    ----------
    stream : CandidateStream, optional
    sweeps : mapping, optional
        Rule → (parameter, values). By default SWEEPS, and every other rule at its default alone.
        A rule's default is always among its points.
    rng : Generator
    executor : Executor, optional
    alpha : float, default 0.05
        Miss probability of the intervals.

    Returns
    -------
    DataFrame
        One row a point: ``rule``, ``group`` (the paper, or other tools), ``parameter``,
        ``value``, ``default``, ``judged``, ``false_adoption_rate`` and ``power`` with ``_low`` and
        ``_high``, ``evaluations``, ``net_utility``. A rule that the stream does not suit has
        missing rates.

    Raises
    ------
    InvalidValue
        On an unknown rule or parameter, or a value outside its range.
    """
    import pandas as pd

    points = points_of(sweeps)
    frame = tournament(
        stream or CandidateStream(),
        {label: point.rule for label, point in points.items()},
        rng=rng,
        executor=executor,
    )
    found = summary(frame, alpha=alpha)
    described = pd.DataFrame(
        [(p.rule.name, group_of(p.rule), p.parameter, p.value, p.default) for p in points.values()],
        columns=["rule", "group", "parameter", "value", "default"],
        dtype=object,
    ).astype({"default": bool})
    rates = [f"{rate}{end}" for rate in ("false_adoption_rate", "power") for end in ENDS]
    measured = found[["judged", *rates, "evaluations", "net_utility"]]
    return described.join(measured.reset_index(drop=True))


def points_of(sweeps: Mapping[str, tuple[str, Sequence[Any]]] | None = None) -> dict[str, Point]:
    """The points of a sweep by label; the default of each rule first.

    Raises
    ------
    InvalidValue
        On an unknown rule or parameter, or a value outside its range.
    """
    chosen = (
        {name: SWEEPS.get(name, ("", ())) for name in default_rules()} if sweeps is None else sweeps
    )
    points = {}
    for name, (parameter, values) in chosen.items():
        own = rule_named(name)
        at = getattr(own, parameter, None) if parameter else None
        points[name] = Point(own, parameter, at, True)
        for value in values:
            if value != at:
                rule = rule_named(name, **{parameter: value})
                points[f"{name} {parameter}={value}"] = Point(rule, parameter, value, False)
    return points


def group_of(rule: Rule) -> str:
    """The paper that a rule comes from, by its source."""
    return next((group for group in GROUPS if group in rule.source), ELSEWHERE)
