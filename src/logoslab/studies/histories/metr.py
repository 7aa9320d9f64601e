"""METR agent runs: up to 96 runs of a task, so that the mean needs an estimand."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from logoslab.studies.histories.base import History, Pair, known, ordered_pairs
from logoslab.studies.histories.checks import Finding, weighting


class MetrRuns(History):
    """Binarised score of each run, as replicates of its task; slices are task families.

    Source: METR/eval-analysis-public ``data/external/all_runs.jsonl`` (2025-01-17). Licence MIT.

    Evidence averages runs within a task, then tasks: the mean over tasks. Runs that ended in
    ``usageLimits`` keep their recorded score. Runs are numbered in the order they started.
    """

    name: ClassVar[str] = "metr_agent_runs"
    origin: ClassVar[str] = "METR/eval-analysis-public data/external/all_runs.jsonl"
    licence: ClassVar[str] = "MIT"
    files: ClassVar[tuple[str, ...]] = ("runs.parquet",)

    def pairs(self) -> tuple[Pair, ...]:
        """Every agent that ran all tasks against every other; people are an arm, not a pair."""
        table = self.table("runs.parquet")
        covered = table.groupby("alias")["task_id"].nunique()
        whole = sorted(set(covered.index[covered == table["task_id"].nunique()]) - {"human"})
        return ordered_pairs(self.name, whole, unit="task (mean of runs)", clustered=True)

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """One agent by its alias."""
        table = self.table("runs.parquet")
        rows = known(table[table["alias"] == name], dataset, name)
        rows = rows.sort_values(["task_id", "started_at", "run_id"])
        return pd.DataFrame(
            {
                "task": rows["task_id"],
                "value": rows["score_binarized"].astype(float),
                "slice": rows["task_family"],
                "replicate": rows.groupby("task_id").cumcount(),
                "cost": rows["dollar_equivalent"],
            }
        ).reset_index(drop=True)

    def findings(self, pair: Pair) -> tuple[Finding, ...]:
        """Unequal tasks, and arms whose mean over runs is not their mean over tasks."""
        weighed = (self.weighting(pair.baseline), self.weighting(pair.candidate))
        return (*super().findings(pair), *(finding for finding in weighed if finding))

    def weighting(self, agent: str) -> Finding | None:
        """The two means of an agent, where they differ."""
        rows = self.arm(self.name, agent)
        return weighting(agent, rows["task"], rows["value"])
