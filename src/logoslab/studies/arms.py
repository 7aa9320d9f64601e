"""Candidates without effect in three guises: identical, placebo, and replayed on captured cases.

Whatever a rule adopts here is luck, or regression to the mean: a case that was captured because it
scored low scores higher when it is run again, with or without a change.
"""

from __future__ import annotations

from concurrent.futures import Executor
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from logoslab.stats import clopper_pearson
from logoslab.studies.jobs import seed_of
from logoslab.studies.streams import CandidateFamily, CandidateStream
from logoslab.studies.tournament import Rules, labelled, tournament

if TYPE_CHECKING:
    import pandas as pd

ARMS: Final = ("a_a", "placebo", "captured")
"""The three null arms, in the order of the frame."""


def a_a_stream(like: CandidateStream | None = None) -> CandidateStream:
    """The same version against itself: only run-to-run flips are left, and cases taken unseen."""
    like = like or CandidateStream()
    return like.replace(families=(CandidateFamily(name="identical"),), captured="any")


def placebo_stream(like: CandidateStream | None = None) -> CandidateStream:
    """An irrelevant change: scores are drawn afresh from the incumbent's distribution.

    Both arms succeed independently at the base rate p, so 2p(1 − p) of the tasks differ.
    """
    like = like or CandidateStream()
    return like.replace(
        families=(CandidateFamily(name="placebo"),),
        noise=2 * like.base * (1 - like.base),
        captured="any",
    )


def captured_stream(like: CandidateStream | None = None) -> CandidateStream:
    """The A/A stream, replayed on cases that were captured because they scored low."""
    return a_a_stream(like).replace(captured="lowest")


def null_arms(
    rules: Rules | None = None,
    *,
    like: CandidateStream | None = None,
    rng: np.random.Generator,
    executor: Executor | None = None,
    alpha: float = 0.05,
) -> pd.DataFrame:
    """How often each rule adopts a candidate that changes nothing.

    Parameters
    ----------
    rules : iterable or mapping, optional
        As for :func:`~logoslab.studies.tournament.tournament`.
    like : CandidateStream, optional
        Sizes, base rate and noise; its families are replaced.
    rng : Generator
        Gives one seed, which all arms share: ``captured`` differs from ``a_a`` only in which
        sessions became cases, so the difference is regression to the mean.
    executor : Executor, optional
    alpha : float, default 0.05
        Miss probability of the intervals.

    Returns
    -------
    DataFrame
        One row a rule and arm: ``rule``, ``arm`` (see ARMS), ``candidates``, ``judged``,
        ``adopted``, and ``rate`` of those judged with its Clopper-Pearson interval ``low``,
        ``high``; the last three are missing for a rule that could judge none.
    """
    import pandas as pd

    judges, seed = labelled(rules), seed_of(rng)
    streams = dict(
        zip(ARMS, (a_a_stream(like), placebo_stream(like), captured_stream(like)), strict=True)
    )
    rows = []
    for arm, stream in streams.items():
        again = np.random.default_rng(seed)
        frame = tournament(stream, judges, rng=again, executor=executor)
        for rule, part in frame.groupby("rule", observed=True):
            rows.append({"rule": rule, "arm": arm, **_rate(part, alpha)})
    found = pd.DataFrame(rows)
    for column, order in (("rule", list(judges)), ("arm", list(ARMS))):
        found[column] = pd.Categorical(found[column], categories=order)
    found = found.astype(dict.fromkeys(("rate", "low", "high"), "Float64"))
    return found.sort_values(["rule", "arm"], ignore_index=True)


def _rate(part: pd.DataFrame, alpha: float) -> dict[str, Any]:
    judged = part[part["decision"] != "not_applicable"]
    adopted, n = int(judged["accepted"].sum()), len(judged)
    counts = {"candidates": len(part), "judged": n, "adopted": adopted}
    if not n:
        return {**counts, "rate": None, "low": None, "high": None}
    low, high = clopper_pearson(adopted, n, alpha)
    return {**counts, "rate": adopted / n, "low": float(low), "high": float(high)}
