"""The tournament: one stream of candidates, every admission rule, one tidy frame.

All rules judge the same draws (common random numbers), so differences between rules are not luck.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from numbers import Real
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from logoslab.errors import InvalidValue
from logoslab.gate.asking import asked, asked_many, require_rule
from logoslab.gate.batch import Batch, Outcomes
from logoslab.gate.guarded import Guarded
from logoslab.gate.registry import default_rules, rule_named
from logoslab.gate.rule import PairedRule
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence
from logoslab.pack.needs import Needs
from logoslab.ports import AdmissionRule
from logoslab.studies.jobs import as_list, run_jobs, seed_of
from logoslab.studies.streams import CandidateStream

if TYPE_CHECKING:
    import pandas as pd

Rules = Iterable[str | AdmissionRule] | Mapping[str, str | AdmissionRule]

CHUNK: Final = 250
"""Candidates in one job of an executor."""
COLUMNS: Final = (
    "rule", "candidate", "family", "truth", "effect", "broken", "regression_rate", "decision",
    "accepted", "tasks", "evaluations", "cost", "false_adoption", "missed_gain", "net_utility",
)  # fmt: skip


def tournament(
    stream: CandidateStream | Iterable[Evidence],
    rules: Rules | None = None,
    *,
    rng: np.random.Generator,
    executor: Executor | None = None,
    price: float | None = None,
    harm_price: float = 1.0,
) -> pd.DataFrame:
    """Judge every candidate of a stream with every rule.

    Parameters
    ----------
    stream : CandidateStream or iterable of Evidence
        Candidates of known truth, or real histories, whose truth columns are missing.
    rules : iterable or mapping, optional
        Names, rule objects, or label → either. An object needs ``name`` and ``decide`` only. By
        default every rule of :func:`logoslab.rules` with its default parameters.
    rng : Generator
        Gives the stream's seed; one number is read from it.
    executor : Executor, optional
        Any ``concurrent.futures.Executor``: threads, processes, loky, a Dask client's
        ``get_executor()``. The numbers are the same with each and without.
    price : float, optional
        Price of one evaluation. Without it cost is missing, except where every trial states its
        own.
    harm_price : float, default 1
        What a broken task costs beyond its lost score, at least 0.

    Returns
    -------
    DataFrame
        One row a rule and candidate, rules in the given order:

        ``decision``, ``accepted``; ``tasks``, the tasks that the rule used before it decided, its
        time to decision; ``evaluations``, runs spent on them, each fresh arm and replicate counted
        and captured scores free; ``cost``. Then against the truth: ``family``, ``truth``
        (beneficial, neutral, harmful), ``effect``, ``broken``, ``regression_rate``;
        ``false_adoption``, accepted and not beneficial; ``missed_gain``, the effect of a
        beneficial candidate that was not accepted; ``net_utility``, effect − harm_price · broken
        if accepted, else 0.

    Raises
    ------
    InvalidValue
        On an unknown rule or one that breaks, two rules of one label, an empty stream, a negative
        price, no generator, or an executor that takes no work.
    """
    import pandas as pd

    judges = labelled(rules)
    _at_least_0("price", price)
    _at_least_0("harm_price", harm_price)
    call, jobs = _jobs(stream, judges, seed_of(rng), price)
    frame = pd.concat(run_jobs(call, jobs, executor), ignore_index=True)
    frame["rule"] = pd.Categorical(frame["rule"], categories=list(judges))
    frame = frame.sort_values(["rule", "candidate"], kind="stable", ignore_index=True)
    return _against_truth(frame, harm_price)[list(COLUMNS)]


def labelled(rules: Rules | None) -> dict[str, AdmissionRule]:
    """Rules by label: a mapping's own labels, otherwise their names.

    Raises
    ------
    InvalidValue
        On an unknown name, two rules of one label, no rule at all, or something that is no rule.
    """
    if rules is None:
        return dict(default_rules())
    if isinstance(rules, Mapping):
        found = [(str(label), _rule(rule)) for label, rule in rules.items()]
    else:
        objects = [_rule(rule) for rule in as_list(rules)]
        found = [(rule.name, rule) for rule in objects]
    labels = [label for label, _ in found]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice or not found:
        raise InvalidValue(
            "rules of a tournament",
            got=f"more than one {', '.join(twice)}" if twice else "none",
            allowed="at least one rule, each with a label of its own",
            next_step="Pass a mapping from label to rule.",
        )
    return dict(found)


def evaluations_per_task(rule: AdmissionRule, batch: Batch) -> int:
    """Runs that one task or case of a batch costs the rule.

    One a fresh arm, times the replicates where cases are replayed. A rule that reads no arm (a
    proxy, a flag, live sessions) spends one run on each.
    """
    needs: Needs = getattr(rule, "needs", Needs())
    fresh = [arm for arm in needs.arms if arm != "captured"]
    replays = {"captured", "control"} & set(needs.arms) or {"failure", "protected"} & set(
        needs.roles
    )
    runs = batch.cases.candidate.shape[2] if replays and batch.cases is not None else 1
    return max(1, len(fresh) * runs)


Jobs = tuple[Callable[..., "pd.DataFrame"], list[tuple[Any, ...]]]


def _jobs(
    stream: CandidateStream | Iterable[Evidence],
    rules: dict[str, AdmissionRule],
    seed: int,
    price: float | None,
) -> Jobs:
    if isinstance(stream, CandidateStream):
        spans = _spans(stream.candidates)
        return judge_drawn, [(stream, rules, seed, *span, price) for span in spans]
    recorded = list(stream) if isinstance(stream, Iterable) else []
    if not recorded or not all(isinstance(evidence, Evidence) for evidence in recorded):
        raise InvalidValue(
            "stream of a tournament",
            got=repr(stream) if recorded or not isinstance(stream, Iterable) else "no evidence",
            allowed="a CandidateStream or at least one Evidence",
            next_step="Pass the histories to judge.",
        )
    spans = _spans(len(recorded))
    return judge_recorded, [(recorded[a:b], rules, a, price) for a, b in spans]


def _spans(total: int) -> list[tuple[int, int]]:
    return [(first, min(first + CHUNK, total)) for first in range(0, total, CHUNK)]


def judge_drawn(
    stream: CandidateStream,
    rules: dict[str, AdmissionRule],
    seed: int,
    first: int,
    last: int,
    price: float | None,
) -> pd.DataFrame:
    """One job: draw some candidates and judge them with every rule."""
    import pandas as pd

    batch, truth = stream.draw(seed, first, last)
    parts = []
    for label, rule in rules.items():
        found = asked_many(rule, batch)
        spent = found.tasks * evaluations_per_task(rule, batch)
        cost = np.full(len(batch), math.nan) if price is None else spent * price
        parts.append(_part(label, np.arange(first, last), found, spent, cost))
    facts = pd.concat([pd.DataFrame(truth._asdict())] * len(rules), ignore_index=True)
    return pd.concat(parts, ignore_index=True).join(facts.rename(columns={"label": "truth"}))


def judge_recorded(
    histories: Sequence[Evidence],
    rules: dict[str, AdmissionRule],
    first: int,
    price: float | None,
) -> pd.DataFrame:
    """One job: judge recorded evidence, about which no truth is known."""
    import pandas as pd

    parts = []
    for label, rule in rules.items():
        made = [asked(rule, evidence) for evidence in histories]
        found = Outcomes.of(made)
        bills = [_bill(rule, e, d.tasks, price) for e, d in zip(histories, made, strict=True)]
        spent, cost = np.array(bills, dtype=np.float64).T
        at = np.arange(first, first + len(histories))
        parts.append(_part(label, at, found, spent.astype(np.int64), cost))
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(
        family=None, truth=None, effect=math.nan, broken=math.nan, regression_rate=math.nan
    )


def _part(label: str, candidate: Any, found: Outcomes, spent: Any, cost: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {
            "rule": label,
            "candidate": candidate,
            "decision": found.conclusions,
            "accepted": found.accepted,
            "tasks": found.tasks,
            "evaluations": spent,
            "cost": cost,
        }
    )


def _bill(
    rule: AdmissionRule, evidence: Evidence, tasks: int, price: float | None
) -> tuple[int, float]:
    """Fresh runs of the first ``tasks`` tasks, and what they cost; NaN is unknown.

    A task is one that the first arm of the rule measured: cases are told from paired tasks by it.
    A task that the sampler drew again was run once.
    """
    needs: Needs = getattr(rule, "needs", Needs())
    metric = getattr(rule, "metric", "score")
    mine = [t for t in evidence.trials if t.metric == metric and t.arm in needs.arms]
    arrival = {t.task: t.order for t in reversed(mine) if t.arm in needs.arms[:1]}
    order = sorted(arrival, key=lambda task: (arrival[task], task))
    if _reads_draws(rule) and evidence.draws:
        order = [task for task in evidence.draws if task in arrival]
    first = set(order[:tasks])
    runs = [t for t in mine if t.task in first and t.arm != "captured"]
    known = [t.cost for t in runs if t.cost is not None]
    if runs and len(known) == len(runs):
        return len(runs), math.fsum(known)
    return len(runs), math.nan if price is None else len(runs) * price


def _reads_draws(rule: AdmissionRule) -> bool:
    inner = rule.rule if isinstance(rule, Guarded) else rule
    return isinstance(inner, PairedRule) and inner.sequential


def _against_truth(frame: pd.DataFrame, harm_price: float) -> pd.DataFrame:
    """Columns that compare with the truth; missing where it is unknown."""
    import pandas as pd

    known = frame["truth"].notna()
    good = frame["truth"] == "beneficial"
    frame = frame.astype(dict.fromkeys(("effect", "broken", "regression_rate", "cost"), "Float64"))
    utility = frame["effect"] - harm_price * frame["broken"]
    return frame.assign(
        family=pd.Categorical(frame["family"]),
        truth=pd.Categorical(frame["truth"], categories=["beneficial", "neutral", "harmful"]),
        decision=pd.Categorical(frame["decision"], categories=[c.value for c in Conclusion]),
        false_adoption=(frame["accepted"] & ~good).astype("boolean").where(known),
        missed_gain=frame["effect"].where(good & ~frame["accepted"], 0.0).where(known),
        net_utility=utility.where(frame["accepted"], 0.0).where(known),
    )


def _rule(rule: Any) -> AdmissionRule:
    return rule_named(rule) if isinstance(rule, str) else require_rule(rule)


def _at_least_0(which: str, value: float | None) -> None:
    if value is None:
        return
    if not (isinstance(value, Real) and math.isfinite(value) and value >= 0):
        raise InvalidValue(
            f"{which} of a tournament",
            got=value,
            allowed="a finite number of at least 0",
            next_step="Choose a value in this domain.",
        )
