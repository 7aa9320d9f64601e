"""Judge each pair on its gate half; measure on its report half what adopting it did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtrit

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import rule_named
from logoslab.gate.asking import asked, require_rule
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.task import Split, split_of
from logoslab.ports import AdmissionRule
from logoslab.stats.bootstrap import cluster_standard_error
from logoslab.stats.paired import mcnemar_exact
from logoslab.studies.histories.base import History, Pair
from logoslab.studies.histories.checks import SAME, cost_ratio
from logoslab.studies.jobs import as_list, require_alpha, run_jobs

Rules: TypeAlias = Iterable[str | AdmissionRule] | Mapping[str, str | AdmissionRule]
HALVES: Final[dict[Split, float]] = {"gate": 0.5, "report": 0.5}
SALT: Final = "release-histories-1"
REFUSED: Final = "refused"
"""Decision of every rule on a pair whose recording a check refuses: no rule is asked."""
OUTCOME: Final[dict[str, str]] = {
    "report_n": "Int64", "report_difference": "Float64", "report_error": "Float64",
    "report_low": "Float64", "report_high": "Float64", "report_fixed": "Int64",
    "report_broken": "Int64", "report_slices": "Int64", "report_slices_down": "Int64",
    "report_slices_worse": "string", "report_cost_ratio": "Float64",
}  # fmt: skip
"""Columns of an outcome and their types; what is not measured is NA."""


def judge_history(
    history: History,
    rules: Rules,
    *,
    pairs: Iterable[str] | None = None,
    salt: str = SALT,
    alpha: float = 0.05,
    executor: Executor | None = None,
) -> pd.DataFrame:
    """Every pair judged by every rule on the gate half, beside the outcome on the report half.

    Tasks fall into halves by a hash of their name, so a task is in the same half in every pair.
    The report half measures new tasks of the same repositories, families or questions.

    Parameters
    ----------
    history : History
    rules : iterable of str or AdmissionRule, or mapping
        A mapping names each row's rule by its key; otherwise by the rule's own name.
    pairs : iterable of str, optional
        Pair ids; by default all that the history lists.
    salt : str
        Of the hash that splits tasks.
    alpha : float, default 0.05
        The report half's interval misses with this probability; slices share it.
    executor : Executor, optional
        Pairs are judged in parallel; the numbers are the same. A process pool needs rules that
        can be pickled.

    Returns
    -------
    DataFrame
        One row a pair and rule: ``history``, ``pair``, ``relation``, ``baseline``, ``candidate``,
        ``rule``, ``decision`` (a conclusion, or ``refused`` when a check refuses the recording),
        ``reason``, ``adopted``, ``gate_n``, ``gate_difference`` and the columns of
        :func:`outcome`, which do not depend on the rule.

    Raises
    ------
    InvalidValue, SourceError
        On an unknown pair or rule, two rules of one name, alpha outside (0, 1), an executor that
        takes no work, or missing files.
    """
    require_alpha("history", alpha)
    listed = {pair.id: pair for pair in history.pairs()}
    chosen = list(listed.values()) if pairs is None else [
        listed.get(pair) or history.pair(pair) for pair in pairs
    ]  # fmt: skip
    common = (history, _labelled(rules), salt, alpha)
    parts = run_jobs(_judged, [(*common, pair) for pair in chosen], executor)
    rows = [row for part in parts for row in part]
    frame = pd.DataFrame(rows, columns=[*COLUMNS, *OUTCOME])
    return frame.astype({**OUTCOME, "gate_n": "Int64", "gate_difference": "Float64"})


COLUMNS: Final = (
    "history", "pair", "relation", "baseline", "candidate", "rule", "decision", "reason",
    "adopted", "gate_n", "gate_difference",
)  # fmt: skip


def adoptions(judged: pd.DataFrame) -> pd.DataFrame:
    """For each rule: what it adopted, and what that did on the report half.

    Parameters
    ----------
    judged : DataFrame
        From :func:`judge_history`.

    Returns
    -------
    DataFrame
        By rule: ``judged`` (pairs that it could judge), ``not_applicable``, ``refused``,
        ``adopted``, ``shown_better`` and ``shown_worse`` (adopted, and the report half's interval
        lies above or below 0), ``slice_worse`` (adopted, and a slice got worse),
        ``mean_difference`` of the adopted (NA when none), ``missed`` (judged, not adopted, and
        shown better).
    """
    rows = {str(rule): _adopted(part) for rule, part in judged.groupby("rule", sort=False)}
    frame = pd.DataFrame.from_dict(rows, orient="index")
    return frame.astype({"mean_difference": "Float64"}).rename_axis("rule")


def _adopted(part: pd.DataFrame) -> dict[str, Any]:
    silent = part["decision"].isin(["not_applicable", REFUSED])
    adopted = part["adopted"].astype(bool)
    better = (part["report_low"] > 0).fillna(False)
    worse = (part["report_high"] < 0).fillna(False)
    return {
        "judged": int((~silent).sum()),
        "not_applicable": int((part["decision"] == "not_applicable").sum()),
        "refused": int((part["decision"] == REFUSED).sum()),
        "adopted": int(adopted.sum()),
        "shown_better": int((adopted & better).sum()),
        "shown_worse": int((adopted & worse).sum()),
        "slice_worse": int((adopted & (part["report_slices_worse"].fillna("") != "")).sum()),
        "mean_difference": part.loc[adopted, "report_difference"].mean() if adopted.any() else None,
        "missed": int((~adopted & ~silent & better).sum()),
    }


def half(evidence: Evidence, which: Literal["gate", "report"], salt: str = SALT) -> Evidence:
    """The trials whose tasks fall into one half.

    Raises
    ------
    EvidenceError
        When no task does.
    """
    tasks = {t.task for t in evidence.trials}
    mine = {task for task in tasks if split_of(task, HALVES, salt) == which}
    if not mine:
        raise EvidenceError(
            f"{which} half",
            got=f"none of {len(tasks)} tasks",
            allowed="a task in each half",
            next_step="Choose another salt, or more tasks.",
        )
    return evidence.replace(trials=tuple(t for t in evidence.trials if t.task in mine))


def outcome(evidence: Evidence, *, clustered: bool = False, alpha: float = 0.05) -> dict[str, Any]:
    """What happened between two arms.

    Parameters
    ----------
    clustered : bool
        The interval then takes slices as clusters, when there are two or more. With few or very
        unequal clusters it is too narrow.
    alpha : float
        Of the interval and, divided by the number of slices, of each slice's test.

    Returns
    -------
    dict
        ``report_n`` tasks; ``report_difference`` with its standard ``error`` over tasks and the
        Student interval ``low``, ``high``; tasks ``fixed`` and ``broken``; number of ``slices``,
        of those whose mean fell (``slices_down``), and the names of those that got worse beyond
        chance (``slices_worse``, a one-sided sign test each); ``cost_ratio``, None when unknown.
    """
    require_alpha("history", alpha)
    pairs = evidence.pairs()
    d = pairs.difference
    slices = _slices(evidence, pairs)
    groups = slices if clustered and len(set(slices)) > 1 else None
    low, high = _interval(d, groups, alpha)
    down, worse = _fallen(d, slices, alpha)
    return {
        "report_n": len(d),
        "report_difference": float(d.mean()),
        "report_error": cluster_standard_error(d) if len(d) > 1 else None,
        "report_low": low,
        "report_high": high,
        "report_fixed": int((d > SAME).sum()),
        "report_broken": int((d < -SAME).sum()),
        "report_slices": len(set(slices)),
        "report_slices_down": down,
        "report_slices_worse": ", ".join(worse),
        "report_cost_ratio": cost_ratio(evidence),
    }


def _judged(
    history: History, rules: Mapping[str, AdmissionRule], salt: str, alpha: float, pair: Pair
) -> list[dict[str, Any]]:
    """Rows of one pair; module level, so that a process can be given it."""
    head: dict[str, Any] = {
        "history": history.name, "pair": pair.id, "relation": pair.relation,
        "baseline": pair.baseline, "candidate": pair.candidate,
    }  # fmt: skip
    try:
        whole = history.evidence(pair.id)
        gate, report = half(whole, "gate", salt), half(whole, "report", salt)
        measured = gate.pairs()
        after = outcome(report, clustered=pair.clustered, alpha=alpha)
        said = {name: asked(rule, gate) for name, rule in rules.items()}
    except EvidenceError as broken:
        return [
            {**head, "rule": name, "decision": REFUSED, "reason": str(broken), "adopted": False}
            for name in rules
        ]
    head |= {"gate_n": len(measured.tasks), "gate_difference": measured.difference.mean()}
    return [
        {**head, "rule": name, "decision": decision.conclusion.value, "reason": decision.reason,
         "adopted": decision.accepted, **after}
        for name, decision in said.items()
    ]  # fmt: skip


def _labelled(rules: Rules) -> dict[str, AdmissionRule]:
    given = (
        list(rules.items()) if isinstance(rules, Mapping) else [(None, r) for r in as_list(rules)]
    )
    named: dict[str, AdmissionRule] = {}
    for label, given_rule in given:
        rule = rule_named(given_rule) if isinstance(given_rule, str) else require_rule(given_rule)
        name = label or rule.name
        if name in named:
            raise InvalidValue(
                "rules of a history",
                got=f"two called {name}",
                allowed="one rule a name",
                next_step="Pass a mapping from your own labels to rules.",
            )
        named[name] = rule
    return named


def _slices(evidence: Evidence, pairs: Pairs) -> list[str]:
    of = {t.task: t.slice for t in evidence.trials}
    return [of[task] for task in pairs.tasks]


def _interval(
    d: NDArray[np.float64], groups: list[str] | None, alpha: float
) -> tuple[float | None, float | None]:
    units = len(d) if groups is None else len(set(groups))
    if units < 2:
        return None, None
    reach = float(stdtrit(units - 1, 1 - alpha / 2)) * cluster_standard_error(d, groups)
    return float(d.mean()) - reach, float(d.mean()) + reach


def _fallen(d: NDArray[np.float64], slices: list[str], alpha: float) -> tuple[int, list[str]]:
    """How many slices fell on their mean, and which fell beyond chance."""
    down, worse = 0, []
    names = sorted(set(slices))
    for name in names:
        part = d[[label == name for label in slices]]
        if part.mean() >= -SAME:
            continue
        down += 1
        p = mcnemar_exact(int((part > SAME).sum()), int((part < -SAME).sum()), alternative="less")
        if float(p) * len(names) <= alpha:
            worse.append(name)
    return down, worse
