"""tau-bench: repeated trials of one agent, and a board whose scores changed with its grader."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import pandas as pd

from logoslab.errors import InvalidValue
from logoslab.studies.histories.base import History, Pair, known
from logoslab.studies.histories.checks import Finding, refuse, versions

HALVES = {"trials 0-1": (0, 1), "trials 2-3": (2, 3)}


class TauAirline(History):
    """gpt-4o on 34 airline tasks, four trials each: an A/A pair, trials 0-1 against trials 2-3.

    Source: sierra-research/tau-bench ``historical_trajectories/gpt-4o-airline.json``. Licence MIT.
    Cost is what the simulated user cost in US dollars; the agent's own is not recorded, so evidence
    carries none.
    """

    name: ClassVar[str] = "tau_bench_airline"
    origin: ClassVar[str] = "sierra-research/tau-bench historical_trajectories/gpt-4o-airline.json"
    licence: ClassVar[str] = "MIT"
    files: ClassVar[tuple[str, ...]] = ("outcomes.csv",)

    def pairs(self) -> tuple[Pair, ...]:
        """The A/A pair: nothing changed, so every acceptance is false."""
        before, after = HALVES
        return (
            Pair(id=f"{before} -> {after}", dataset=self.name, baseline=before, candidate=after,
                 relation="nothing changed (A/A)", unit="task (mean of 2 trials)"),
        )  # fmt: skip

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """Two of the four trials."""
        table = self.table("outcomes.csv")
        rows = known(table[table["trial"].isin(HALVES.get(name, ()))], dataset, name)
        return pd.DataFrame(
            {
                "task": rows["task_id"].astype(str),
                "value": rows["reward"],
                "replicate": rows["trial"] - min(HALVES[name]),
            }
        )


class Tau2Board(History):
    """Scores of the tau2-bench board: a headline a domain, no tasks, so it gives no evidence.

    Source: sierra-research/tau2-bench ``web/leaderboard`` with its git history. Licence MIT.
    """

    name: ClassVar[str] = "tau2_leaderboard"
    origin: ClassVar[str] = "sierra-research/tau2-bench web/leaderboard/public/submissions"
    licence: ClassVar[str] = "MIT"
    files: ClassVar[tuple[str, ...]] = ("submissions.csv", "revision_history.csv")

    def pairs(self) -> tuple[Pair, ...]:
        """None: there are no per-task results."""
        return ()

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """Refused: there are no per-task results."""
        raise InvalidValue(
            f"arm of {self.name}", got=name, allowed="headline scores only",
            next_step="Use difference() between two rows of scores().",
        )  # fmt: skip

    def scores(self) -> pd.DataFrame:
        """Every distinct published value of every submission, with commit date and version."""
        return self.table("revision_history.csv").copy()

    def difference(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> float:
        """Percentage points of pass^1 between two rows of :meth:`scores`.

        Raises
        ------
        EvidenceError
            When they are of two domains, or of two versions of the benchmark or an unstated one:
            scores prior to v1.0.1 are not comparable.
        """
        refuse(finding for finding in (self.comparable(before, after),) if finding)
        return float(after["pass_1"]) - float(before["pass_1"])

    def comparable(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Finding | None:
        """Why two rows do not compare, if they do not."""
        old, new = (
            None if pd.isna(row["bench_version"]) else f"{row['bench_version']} {row['domain']}"
            for row in (before, after)
        )
        return versions(f"{before['submission']} -> {after['submission']}", old, new)
