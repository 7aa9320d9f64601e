"""61 (baseline, candidate) pairs over four public sources, with published statistics to check."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Final

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from logoslab.stats.bootstrap import cluster_standard_error
from logoslab.stats.paired import mcnemar_exact
from logoslab.studies.histories.base import History, Pair
from logoslab.studies.histories.checks import SAME, Finding
from logoslab.studies.histories.evalarena import EvalArena
from logoslab.studies.histories.livecodebench import LiveCodeBench
from logoslab.studies.histories.metr import MetrRuns
from logoslab.studies.histories.swebench import SweBench

SOURCES: Final[dict[str, type[History]]] = {
    "swebench_bashonly": SweBench,
    "livecodebench": LiveCodeBench,
    "metr_agent_runs": MetrRuns,
    "evalarena": EvalArena,
}
CLUSTERED: Final = ("swebench_bashonly", "livecodebench codeexec", "metr_agent_runs")
DECIMALS: Final = {
    "base_mean": 5, "cand_mean": 5, "mean_diff": 5, "paired_se": 5, "base_cost": 6, "cand_cost": 6,
}  # fmt: skip
"""Decimals that the published table keeps; its p-values keep four significant digits."""
COUNTS: Final = ("n", "n_up", "n_down", "n_tie")


class ReleasePairs(History):
    """The table ``pairs.csv`` and the recordings behind it.

    Source: computed from swebench_bashonly, livecodebench_codegen, metr_agent_runs and
    evalarena_code; licences as there.
    """

    name: ClassVar[str] = "release_pairs"
    origin: ClassVar[str] = "pairs.csv over four of the other sources"
    licence: ClassVar[str] = "as its sources"
    files: ClassVar[tuple[str, ...]] = ("pairs.csv",)

    def __init__(self, root: str | Path | None = None) -> None:
        super().__init__(root)
        self.sources = {key: source(self.root) for key, source in SOURCES.items()}

    def available(self) -> bool:
        """Whether the table and the four sources are there."""
        return super().available() and all(s.available() for s in self.sources.values())

    def published(self) -> pd.DataFrame:
        """The table as published, by pair."""
        return self.table("pairs.csv").set_index("pair_id")

    def pairs(self) -> tuple[Pair, ...]:
        """The 61 pairs in the order of the table."""
        return tuple(
            Pair(
                id=str(pair_id),
                note="" if pd.isna(row["note"]) else str(row["note"]),
                clustered=row["dataset"] in CLUSTERED,
                **{name: str(row[name])
                   for name in ("dataset", "baseline", "candidate", "relation", "unit")},
            )
            for pair_id, row in self.published().iterrows()
        )  # fmt: skip

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """One arm from its source."""
        return self.sources[dataset.split()[0]].arm(dataset, name)

    def findings(self, pair: Pair) -> tuple[Finding, ...]:
        """What the source's own checks say."""
        return self.sources[pair.dataset.split()[0]].findings(pair)

    def recomputed(self) -> pd.DataFrame:
        """Every statistic of the table from the sources, by pair; broken records too."""
        rows = {pair.id: self._statistics(pair) for pair in self.pairs()}
        return pd.DataFrame.from_dict(rows, orient="index")

    def disagreements(self) -> pd.DataFrame:
        """Where the table and the sources differ by more than the table's last printed digit.

        Returns
        -------
        DataFrame
            Columns ``pair``, ``column``, ``published``, ``recomputed``; empty when all agree.
        """
        table, own = self.published(), self.recomputed()
        rows = []
        for column in (*COUNTS, *DECIMALS, "sign_test_p"):
            stated = table[column].astype(float).to_numpy()
            ours = own[column].astype(float).to_numpy()
            slack = _last_digit(column, stated)
            agree = (np.abs(ours - stated) <= slack) | (np.isnan(ours) & np.isnan(stated))
            rows += [
                (pair, column, a, b)
                for pair, a, b, same in zip(table.index, stated, ours, agree, strict=True)
                if not same
            ]
        return pd.DataFrame(rows, columns=["pair", "column", "published", "recomputed"])

    def _statistics(self, pair: Pair) -> dict[str, float]:
        arms = [self.arm(pair.dataset, name) for name in (pair.baseline, pair.candidate)]
        means = [rows.groupby("task")["value"].mean() for rows in arms]
        base, cand = means[0].align(means[1], join="outer")
        d = (cand - base).to_numpy()
        up, down = int((d > SAME).sum()), int((d < -SAME).sum())
        costs = [rows["cost"].mean() if "cost" in rows else np.nan for rows in arms]
        return {
            "n": len(d),
            "base_mean": float(base.mean()),
            "cand_mean": float(cand.mean()),
            "mean_diff": float(d.mean()),
            "paired_se": cluster_standard_error(d),
            "n_up": up,
            "n_down": down,
            "n_tie": len(d) - up - down,
            "sign_test_p": float(mcnemar_exact(up, down)),
            "base_cost": float(costs[0]),
            "cand_cost": float(costs[1]),
        }


def _last_digit(column: str, stated: NDArray[np.floating]) -> float | NDArray[np.floating]:
    """Half a unit of the last printed digit."""
    if column in COUNTS:
        return 0.0
    if column == "sign_test_p":
        digit: NDArray[np.floating] = 10.0 ** (np.floor(np.log10(stated)) - 3)
        return np.asarray(0.5 * digit + SAME * stated)
    return 0.5 / 10.0 ** DECIMALS[column] + SAME
