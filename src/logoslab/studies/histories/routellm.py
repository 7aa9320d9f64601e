"""RouteLLM: a weak and a strong model on GSM8K and on 38 subjects of MMLU."""

from __future__ import annotations

from typing import ClassVar, Final

import pandas as pd

from logoslab.studies.histories.base import History, Pair, known
from logoslab.studies.histories.checks import Finding, broken_slices

FILES: Final = {
    "gsm8k": "gsm8k_mixtral_vs_gpt4.parquet",
    "mmlu": "mmlu_mixtral_vs_gpt4.parquet",
}
CHANCE: Final = 0.25
"""MMLU has four options."""


class RouteLlm(History):
    """Mixtral-8x7B-Instruct-v0.1 (``weak``) against gpt-4-1106-preview (``strong``), 0/1 a query.

    Source: lm-sys/RouteLLM ``routellm/evals``. Licence Apache-2.0 (GSM8K and MMLU themselves MIT).
    Slices are MMLU subjects. Contaminated prompts are kept, as published; no cost is recorded.

    Datasets: ``gsm8k``, ``mmlu`` and ``mmlu/<subject>``. A subject whose scores lie significantly
    below guessing is refused as a pair of its own and flagged in ``mmlu``.
    """

    name: ClassVar[str] = "router_routellm"
    origin: ClassVar[str] = "lm-sys/RouteLLM routellm/evals"
    licence: ClassVar[str] = "Apache-2.0"
    files: ClassVar[tuple[str, ...]] = tuple(FILES.values())

    def pairs(self) -> tuple[Pair, ...]:
        """Weak to strong on both sets, then on each subject."""
        subjects = sorted(self.table(FILES["mmlu"])["subject"].unique())
        return tuple(
            Pair(id=dataset, dataset=dataset, baseline="weak", candidate="strong",
                 relation="smaller->larger", unit="query")
            for dataset in (*FILES, *(f"mmlu/{subject}" for subject in subjects))
        )  # fmt: skip

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """``weak`` or ``strong`` on one dataset."""
        source, _, subject = dataset.partition("/")
        rows = self.table(FILES.get(source, source))
        if subject:
            rows = rows[rows["subject"] == subject]
        rows = known(rows if f"{name}_correct" in rows else rows.iloc[:0], dataset, name)
        value = rows[f"{name}_correct"].astype(float)
        arm = pd.DataFrame({"task": rows["item_id"], "value": value})
        return arm.assign(slice=rows["subject"]) if "subject" in rows else arm

    def findings(self, pair: Pair) -> tuple[Finding, ...]:
        """Unequal tasks, and subjects below guessing."""
        found = super().findings(pair)
        source, _, subject = pair.dataset.partition("/")
        if source != "mmlu":
            return found
        if subject:
            ours = tuple(f for f in self.broken() if f.subject.endswith(f"slice {subject}"))
            return (*found, *ours)
        return (*found, *(f.replace(severity="flag") for f in self.broken()))

    def broken(self) -> tuple[Finding, ...]:
        """Every subject of MMLU whose recorded answers are below guessing, in either arm."""
        return tuple(
            finding
            for arm in ("weak", "strong")
            for rows in (self.arm("mmlu", arm),)
            for finding in broken_slices(arm, rows["slice"], rows["value"], chance=CHANCE)
        )
