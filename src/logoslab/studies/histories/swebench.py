"""SWE-bench Verified with mini-SWE-agent: 17 submissions, 500 tasks, 12 repositories, with cost."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from logoslab.studies.histories.base import History, Pair, known, ordered_pairs
from logoslab.studies.histories.checks import Finding, headline


class SweBench(History):
    """Resolved or not, and US dollars, for each submission and task; slices are repositories.

    Source: SWE-bench/swe-bench.github.io ``data/leaderboards.json`` (2025-12-10), folded into
    ``outcomes.parquet``, with the board's own rows in ``leaderboard_submissions.csv.gz``. Licence
    CC BY-NC 4.0: attribution, non-commercial. It is read where it lies and never copied.

    A submission whose details contradict its headline by more than one point is refused.
    """

    name: ClassVar[str] = "swebench_bashonly"
    origin: ClassVar[str] = "SWE-bench/swe-bench.github.io data/leaderboards.json"
    licence: ClassVar[str] = "CC BY-NC 4.0"
    files: ClassVar[tuple[str, ...]] = ("outcomes.parquet", "leaderboard_submissions.csv.gz")

    def pairs(self) -> tuple[Pair, ...]:
        """Every submission against every other, both ways round."""
        folders = sorted(self.table("outcomes.parquet")["folder"].unique())
        return ordered_pairs(self.name, folders, clustered=True)

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """One submission by its folder name."""
        rows = self.table("outcomes.parquet")
        rows = known(rows[rows["folder"] == name], dataset, name)
        return pd.DataFrame(
            {
                "task": rows["instance_id"],
                "value": rows["resolved"].astype(float),
                "slice": rows["repo"],
                "cost": rows["cost"],
            }
        )

    def findings(self, pair: Pair) -> tuple[Finding, ...]:
        """Unequal tasks, and headlines that the details contradict."""
        said = (self.headline(pair.baseline), self.headline(pair.candidate))
        return (*super().findings(pair), *(finding for finding in said if finding))

    def headline(self, folder: str) -> Finding | None:
        """A submission's details against the share that the board prints for it."""
        board = self.table("leaderboard_submissions.csv.gz")
        stated = board[(board["leaderboard"] == "bash-only") & (board["folder"] == folder)]
        if stated.empty:
            return None
        passed = self.arm(self.name, folder)["value"]
        share = float(stated["resolved_pct"].iloc[0]) / 100
        return headline(folder, int(passed.sum()), len(passed), share)
