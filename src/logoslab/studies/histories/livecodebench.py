"""LiveCodeBench: dated model versions, prompts, and two snapshots of one site that disagree."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import ClassVar, Final

import pandas as pd

from logoslab.errors import InvalidValue
from logoslab.studies.histories.base import History, Pair, known
from logoslab.studies.histories.checks import Finding, moving_baseline

SNAPSHOTS: Final = {
    "2024-04": "codegen_2024-04-17_45models_400q.parquet",
    "2025-01": "codegen_2025-01-15_19models_880q.parquet",
}
PROMPTS: Final = "codeexec_2025_prompting_pairs.parquet"
REGRADES: Final = "regrade_2025-01_vs_2025-04.csv.gz"
RATE: Final = "question (10-sample rate)"
DATED: Final = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
"""A whole date; four digits alone (0301, 0125) do not say the year."""


class LiveCodeBench(History):
    """Pass rates of 10 samples a question (one sample where the name says N=1), by difficulty.

    Source: LiveCodeBench/livecodebench.github.io, ``performances_generation.json`` of two commits
    and ``performances_execution.json``. Licence CC BY-SA 4.0.

    Datasets and their arms: ``livecodebench codegen 2024-04`` and ``… 2025-01`` (display names),
    ``livecodebench codeexec`` (``<model> direct``, ``<model> CoT``; slices are the questions that
    samples come from), ``livecodebench regrade`` (``<model> @2025-01``, ``@2025-04``) and
    ``livecodebench snapshots`` (``<model> @2024-04``, ``@2025-01``, on the questions of both).
    """

    name: ClassVar[str] = "livecodebench_codegen"
    origin: ClassVar[str] = "LiveCodeBench/livecodebench.github.io"
    licence: ClassVar[str] = "CC BY-SA 4.0"
    files: ClassVar[tuple[str, ...]] = (*SNAPSHOTS.values(), PROMPTS, REGRADES)

    def pairs(self) -> tuple[Pair, ...]:
        """Successive dated versions of one model, prompts, and models recorded twice."""
        return (*self._dated(), *self._prompts(), *self._recorded_twice())

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """One model, prompt or recording; see the class for the names."""
        kind = dataset.removeprefix("livecodebench ")
        if kind == "codeexec":
            return self._executed(dataset, name)
        if kind == "regrade":
            return self._regraded(dataset, name)
        if kind == "snapshots":
            model, _, when = name.rpartition(" @")
            return self._generated(dataset, model, when, shared=True)
        return self._generated(dataset, name, kind.removeprefix("codegen "))

    def findings(self, pair: Pair) -> tuple[Finding, ...]:
        """Unequal tasks; in a pair that compares two recordings of one model, how far it moved."""
        found = super().findings(pair)
        if pair.relation != "same model re-recorded":
            return found
        scores = [self.arm(pair.dataset, a) for a in (pair.baseline, pair.candidate)]
        before, after = (rows.set_index("task")["value"] for rows in scores)
        moved = moving_baseline(pair.id, before, after)
        # Here the movement is the question, so it is flagged; `moved` says which may stand in.
        return (*found, moved.replace(severity="flag")) if moved else found

    def moved(self) -> tuple[Finding, ...]:
        """Models recorded twice whose scores differ: regrades first, then the two snapshots."""
        table = self.table(REGRADES).set_index("question_id")
        found = [
            moving_baseline(f"{model} 2025-01 -> 2025-04", rows["pass_rate_2025_01"],
                            rows["pass_rate_2025_04"])
            for model, rows in table.groupby("model")
        ]  # fmt: skip
        for model in self._twice():
            old, new = (
                self._generated("snapshots", model, when, shared=True).set_index("task")["value"]
                for when in SNAPSHOTS
            )
            found.append(moving_baseline(f"{model} 2024-04 -> 2025-01", old, new))
        return tuple(finding for finding in found if finding)

    def _dated(self) -> list[Pair]:
        pairs = []
        for when, file in SNAPSHOTS.items():
            versions: dict[str, list[str]] = {}
            for model in sorted(self.table(file)["model"].unique()):
                if DATED.search(model):
                    versions.setdefault(DATED.sub("", model), []).append(model)
            pairs += [
                Pair(id=f"{when}: {old} -> {new}", dataset=f"livecodebench codegen {when}",
                     baseline=old, candidate=new, relation="silent model update", unit=RATE)
                for dated in versions.values() for old, new in pairwise(dated)
            ]  # fmt: skip
        return pairs

    def _prompts(self) -> list[Pair]:
        measured = self.table(PROMPTS).dropna(subset="pass_rate_cot")
        return [
            Pair(id=f"{model} direct -> CoT", dataset="livecodebench codeexec",
                 baseline=f"{model} direct", candidate=f"{model} CoT", clustered=True,
                 relation="prompt change direct->CoT", unit="sample (10-sample rate)")
            for model in sorted(measured["model"].unique())
        ]  # fmt: skip

    def _recorded_twice(self) -> list[Pair]:
        regraded = sorted(self.table(REGRADES)["model"].unique())
        twice = [("regrade", m, "2025-01", "2025-04") for m in regraded]
        twice += [("snapshots", m, "2024-04", "2025-01") for m in self._twice()]
        return [
            Pair(id=f"{model} @{old} -> @{new}", dataset=f"livecodebench {kind}",
                 baseline=f"{model} @{old}", candidate=f"{model} @{new}",
                 relation="same model re-recorded", unit="question")
            for kind, model, old, new in twice
        ]  # fmt: skip

    def _twice(self) -> list[str]:
        old, new = (set(self.table(file)["model"]) for file in SNAPSHOTS.values())
        return sorted(old & new)

    def _generated(
        self, dataset: str, model: str, when: str, *, shared: bool = False
    ) -> pd.DataFrame:
        if when not in SNAPSHOTS:
            raise InvalidValue("snapshot of livecodebench", got=when, allowed=", ".join(SNAPSHOTS),
                               next_step="Take the dataset from pairs().")  # fmt: skip
        table = self.table(SNAPSHOTS[when])
        rows = known(table[table["model"] == model], dataset, model)
        if shared:
            both = (set(self.table(file)["question_id"]) for file in SNAPSHOTS.values())
            rows = rows[rows["question_id"].isin(set.intersection(*both))]
        return pd.DataFrame({"task": rows["question_id"], "value": rows["pass_rate"],
                             "slice": rows["difficulty"]})  # fmt: skip

    def _executed(self, dataset: str, name: str) -> pd.DataFrame:
        model, _, prompt = name.rpartition(" ")
        table = self.table(PROMPTS)
        column = {"direct": "pass_rate", "CoT": "pass_rate_cot"}.get(prompt)
        rows = known(table[(table["model"] == model) & (column is not None)], dataset, name)
        return pd.DataFrame({"task": rows["sample_id"], "value": rows[column or ""],
                             "slice": rows["question_id"].astype(str)})  # fmt: skip

    def _regraded(self, dataset: str, name: str) -> pd.DataFrame:
        model, _, when = name.rpartition(" @")
        table, column = self.table(REGRADES), f"pass_rate_{when.replace('-', '_')}"
        rows = known(table[(table["model"] == model) & (column in table)], dataset, name)
        return pd.DataFrame({"task": rows["question_id"], "value": rows[column],
                             "slice": rows["difficulty"]})  # fmt: skip
