"""What a tournament says of each rule: errors beside power, and how far luck moves them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from scipy.special import ndtri

from logoslab.errors import InvalidValue
from logoslab.gate.asking import asked_many
from logoslab.stats import clopper_pearson
from logoslab.studies.jobs import require_alpha, seed_of, whole_numbers
from logoslab.studies.streams import CandidateStream
from logoslab.studies.tournament import CHUNK, Rules, labelled, tournament

if TYPE_CHECKING:
    import pandas as pd

MEANS: Final = ("missed_gain", "tasks", "evaluations", "cost", "net_utility")
READ: Final = ("rule", "truth", "decision", "accepted", *MEANS)
"""Columns of a tournament's frame that a summary reads."""
MEASURES: Final = ("adoption_rate", "false_adoption_rate", "power", "evaluations", "net_utility")
"""What :func:`replicates` follows from seed to seed."""


def summary(frame: pd.DataFrame, *, alpha: float = 0.05) -> pd.DataFrame:
    """One row a rule: how often it adopts, falsely and rightly, and what that costs.

    Parameters
    ----------
    frame : DataFrame
        From :func:`~logoslab.studies.tournament.tournament`.
    alpha : float, default 0.05
        Miss probability of each interval, in (0, 1).

    Returns
    -------
    DataFrame
        Indexed by rule. Rows that the rule could not judge are left out of every rate:
        ``candidates``, ``judged``; ``adoption_rate``; ``false_adoption_rate`` of candidates that
        are neutral or harmful, ``power`` of beneficial ones, each with its Clopper-Pearson
        interval (``_low``, ``_high``); ``false_per_100_null``, expected adoptions among 100
        neutral candidates; ``missed_gain``, ``tasks``, ``evaluations``, ``cost`` and
        ``net_utility`` (normal interval) as means over candidates. A rate without a candidate
        behind it is missing.

    Raises
    ------
    InvalidValue
        When alpha is not in (0, 1), or the frame is of something else.
    """
    import pandas as pd

    require_alpha("summary", alpha)
    absent = [column for column in READ if column not in frame]
    if absent:
        raise InvalidValue(
            "frame of a summary",
            got=f"no column {absent[0]}",
            allowed="a frame that a tournament returned",
            next_step="Pass the frame as it came.",
        )
    rows = {str(rule): _row(part, alpha) for rule, part in frame.groupby("rule", observed=True)}
    found = pd.DataFrame.from_dict(rows, orient="index").rename_axis("rule")
    counts = {"candidates": "Int64", "judged": "Int64"}
    return found.astype({name: counts.get(name, "Float64") for name in found.columns})


def replicates(
    stream: CandidateStream,
    rules: Rules | None = None,
    *,
    seeds: Iterable[int],
    executor: Executor | None = None,
) -> pd.DataFrame:
    """The same tournament on other draws: how much each rate moves from seed to seed.

    Parameters
    ----------
    seeds : iterable of int
        At least two different ones.

    Returns
    -------
    DataFrame
        Columns ``rule``, ``measure`` (see MEASURES), ``mean``, ``sd`` (between seeds), ``low``,
        ``high`` (least and greatest), ``seeds``.

    Raises
    ------
    InvalidValue
        With fewer than two seeds or one twice.
    """
    import pandas as pd

    chosen, judges = whole_numbers("seeds of replicates", seeds), labelled(rules)
    if len(chosen) < 2 or len(set(chosen)) < len(chosen):
        raise InvalidValue(
            "seeds of replicates",
            got=chosen,
            allowed="at least two different whole numbers",
            next_step="Pass for example range(5).",
        )
    runs = [
        summary(tournament(stream, judges, rng=np.random.default_rng(s), executor=executor))
        for s in chosen
    ]
    each = pd.concat([run[list(MEASURES)] for run in runs], keys=chosen, names=["seed", "rule"])
    tall = (
        each.reset_index()
        .melt(["seed", "rule"], list(MEASURES), var_name="measure")
        .astype({"value": np.float64})
    )
    spread = tall.groupby(["rule", "measure"], sort=False)["value"]
    found = spread.agg(mean="mean", sd="std", low="min", high="max").reset_index()
    return found.assign(seeds=len(chosen))


def order_replicates(
    stream: CandidateStream,
    rules: Rules | None = None,
    *,
    orders: int = 5,
    rng: np.random.Generator,
) -> pd.DataFrame:
    """The same evidence in other orders: how often a rule concludes something else.

    Parameters
    ----------
    orders : int, default 5
        Random orders of tasks and live sessions besides the drawn one, at least 1.
    rng : Generator
        Draws the stream and the orders.

    Returns
    -------
    DataFrame
        Indexed by rule: ``candidates``; ``changed``, the share of candidates whose conclusion
        differs in some order; ``flipped``, the share of (candidate, order) pairs whose acceptance
        differs. Both are 0 for a rule that reads its evidence as a set.

    Raises
    ------
    InvalidValue
        When orders is below 1.
    """
    import pandas as pd

    if not isinstance(orders, int) or orders < 1:
        raise InvalidValue(
            "orders", got=orders, allowed="a whole number of at least 1", next_step="Ask for more."
        )
    if not isinstance(stream, CandidateStream):
        raise InvalidValue(
            "stream of order replicates",
            got=repr(stream),
            allowed="a CandidateStream",
            next_step="Recorded evidence has one order; pass a stream that can be drawn.",
        )
    judges, seed = labelled(rules), seed_of(rng)
    changed = dict.fromkeys(judges, 0)
    flipped = dict.fromkeys(judges, 0)
    for first in range(0, stream.candidates, CHUNK):
        batch = stream.draw(seed, first, min(first + CHUNK, stream.candidates)).batch
        shuffled = [_shuffled(batch, rng) for _ in range(orders)]
        for label, rule in judges.items():
            drawn = asked_many(rule, batch)
            again = [asked_many(rule, other) for other in shuffled]
            differs = [other.conclusions != drawn.conclusions for other in again]
            changed[label] += int(np.any(differs, axis=0).sum())
            flipped[label] += sum(int((o.accepted != drawn.accepted).sum()) for o in again)
    total = stream.candidates
    return pd.DataFrame(
        {
            "candidates": total,
            "changed": {label: n / total for label, n in changed.items()},
            "flipped": {label: n / (total * orders) for label, n in flipped.items()},
        }
    ).rename_axis("rule")


def _shuffled(batch: Any, rng: np.random.Generator) -> Any:
    """The batch with its tasks, and its live sessions, in another order; both arms alike."""
    tasks = rng.permutation(batch.incumbent.shape[1])
    changes = {"incumbent": batch.incumbent[:, tasks], "candidate": batch.candidate[:, tasks]}
    if batch.recurrence is not None:
        sessions = rng.permutation(batch.recurrence.shape[1])
        changes["recurrence"] = batch.recurrence[:, sessions]
    return replace(batch, **changes)


def _row(part: pd.DataFrame, alpha: float) -> dict[str, Any]:
    judged = part[part["decision"] != "not_applicable"]
    bad, good = judged["truth"].isin(["neutral", "harmful"]), judged["truth"] == "beneficial"
    accepted = judged["accepted"]
    null = accepted[judged["truth"] == "neutral"]
    return {
        "candidates": len(part),
        "judged": len(judged),
        "adoption_rate": accepted.mean() if len(judged) else None,
        **_rate("false_adoption_rate", accepted[bad], alpha),
        **_rate("power", accepted[good], alpha),
        "false_per_100_null": 100 * null.mean() if len(null) else None,
        **{name: _mean(judged[name]) for name in MEANS},
        **_normal("net_utility", judged["net_utility"], alpha),
    }


def _rate(name: str, hits: pd.Series[bool], alpha: float) -> dict[str, float | None]:
    if hits.empty:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), None)
    low, high = clopper_pearson(int(hits.sum()), len(hits), alpha)
    return {name: float(hits.mean()), f"{name}_low": float(low), f"{name}_high": float(high)}


def _mean(values: pd.Series[float]) -> float | None:
    """The mean over candidates; missing when any of them is."""
    known = values.notna().all() and len(values)
    return float(values.mean()) if known else None


def _normal(name: str, values: pd.Series[float], alpha: float) -> dict[str, float | None]:
    mean = _mean(values)
    if mean is None or len(values) < 2:
        return dict.fromkeys((f"{name}_low", f"{name}_high"), None)
    half = -float(ndtri(alpha / 2)) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return {f"{name}_low": mean - half, f"{name}_high": mean + half}
