"""Real release histories, and one synthetic: what would each rule have done, and was it right?

Every loader reads the public files in the form in which the shared folder publishes them
(``LOGOSLAB_SHARED``, else ``shared`` beside the project). Nothing is copied.
"""

from pathlib import Path

from logoslab.studies.histories.base import History, Pair, evidence_between, shared_folder
from logoslab.studies.histories.checks import (
    Finding,
    broken_slices,
    cost_ratio,
    dearer,
    headline,
    impossible_flips,
    moving_baseline,
    refuse,
    same_tasks,
    versions,
    weighting,
)
from logoslab.studies.histories.evalarena import EvalArena
from logoslab.studies.histories.livecodebench import LiveCodeBench
from logoslab.studies.histories.metr import MetrRuns
from logoslab.studies.histories.release_pairs import ReleasePairs
from logoslab.studies.histories.routellm import RouteLlm
from logoslab.studies.histories.study import adoptions, half, judge_history, outcome
from logoslab.studies.histories.swebench import SweBench
from logoslab.studies.histories.synthetic import SyntheticHistory
from logoslab.studies.histories.tau import Tau2Board, TauAirline

HISTORIES: dict[str, type[History]] = {
    history.name: history
    for history in (
        ReleasePairs, SweBench, LiveCodeBench, MetrRuns, TauAirline, Tau2Board, EvalArena, RouteLlm,
        SyntheticHistory,
    )
}  # fmt: skip


def available(root: str | Path | None = None) -> dict[str, bool]:
    """Which histories have all their files. The synthetic one ships with logoslab.

    Parameters
    ----------
    root : path, optional
        Folder that holds the sources' folders; by default ``data`` in the shared folder.
    """
    return {
        name: (SyntheticHistory() if history is SyntheticHistory else history(root)).available()
        for name, history in HISTORIES.items()
    }


__all__ = [
    "HISTORIES",
    "EvalArena",
    "Finding",
    "History",
    "LiveCodeBench",
    "MetrRuns",
    "Pair",
    "ReleasePairs",
    "RouteLlm",
    "SweBench",
    "SyntheticHistory",
    "Tau2Board",
    "TauAirline",
    "adoptions",
    "available",
    "broken_slices",
    "cost_ratio",
    "dearer",
    "evidence_between",
    "half",
    "headline",
    "impossible_flips",
    "judge_history",
    "moving_baseline",
    "outcome",
    "refuse",
    "same_tasks",
    "shared_folder",
    "versions",
    "weighting",
]
