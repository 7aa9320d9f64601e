"""LOGOS Q3: the common-candidate replay of table 13 and its 5,000-decision robustness run.

Five candidate families meet four gate rules. Only the rule changes; outputs, proxy signals and
safety metadata of a candidate are the same for all of them.

The paper gives the table, the number of seeds and families, and that net utility prices task
regressions and safety loss. It gives neither tasks, nor effect sizes, nor prices. What is filled in
here was chosen once and is listed by :func:`assumptions`; one number, the gain of the beneficial
family, is read off the table. So ordering and mechanism can agree with the paper; the third digit
can not, and the paper's two runs differ from each other in ways that it does not explain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import Executor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from logoslab.errors import InvalidValue
from logoslab.gate.registry import rule_named
from logoslab.ports import AdmissionRule
from logoslab.studies.jobs import run_jobs, seed_of
from logoslab.studies.streams import CandidateFamily, CandidateStream
from logoslab.studies.tournament import judge_recorded

if TYPE_CHECKING:
    import pandas as pd

CONDITIONS: Final = {
    "no_gate": "accept_all",
    "proxy": "proxy",
    "paired": "paired",
    "anytime_valid": "anytime",
}
"""The paper's name of each gate rule → ours, with its default parameters."""
UNSAFE: Final = "safety trade-off"
FAMILIES: Final = (
    CandidateFamily(name="beneficial", fixed=0.25),
    CandidateFamily(name="neutral", proxy_bias=0.05),
    CandidateFamily(name="harmful", fixed=0.05, broken=0.25),
    CandidateFamily(name="task-specific regression", fixed=0.20, broken=0.15, proxy_bias=0.05),
    CandidateFamily(name=UNSAFE, fixed=0.15),
)
CLASS: Final = {
    "beneficial": "beneficial",
    "neutral": "neutral",
    "harmful": "harmful",
    "task-specific regression": "harmful",
    UNSAFE: "harmful",
}
FORBIDDEN: Final = "tool:unapproved_write"
"""The previewed effect on record for a candidate of the unsafe family."""
SEEDS: Final = {"T13": 500, "T13b": 1_000}
"""Seeds of the table and of the robustness run; five decisions each."""
BLOCK: Final = 50
"""Seeds in one job of an executor."""
PAPER: Final[Mapping[str, Mapping[str, Mapping[str, float]]]] = {
    "T13": {
        "no_gate": {"adopt": 1.0, "beneficial": 0.2, "neutral": 0.2, "harmful": 0.6,
                    "net_utility": -0.083, "net_utility_pm": 0.003},
        "proxy": {"adopt": 0.8, "beneficial": 0.2, "neutral": 0.2, "harmful": 0.4,
                  "net_utility": 0.041, "net_utility_pm": 0.002},
        "paired": {"adopt": 0.2, "beneficial": 0.2, "neutral": 0.0, "harmful": 0.0,
                   "net_utility": 0.05, "net_utility_pm": 0.001},
        "anytime_valid": {"adopt": 0.198, "beneficial": 0.198, "neutral": 0.0, "harmful": 0.0,
                          "net_utility": 0.05, "net_utility_pm": 0.001},
    },
    "T13b": {
        "no_gate": {"harmful": 0.6, "net_utility": -0.156, "net_utility_pm": 0.002},
        "proxy": {"harmful": 0.4, "net_utility": 0.005, "net_utility_pm": 0.001},
        "paired": {"harmful": 0.0, "net_utility": 0.049, "net_utility_pm": 0.001},
        "anytime_valid": {"harmful": 0.0, "net_utility": 0.049, "net_utility_pm": 0.001},
    },
}  # fmt: skip
"""What the paper reports; shown beside ours and never used to compute it."""
ASSUMED: Final = (
    ("tasks in a replay", "100", "not given"),
    ("beneficial", "fixes 25 % of tasks", "read off the paired row: utility .050 / adoption .200"),
    ("neutral", "changes no score", "the paired gate adopts none, so it fixes no task cleanly"),
    ("harmful", "fixes 5 %, breaks 25 %; the proxy sees it", "sizes not given; the proxy rejects "
     "one of three harmful families"),
    ("task-specific regression", "fixes 20 %, breaks 15 %", "name from appendix G.8; size not "
     "given"),
    ("safety trade-off", "fixes 15 %, previews a forbidden effect", "name from appendix G.8; size "
     "not given"),
    ("proxy", "true mean effect, + .05 for neutral and task-specific, noise sd .02", "not given"),
    ("run-to-run flips", "none", "decisions are called deterministic"),
    ("net utility", "mean difference − 1 · regressed share − .25 if unsafe", "priced terms named, "
     "prices not given"),
    ("±", "half-width of a 95 % normal interval over seeds", "called seed-level harness "
     "uncertainty"),
    ("robustness run", "other seeds of the same families", "said to come from the same templates"),
)  # fmt: skip


def table13(
    *,
    rng: np.random.Generator,
    seeds: Mapping[str, int] = SEEDS,
    executor: Executor | None = None,
    tasks: int = 100,
    harm_price: float = 1.0,
    safety_price: float = 0.25,
) -> pd.DataFrame:
    """Replay the five families under the four rules, beside the paper's numbers.

    Parameters
    ----------
    rng : Generator
        Gives one seed for each run.
    seeds : mapping
        Run (``T13``, ``T13b``) → seeds, at least 2.
    executor : Executor, optional
    tasks : int, default 100
        Tasks in each replay.
    harm_price, safety_price : float, default 1 and 0.25
        Price of a regressed task, and of a candidate that loses safety.

    Returns
    -------
    DataFrame
        Columns ``run``, ``condition``, ``metric`` (``adopt``, its parts ``beneficial``,
        ``neutral``, ``harmful`` as shares of all decisions, ``net_utility`` per decision),
        ``ours``, ``ours_pm``, ``paper``, ``paper_pm``, ``difference``. What the paper does not
        report is missing.

    Raises
    ------
    InvalidValue
        On an unknown run, fewer than two seeds, or no task.
    """
    import pandas as pd

    found = []
    for run, count in seeds.items():
        if run not in PAPER or not isinstance(count, int) or count < 2:
            raise InvalidValue(
                "seeds of table 13",
                got=f"{run}: {count}",
                allowed=f"{' or '.join(PAPER)}, with at least 2 seeds",
                next_step="Choose a run of the paper and its number of seeds.",
            )
        stream = CandidateStream(
            families=FAMILIES, candidates=5 * count, tasks=tasks, noise=0.0, proxy_noise=0.02
        )
        decisions = replay(stream, rng=rng, executor=executor)
        paid = decisions.assign(
            net_utility=decisions["accepted"]
            * (
                decisions["gain"]
                - harm_price * decisions["regressed"]
                - safety_price * (decisions["family"] == UNSAFE)
            )
        )
        found += [_row(run, *key, values) for key, values in _by_seed(paid).items()]
    return pd.DataFrame(found)


def assumptions() -> pd.DataFrame:
    """What the paper leaves open, what is filled in here, and on what ground."""
    import pandas as pd

    return pd.DataFrame(ASSUMED, columns=["what", "chosen", "the paper"])


def replay(
    stream: CandidateStream, *, rng: np.random.Generator, executor: Executor | None = None
) -> pd.DataFrame:
    """Every decision: ``rule``, ``seed``, ``family``, ``accepted``, ``gain`` and ``regressed``.

    ``gain`` is the candidate's mean difference and ``regressed`` its share of regressed tasks, both
    as recorded.
    """
    import pandas as pd

    seed = seed_of(rng)
    step = BLOCK * len(FAMILIES)
    spans = [(a, min(a + step, stream.candidates)) for a in range(0, stream.candidates, step)]
    parts = run_jobs(decided, [(stream, seed, *span) for span in spans], executor)
    return pd.concat(parts, ignore_index=True)


def decided(stream: CandidateStream, seed: int, first: int, last: int) -> pd.DataFrame:
    """One job: the recorded evidence of some candidates under the four rules."""
    drawn = stream.draw(seed, first, last)
    batch = replace(drawn.batch, cases=None, recurrence=None, satisfied=None)
    recorded = [
        batch.evidence(k).replace(effects=(FORBIDDEN,) if family == UNSAFE else ())
        for k, family in enumerate(drawn.truth.family)
    ]
    rules: dict[str, AdmissionRule] = {
        condition: rule_named(name) for condition, name in CONDITIONS.items()
    }
    frame = judge_recorded(recorded, rules, first, None)
    at = frame["candidate"].to_numpy() - first
    d = batch.difference
    return frame[["rule", "accepted"]].assign(
        seed=frame["candidate"] // len(FAMILIES),
        family=drawn.truth.family[at],
        gain=d.mean(axis=1)[at],
        regressed=(d < 0).mean(axis=1)[at],
    )


def _by_seed(decisions: pd.DataFrame) -> dict[tuple[str, str], pd.Series[float]]:
    """(condition, metric) → the value of each seed, a mean over its five decisions."""
    kind = decisions["family"].map(CLASS)
    measured = decisions.assign(
        adopt=decisions["accepted"] * 1.0,
        **{name: (decisions["accepted"] & (kind == name)) * 1.0 for name in set(CLASS.values())},
    )
    metrics = ["adopt", "beneficial", "neutral", "harmful", "net_utility"]
    seeds = measured.groupby(["rule", "seed"], sort=False)[metrics].mean()
    return {
        (condition, metric): seeds.loc[condition][metric]
        for condition in CONDITIONS
        for metric in metrics
    }


def _row(run: str, condition: str, metric: str, values: pd.Series[float]) -> dict[str, object]:
    paper = PAPER[run][condition]
    ours, reported = float(values.mean()), paper.get(metric)
    return {
        "run": run,
        "condition": condition,
        "metric": metric,
        "ours": ours,
        "ours_pm": 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values)),
        "paper": math.nan if reported is None else reported,
        "paper_pm": paper.get(f"{metric}_pm", math.nan),
        "difference": math.nan if reported is None else ours - reported,
    }
