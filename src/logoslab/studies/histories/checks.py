"""What is wrong with a recording: typed findings with their numbers. Nothing is repaired here."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

import numpy as np
import pandas as pd
from scipy.special import bdtr, stdtrit

from logoslab.errors import EvidenceError
from logoslab.pack.base import Frozen
from logoslab.pack.evidence import Evidence
from logoslab.stats.bootstrap import cluster_standard_error

SAME: Final = 1e-9
"""Recorded rates are sums of tenths; a smaller difference is rounding."""


class Finding(Frozen):
    """One thing that a check noticed.

    Attributes
    ----------
    check : str
        Name of the check function.
    severity : str
        ``refuse``: no decision may rest on it. ``flag``: a reader must know it.
    subject : str
        What it is about: an arm, a slice, a pair.
    message : str
        In plain words, with the numbers.
    numbers : dict
        The numbers again, by name.
    """

    check: str
    severity: Literal["refuse", "flag"]
    subject: str
    message: str
    numbers: dict[str, float]


def refuse(findings: Iterable[Finding]) -> None:
    """Stop at the first finding that no decision may rest on.

    Raises
    ------
    EvidenceError
    """
    for finding in findings:
        if finding.severity == "refuse":
            raise EvidenceError(
                f"evidence on {finding.subject} ({finding.check})",
                got=finding.message,
                allowed="a recording that does not contradict itself",
                next_step="Record it again, or leave it out and say so.",
            )


def headline(
    subject: str, passed: int, n: int, stated: float, *, tolerance: float = 0.01
) -> Finding | None:
    """A published share against the per-task details that it claims to sum up.

    Parameters
    ----------
    passed, n : int
        Passed tasks and all tasks in the details.
    stated : float
        The headline, as a share in [0, 1].
    tolerance : float, default 0.01
        A larger gap is refused. A smaller one beyond the headline's printed digits (0.00005) is
        flagged: it may be another run of the same agent.
    """
    gap = abs(passed / n - stated)
    if gap <= 0.00005 + SAME:
        return None
    return Finding(
        check="headline",
        severity="refuse" if gap > tolerance else "flag",
        subject=subject,
        message=f"its details say {passed} of {n} ({passed / n:.1%}), its headline {stated:.1%}",
        numbers={"passed": passed, "n": n, "details": passed / n, "headline": stated},
    )


def same_tasks(subject: str, before: pd.Series[str], after: pd.Series[str]) -> Finding | None:
    """Two arms that ran different tasks: what is absent was not run, which is not a failure."""
    only_before, only_after = len(set(before) - set(after)), len(set(after) - set(before))
    if not only_before and not only_after:
        return None
    return Finding(
        check="same_tasks",
        severity="refuse",
        subject=subject,
        message=f"{only_before} tasks only in the baseline, {only_after} only in the candidate",
        numbers={"only_baseline": only_before, "only_candidate": only_after},
    )


def recorded_twice(subject: str, rows: pd.DataFrame) -> Finding | None:
    """One task and replicate in two rows of an arm: counting both would weigh the task twice."""
    key = ["task", "replicate"] if "replicate" in rows else ["task"]
    again = rows[key].duplicated()
    if not again.any():
        return None
    return Finding(
        check="recorded_twice",
        severity="refuse",
        subject=subject,
        message=f"{int(again.sum())} row(s) repeat a task"
        + (" and replicate" if "replicate" in rows else "")
        + f", {rows['task'][again].iloc[0]!r} first",
        numbers={"repeated": int(again.sum()), "rows": len(rows)},
    )


def broken_slices(
    subject: str,
    slices: pd.Series[str],
    values: pd.Series[float],
    *,
    chance: float,
    level: float = 0.001,
) -> tuple[Finding, ...]:
    """Slices whose 0/1 scores lie significantly below blind guessing: a parsing fault, not ability.

    Null hypothesis for each slice: Pr(pass) ≥ ``chance``; exact binomial tail, Bonferroni over
    slices.

    Parameters
    ----------
    chance : float
        Score of blind guessing, in (0, 1): 0.25 for questions with four options.
    level : float, default 0.001
        Probability of any false alarm.
    """
    found = []
    table = values.astype(float).groupby(slices).agg(["sum", "size"])
    overall = float(values.astype(float).mean())
    for name, passed, n in table.itertuples():
        p = min(1.0, float(bdtr(passed, n, chance)) * len(table))
        if p <= level:
            found.append(
                Finding(
                    check="broken_slices",
                    severity="refuse",
                    subject=f"{subject}, slice {name}",
                    message=f"{int(passed)} of {n} ({passed / n:.2%}) where guessing gives "
                    f"{chance:.0%} and all slices together {overall:.1%}: p {p:.2g}",
                    numbers={"passed": passed, "n": n, "accuracy": passed / n, "p": p},
                )
            )
    return tuple(found)


def moving_baseline(
    subject: str, before: pd.Series[float], after: pd.Series[float], *, tolerated: float = 0.05
) -> Finding | None:
    """Two recordings of one arm that disagree: a stored baseline is not a constant.

    Parameters
    ----------
    before, after : Series, index task
        Scores in the two recordings; tasks in both are compared.
    tolerated : float, default 0.05
        Share of changed tasks above which neither recording may stand in for the other.
    """
    both = pd.DataFrame({"before": before, "after": after}).dropna()
    changed = int(((both["after"] - both["before"]).abs() > SAME).sum())
    if not changed:
        return None
    old, new = float(both["before"].mean()), float(both["after"].mean())
    return Finding(
        check="moving_baseline",
        severity="refuse" if changed > tolerated * len(both) else "flag",
        subject=subject,
        message=f"{changed} of {len(both)} tasks were recorded differently; "
        f"the mean moved from {old:.4f} to {new:.4f}",
        numbers={"changed": changed, "n": len(both), "before": old, "after": new},
    )


def impossible_flips(
    subject: str, before: pd.Series[float], after: pd.Series[float]
) -> Finding | None:
    """Passes under a superset of the tests that failed: the recording is noisy.

    ``before`` and ``after`` are 0/1 on the same index. More tests can only turn 1 into 0, so each
    0 → 1 is an error of recording, and 1 → 0 cannot all be the weaker verifier's false accepts.
    """
    change = (after - before).dropna()
    lost, gained = int((change < -SAME).sum()), int((change > SAME).sum())
    if not gained:
        return None
    return Finding(
        check="impossible_flips",
        severity="flag",
        subject=subject,
        message=f"{gained} cells pass more tests after failing fewer; {lost} of "
        f"{int((before > SAME).sum())} accepts were withdrawn",
        numbers={"lost": lost, "gained": gained, "n": len(change), "accepts": float(before.sum())},
    )


def weighting(
    subject: str, tasks: pd.Series[str], values: pd.Series[float], *, tolerance: float = 0.001
) -> Finding | None:
    """Mean over runs against mean over tasks, where tasks were run unequally often."""
    by_run, by_task = float(values.mean()), float(values.groupby(tasks).mean().mean())
    if abs(by_run - by_task) <= tolerance:
        return None
    return Finding(
        check="weighting",
        severity="flag",
        subject=subject,
        message=f"the mean over runs is {by_run:.4f}, the mean over tasks {by_task:.4f}; "
        "evidence here is the mean over tasks",
        numbers={"runs": by_run, "tasks": by_task},
    )


def versions(subject: str, before: str | None, after: str | None) -> Finding | None:
    """Scores of two versions of a measurement, or of an unstated one: they do not compare."""
    old, new = (str(v or "unstated").removeprefix("v") for v in (before, after))
    if old == new != "unstated":
        return None
    return Finding(
        check="versions",
        severity="refuse",
        subject=subject,
        message=f"measured with version {old} and with version {new}",
        numbers={},
    )


def dearer(evidence: Evidence, *, alpha: float = 0.05, ratio: float = 1.1) -> Finding | None:
    """No detectable gain at a higher price, which a rule that reads scores only cannot see.

    Parameters
    ----------
    alpha : float, default 0.05
        The Student interval of the mean difference at this level must reach 0 or below.
    ratio : float, default 1.1
        Cost, candidate over incumbent, from which it is reported.
    """
    spent = cost_ratio(evidence)
    if spent is None or spent < ratio:
        return None
    d = evidence.pairs().difference
    error = cluster_standard_error(d)
    if d.mean() - stdtrit(len(d) - 1, 1 - alpha / 2) * error > 0:
        return None
    return Finding(
        check="dearer",
        severity="flag",
        subject=f"{evidence.incumbent} -> {evidence.candidate}",
        message=f"{spent:.2f} times the cost for a mean difference of {d.mean():+.4f} "
        f"(standard error {error:.4f})",
        numbers={"cost_ratio": spent, "mean_difference": float(d.mean()), "error": error},
    )


def cost_ratio(evidence: Evidence) -> float | None:
    """Mean cost per trial, candidate over incumbent; None when any cost is unknown."""
    cost: dict[str, list[float | None]] = {"incumbent": [], "candidate": []}
    for trial in evidence.trials:
        if trial.arm in cost:
            cost[trial.arm].append(trial.cost)
    known = {arm: [c for c in costs if c is not None] for arm, costs in cost.items()}
    if any(len(known[arm]) < len(cost[arm]) or not known[arm] for arm in cost):
        return None
    base = float(np.mean(known["incumbent"]))
    return float(np.mean(known["candidate"])) / base if base > 0 else None
