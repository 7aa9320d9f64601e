"""Two agents' results and one question: may the new one ship?"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from pydantic import ValidationError

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import rule_named
from logoslab.gate.rule import range_of
from logoslab.interop import Results, read_results
from logoslab.interop.read import Source, label_of
from logoslab.interop.reading import HeadlinePolicy
from logoslab.interop.results import refuse_mixed_scale, scale_error
from logoslab.lifecycle.changes import (
    ROUNDING,
    measured,
    measured_change,
    on_unit_scale,
    paired_interval,
    slice_changes,
)
from logoslab.lifecycle.comparison import Comparison, Verdict
from logoslab.lifecycle.comparison_notes import notes_on
from logoslab.lifecycle.direction import oriented
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs, Sampling
from logoslab.pack.policy import Evaluator
from logoslab.ports import AdmissionRule
from logoslab.stats import SamplingContract

OWN: Final = {"delta_min": None, "r_max": 0, "eps_reg": 0.0, "rho_max": 0.1}
"""Parameters that belong to rules, with the values that ask for nothing."""
MEASURED: Final = {"cost": attrgetter("costs"), "latency": attrgetter("latencies")}


def compare(
    old: Source,
    new: Source,
    *,
    rule: str | AdmissionRule | Sequence[str | AdmissionRule] = ("paired", "anytime"),
    alpha: float = 0.05,
    delta_min: float | None = None,
    r_max: int = 0,
    eps_reg: float = 0.0,
    rho_max: float = 0.1,
    m_fail: float = 0.0,
    sampling: Sampling = "fixed_holdout",
    task: str | None = None,
    score: str | None = None,
    replicate: str | None = None,
    slice: str | None = None,
    cost: str | None = None,
    latency: str | None = None,
    headline: HeadlinePolicy = "check",
    lower_is_better: bool | None = None,
) -> Comparison:
    """Compare two agents task by task and ask admission rules whether the new one may ship.

    Parameters
    ----------
    old, new : path, DataFrame, Series or mapping task → score, or Results
        See :func:`logoslab.interop.read_results`. Tasks arrive in the order of ``old``.
    rule : str, rule or several
        Names of :func:`logoslab.gate.rules`, or rule objects.
    alpha : float, default 0.05
        Error level of the rules that have one, and of the intervals, in (0, 1).
    delta_min, r_max, eps_reg, rho_max, m_fail
        Parameters of the rules that have them, as in the root policy. Score of a task that the new
        agent did not return: ``m_fail``.
    sampling : {"fixed_holdout", "iid", "with_replacement", "shared_pool"}
        How the tasks were drawn: it decides which claim a sequential rule may make.
    task, score, replicate, slice, cost, latency, headline
        As in :func:`~logoslab.interop.read_results`, for both sources.
    lower_is_better : bool, optional
        Whether the score is a loss; it is then judged with a minus, ``m_fail`` too. None is False,
        and refused for a score column whose name sounds like a loss.

    Returns
    -------
    Comparison
        A task that only ``old`` has counts as a failure of ``new``; one
        that only ``new`` has a score for is left out, for want of a baseline. Both are noted.
        Sources of one name are told apart as (old) and (new).

    Raises
    ------
    SourceError
        When a source cannot be read as it stands, or the two are on different scales.
    EvidenceError
        When they share no task, give one task two slices, or hold a score too large to be summed.
    InvalidValue
        For an unknown rule, a parameter outside its domain, a score that sounds like a loss when
        nobody said, or an ``m_fail`` by which a failed run would be the best one.
    """
    asked: dict[str, Any] = {"task": task, "score": score, "replicate": replicate, "slice": slice,
                             "cost": cost, "latency": latency, "headline": headline}  # fmt: skip
    mine, yours = label_of(old), label_of(new)
    if mine == yours:
        mine, yours = f"{mine} (old)", f"{yours} (new)"
    before, after = read_results(old, name=mine, **asked), read_results(new, name=yours, **asked)
    _refuse_two_scales(before, after)
    before, after, m_fail = oriented(before, after, m_fail, lower_is_better)
    rules = _rules(rule, {"alpha": alpha, "delta_min": delta_min, "r_max": r_max,
                          "eps_reg": eps_reg, "rho_max": rho_max, "m_fail": m_fail})  # fmt: skip
    slices = _slices(before, after)
    evidence = _evidence(before, after, slices, _contract(sampling))
    decisions = tuple(r.decide(evidence) for r in rules)
    pairs = evidence.pairs(m_fail=m_fail)
    numbers = _numbers(before, after, slices, pairs, alpha)
    return Comparison(
        decision=_verdict(decisions),
        rules=tuple(r.name for r in rules),
        decisions=decisions,
        reasons=tuple(f"{d.rule} {d.conclusion.value}: {d.reason}" for d in decisions),
        notes=(
            *notes_on(before, after, pairs, m_fail, {name: numbers[name] for name in MEASURED}),
            *_order_note(rules, evidence, before.source),
        ),
        old=before,
        new=after,
        evidence=evidence,
        m_fail=m_fail,
        **numbers,
    )


def _rules(
    rule: str | AdmissionRule | Sequence[str | AdmissionRule], values: dict[str, Any]
) -> list[AdmissionRule]:
    """Rule objects; a parameter outside its domain is the caller's mistake."""
    try:
        evaluator = Evaluator(**values)
    except ValidationError as cause:
        name = str(cause.errors(include_url=False)[0]["loc"][0])
        raise InvalidValue(
            name,
            got=values.get(name),
            allowed=range_of(Evaluator.model_fields[name]),
            next_step="Choose a value in this domain.",
        ) from cause
    asked = sorted(k for k, v in values.items() if k in OWN and v != OWN[k])
    listed = [rule] if isinstance(rule, str) or not isinstance(rule, Sequence) else list(rule)
    if not listed:
        raise InvalidValue(
            "rule", got="none", allowed="one rule or more", next_step="Name a rule, e.g. 'paired'."
        )
    named = [rule_named(r, evaluator) for r in listed if isinstance(r, str)]
    unread = [k for k in asked if not any(k in type(r).model_fields for r in named)]
    if unread:
        raise InvalidValue(
            "parameters",
            got=f"{', '.join(unread)}, which none of {', '.join(map(str, listed))} reads",
            allowed="parameters of the rules that are asked by name",
            next_step="Leave them out, or name a rule that reads them (`logoslab rules`).",
        )
    return [rule_named(r, evaluator) if isinstance(r, str) else r for r in listed]


def _order_note(rules: Sequence[AdmissionRule], evidence: Evidence, source: str) -> list[str]:
    """A sequential verdict depends on the order of the tasks, and its claim on how that came."""
    sequential = [r.name for r in rules if getattr(r, "sequential", False)]
    if not sequential:
        return []
    order = f"{', '.join(sequential)} took the tasks in the order of {source}; "
    if not SamplingContract(evidence.sampling).sequential:
        return [f"{order}another order can give another verdict, and none carries an error rate"]
    return [
        f"{order}the claim holds when that is the order in which they were drawn, so shuffle a "
        "file that is sorted"
    ]


def _contract(sampling: str) -> Sampling:
    known = {contract.value for contract in SamplingContract}
    if sampling not in known:
        raise InvalidValue(
            "sampling",
            got=sampling,
            allowed=", ".join(sorted(known)),
            next_step="Choose how the tasks were drawn; fixed_holdout claims least.",
        )
    return sampling  # type: ignore[return-value]  # a contract's value


def _refuse_two_scales(before: Results, after: Results) -> None:
    """Refuse scores up to 1 against scores of which most are above 1."""
    for low, high in ((before, after), (after, before)):
        small = [abs(v) for v in low.values if v]
        large = [abs(v) for v in high.values if v]
        if small and large and max(small) <= 1 < statistics.median(large):
            raise scale_error(
                f"scores of {before.source} and {after.source}",
                f"up to {max(small):g} in {low.source}, up to {max(large):g} in {high.source}",
            )
    refuse_mixed_scale((*before.values, *after.values), f"{before.source} and {after.source}")


def _evidence(
    before: Results, after: Results, slices: dict[str, str], sampling: Sampling
) -> Evidence:
    """Both arms as trials, tasks in the order of the old results."""
    if set(before.tasks).isdisjoint(after.tasks):
        raise EvidenceError(
            f"{before.source} and {after.source}",
            got=f"no task in common; first tasks {before.tasks[0]!r} and {after.tasks[0]!r}",
            allowed="two sets of results on the same tasks",
            next_step="Name the column that identifies the task with --task (task= in Python).",
        )
    old, new = _with_unlisted(before, after), _with_unlisted(after, before)
    columns: dict[str, Sequence[Any]] = {
        "task": old.tasks + new.tasks,
        "arm": ["incumbent"] * len(old.tasks) + ["candidate"] * len(new.tasks),
        "value": old.values + new.values,
    }
    for name, column in MEASURED.items():
        if column(old) or column(new):
            columns[name] = [v for r in (old, new) for v in column(r) or [None] * len(r.tasks)]
    if slices:
        columns["slice"] = [slices[t] for t in columns["task"]]
    return Evidence.from_frame(
        columns,
        sampling=sampling,
        incumbent=before.source_digest or before.source,
        candidate=after.source_digest or after.source,
        notes={"old": before.how_read(), "new": after.how_read()},
    )


def _with_unlisted(mine: Results, other: Results) -> Results:
    """The results with the tasks that only the other side lists, where the format says how."""
    more = [] if mine.unlisted is None else sorted(set(other.tasks) - set(mine.tasks))
    if not more:
        return mine
    holes = (None,) * len(more)
    return mine.replace(
        tasks=(*mine.tasks, *more),
        values=(*mine.values, *[mine.unlisted] * len(more)),
        replicates=(*mine.replicates, *[0] * len(more)),
        slices=None,
        costs=mine.costs and mine.costs + holes,
        latencies=mine.latencies and mine.latencies + holes,
    )


def _slices(before: Results, after: Results) -> dict[str, str]:
    """Task → slice from either side; both must agree where both have one."""
    if before.slices is None and after.slices is None:
        return {}
    old, new = (dict(zip(r.tasks, r.slices or (), strict=False)) for r in (before, after))
    unlike = [task for task, name in old.items() if new.get(task, name) != name]
    if unlike:
        task = unlike[0]
        raise EvidenceError(
            f"slice of task {task!r}",
            got=f"{old[task]!r} in {before.source}, {new[task]!r} in {after.source}",
            allowed="one slice a task",
            next_step="Name another column with --slice (slice= in Python).",
        )
    return {**dict.fromkeys((*before.tasks, *after.tasks), "none"), **new, **old}


def _numbers(
    before: Results, after: Results, of_task: dict[str, str], pairs: Pairs, alpha: float
) -> dict[str, Any]:
    d = pairs.difference
    slices = [of_task[task] for task in pairs.tasks] if of_task else None
    return {
        "n": len(d),
        "fixed": int((d > ROUNDING).sum()),
        "broken": int((d < -ROUNDING).sum()),
        "old_mean": float(pairs.incumbent.mean()),
        "new_mean": float(pairs.candidate.mean()),
        "mean_difference": float(d.mean()),
        "interval": paired_interval(d, alpha, bounded=on_unit_scale(pairs)),
        "interval_by_slice": paired_interval(d, alpha, slices) if slices else None,
        "slices": slice_changes(pairs, slices, alpha) if slices else (),
        **{
            name: measured_change(
                measured(before.tasks, column(before)),
                measured(after.tasks, column(after)),
                pairs.tasks,
                alpha,
            )
            for name, column in MEASURED.items()
        },
    }


def _verdict(decisions: Sequence[Decision]) -> Verdict:
    if any(d.conclusion.value.startswith("reject") for d in decisions):
        return "reject"
    return "accept" if all(d.conclusion is Conclusion.ACCEPT for d in decisions) else "undecided"
