"""The project's own release history: SYNTHETIC, with known truth, and there on every machine."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pandas as pd

from logoslab.studies.histories.base import PROJECT, History, Pair, known


class SyntheticHistory(History):
    """40 successive releases on 120 tasks in four slices, drawn from stated probabilities.

    Source: ``data/release_history/generate.py`` of this project. No agent ran. Licence Apache-2.0.

    Parameters
    ----------
    root : path, optional
        Folder that holds ``release_history``; by default the one that ships with logoslab.
    """

    name: ClassVar[str] = "release_history"
    origin: ClassVar[str] = "synthetic: data/release_history/generate.py"
    licence: ClassVar[str] = "Apache-2.0"
    files: ClassVar[tuple[str, ...]] = ("outcomes.csv", "releases.csv")

    def __init__(self, root: str | Path | None = None) -> None:
        super().__init__(root if root is not None else _shipped())

    def pairs(self) -> tuple[Pair, ...]:
        """Each release against the one before it."""
        kind = self.truth()["kind"]
        releases = ["r00", *kind.index]
        return tuple(
            Pair(id=new, dataset=self.name, baseline=old, candidate=new, relation=str(kind[new]))
            for old, new in pairwise(releases)
        )

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """One release, ``r00`` to ``r40``."""
        table = self.table("outcomes.csv")
        rows = known(table[table["release"] == name], dataset, name)
        return rows[["task", "slice", "cost"]].assign(value=rows["passed"].astype(float))

    def truth(self) -> pd.DataFrame:
        """What each release changed, by release.

        Columns ``kind``, ``true_difference`` (mean change of the success probability),
        ``worst_slice``, ``worst_slice_difference`` and ``true_cost_ratio``.
        """
        return self.table("releases.csv").set_index("release")


def _shipped() -> Path:
    """The data beside an installed package, or in the project folder."""
    installed = Path(__file__).resolve().parents[2] / "_data"
    here = installed / SyntheticHistory.name
    return installed if here.is_dir() else PROJECT / "data"
