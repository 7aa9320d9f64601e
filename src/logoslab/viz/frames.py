"""Values → tidy frames. Every count and coordinate that a figure shows is made here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from logoslab.errors import InvalidValue
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.run import Routed, TaskResult

if TYPE_CHECKING:
    import pandas as pd

PREFIX = "log_wealth_"
PROCESSES = {
    "gain": ("gain", "gain above δ_min", "accept"),
    "reg": ("protected", "regressions rare", "accept"),
    "safety": ("safety", "safety kept", "accept"),
    "harm": ("harm", "worse on average", "harm"),
    "harm_reg": ("harm_reg", "regressions frequent", "harm"),
}
"""Process → (role, label, side). Other ``log_wealth_*`` paths are drawn as ``other``.

The side names the process's threshold among the decision's numbers: ``threshold_<side>``, in
natural logs.
"""
PERSON = "person"


def wealth_frame(decision: Decision, threshold: float | None = None) -> pd.DataFrame:
    """Wealth of each process, task by task.

    Parameters
    ----------
    decision : Decision
        With paths ``log_wealth_*`` in natural logs. A path one longer than ``decision.tasks``
        starts at task 0, otherwise at task 1.
    threshold : float, optional
        Wealth (1/level) from which every process counts as evidence. By default the decision's
        own numbers ``threshold_accept`` and ``threshold_harm``; without any nothing crosses.

    Returns
    -------
    DataFrame
        Columns ``process``, ``role``, ``label``, ``task``, ``log_wealth``, ``side``,
        ``log_threshold`` (NaN when there is none), ``crossing`` (the first task at or above it: by
        Ville's inequality that is enough), ``stopped`` (the path's last task), ``conclusion``.

    Raises
    ------
    InvalidValue
        When the decision has no wealth path, or the threshold is not positive.
    """
    import pandas as pd

    paths = {k.removeprefix(PREFIX): v for k, v in decision.path.items() if k.startswith(PREFIX)}
    if not any(paths.values()):
        raise InvalidValue(
            f"wealth of rule {decision.rule}",
            got=f"paths {sorted(decision.path) or 'none'}",
            allowed=f"a decision with a path {PREFIX}*",
            next_step="Decide with an anytime-valid rule, or draw paired differences instead.",
        )
    parts = [
        _process_frame(name, np.asarray(path), decision, log_threshold(threshold))
        for name, path in paths.items()
        if path
    ]
    return pd.concat(parts, ignore_index=True)


def log_threshold(threshold: float | None) -> float | None:
    """ln of a wealth threshold; None when there is none.

    Raises
    ------
    InvalidValue
        When it is not a positive number.
    """
    if threshold is None:
        return None
    if not threshold > 0:
        raise InvalidValue(
            "threshold",
            got=threshold,
            allowed="a positive wealth such as 20 (= 1/0.05)",
            next_step="Pass 1/level of the gate.",
        )
    return float(np.log(threshold))


def _process_frame(
    name: str, path: np.ndarray[Any, Any], decision: Decision, bar: float | None
) -> pd.DataFrame:
    import pandas as pd

    role, label, side = PROCESSES.get(name, ("other", name.replace("_", " "), "other"))
    own = decision.numbers.get(f"threshold_{side}") if bar is None else bar
    bar = float("nan") if own is None else own
    start = 0 if len(path) == decision.tasks + 1 else 1
    above = np.flatnonzero(path >= bar)
    crossing = above[0] if above.size else -1
    return pd.DataFrame(
        {
            "process": name,
            "role": role,
            "label": label,
            "task": np.arange(start, start + len(path)),
            "log_wealth": path,
            "side": side,
            "log_threshold": bar,
            "crossing": np.arange(len(path)) == crossing,
            "stopped": np.arange(len(path)) == len(path) - 1,
            "conclusion": decision.conclusion.value,
        }
    )


def paired_frame(
    evidence: Evidence, metric: str = "score", *, m_fail: float = 0.0, tolerance: float = 0.0
) -> pd.DataFrame:
    """Per-task differences, worst first (LOGOS Eq. 58).

    Returns
    -------
    DataFrame
        Columns ``rank`` (1 = worst), ``task``, ``incumbent``, ``candidate``, ``difference``,
        ``sign`` (``gain`` above the tolerance, ``harm`` below minus the tolerance, else ``tie``),
        ``filled`` (a missing value was replaced by ``m_fail``).
    """
    import pandas as pd

    pairs = evidence.pairs(metric, m_fail=m_fail)
    d = pairs.difference
    frame = pd.DataFrame(
        {
            "task": pairs.tasks,
            "incumbent": pairs.incumbent,
            "candidate": pairs.candidate,
            "difference": d,
            "sign": np.where(d > tolerance, "gain", np.where(d < -tolerance, "harm", "tie")),
            "filled": [task in set(pairs.filled) for task in pairs.tasks],
        }
    )
    frame = frame.sort_values("difference", kind="stable", ignore_index=True)
    frame.insert(0, "rank", np.arange(1, len(frame) + 1))
    return frame


def cascade_frame(
    source: pd.DataFrame | Mapping[str, Iterable[Routed]] | Sequence[TaskResult],
    ladder: Sequence[str] = (),
) -> pd.DataFrame:
    """How tasks moved up the ladder, per dimension (a dimension is a model step's phase).

    Parameters
    ----------
    source : DataFrame, mapping or sequence
        A trace frame with one row per attempt (``task``, ``dimension``, ``stage``, ``accepted``);
        or dimension → routed answers; or task results, whose tasks are taken to have entered
        at the first stage, since a result keeps only the stage that answered.
    ladder : sequence of str
        Stages, cheapest first. May be left out when their first appearance has that order;
        task results need it.

    Returns
    -------
    DataFrame
        Columns ``dimension``, ``stage``, ``order``, ``attempted``, ``accepted``, ``escalated``
        (attempted − accepted), ``offset`` (tasks that lower stages had accepted), ``tasks``. The
        last stage of a dimension is ``person``: what no stage could answer.

    Raises
    ------
    InvalidValue
        When nothing was routed, or task results come without a ladder.
    """
    import pandas as pd

    attempts = _attempts(source, ladder)
    if attempts.empty:
        raise InvalidValue(
            "cascade_frame",
            got="no routed answer",
            allowed="at least one attempt of one stage",
            next_step="Run tasks through a model step first.",
        )
    rungs = list(ladder) or [s for s in dict.fromkeys(attempts["stage"]) if s != PERSON]
    rows = [
        row
        for dimension, group in attempts.groupby("dimension", sort=False)
        for row in _rungs(str(dimension), group, rungs)
    ]
    return pd.DataFrame(rows)


def _rungs(dimension: str, group: pd.DataFrame, rungs: Sequence[str]) -> list[dict[str, Any]]:
    total, done, rows = group["task"].nunique(), 0, []
    for order, stage in enumerate([*rungs, PERSON]):
        here = group[group["stage"] == stage]
        attempted = here["task"].nunique()
        accepted = here[here["accepted"].astype(bool)]["task"].nunique()
        if stage == PERSON:
            attempted, accepted = total - done, 0
        rows.append(
            {
                "dimension": dimension,
                "stage": stage,
                "order": order,
                "attempted": attempted,
                "accepted": accepted,
                "escalated": attempted - accepted,
                "offset": done,
                "tasks": total,
            }
        )
        done += accepted
    return rows


def _attempts(
    source: pd.DataFrame | Mapping[str, Iterable[Routed]] | Sequence[TaskResult],
    ladder: Sequence[str],
) -> pd.DataFrame:
    import pandas as pd

    columns = ["task", "dimension", "stage", "accepted"]
    if isinstance(source, pd.DataFrame):
        return source[columns]
    if isinstance(source, Mapping):
        rows = [
            (i, dimension, attempt.stage, attempt.verdict.accepted)
            for dimension, answers in source.items()
            for i, routed in enumerate(answers)
            for attempt in routed.attempts or ()
        ]
        silent = [
            (i, dimension, PERSON, False)
            for dimension, answers in source.items()
            for i, routed in enumerate(answers)
            if not routed.attempts
        ]
        return pd.DataFrame(rows + silent, columns=columns)
    if not ladder:
        raise InvalidValue(
            "ladder",
            got="none, with task results",
            allowed="the stages, cheapest first",
            next_step="Pass ladder=('greedy', 'samples', 'solver') or your router's stages.",
        )
    return pd.DataFrame(
        [
            (result.task, dimension, stage, stage == final)
            for result in source
            for dimension, final in result.stages.items()
            for stage in _climbed(ladder, final)
        ],
        columns=columns,
    )


def _climbed(ladder: Sequence[str], final: str | None) -> Sequence[str]:
    return ladder[: ladder.index(final) + 1] if final in ladder else ladder
