"""eval-arena: the same programs under two test suites, and the same models under two prompts."""

from __future__ import annotations

from typing import ClassVar, Final

import pandas as pd

from logoslab.studies.histories.base import History, Pair, known
from logoslab.studies.histories.checks import Finding, impossible_flips

PLUS: Final = "humaneval_and_plus_per_example.parquet"
CRUX: Final = "cruxeval_input_per_example.parquet"
SUITES: Final = ("humaneval", "humaneval+")


class EvalArena(History):
    """HumanEval against HumanEval+ (49 models, 164 tasks) and CRUXEval-input (37 models, 800).

    Source: crux-eval/eval-arena ``data/{humaneval,humaneval+,cruxeval_input}.jsonl``. Licence MIT.

    Arms: ``<model> @humaneval`` and ``@humaneval+`` of dataset ``evalarena humaneval`` (the same
    outputs; the verifier changed, not the model), and model names of ``evalarena cruxeval``.
    """

    name: ClassVar[str] = "evalarena_code"
    origin: ClassVar[str] = "crux-eval/eval-arena data"
    licence: ClassVar[str] = "MIT"
    files: ClassVar[tuple[str, ...]] = (PLUS, CRUX)

    def pairs(self) -> tuple[Pair, ...]:
        """Each model under the stricter tests, and each model with and without chain of thought."""
        graded = sorted(self.table(PLUS)["model"].unique())
        crux = sorted(self.table(CRUX)["model"].unique())
        tightened = [
            Pair(id=f"{m} @humaneval -> @humaneval+", dataset="evalarena humaneval",
                 baseline=f"{m} @humaneval", candidate=f"{m} @humaneval+",
                 relation="verifier tightened (same outputs)")
            for m in graded
        ]  # fmt: skip
        prompts = [
            Pair(id=f"cruxeval {m} -> +cot", dataset="evalarena cruxeval", baseline=m,
                 candidate=f"{m}+cot", relation="prompt change direct->CoT",
                 unit="task (rate of 10 or 3 samples)")
            for m in crux if f"{m}+cot" in crux
        ]  # fmt: skip
        return (*tightened, *prompts)

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """One model under one suite, or one model of CRUXEval."""
        if dataset == "evalarena cruxeval":
            table = self.table(CRUX)
            rows = known(table[table["model"] == name], dataset, name)
        else:
            model, _, suite = name.rpartition(" @")
            table = self.table(PLUS)
            mine = (table["model"] == model) & (table["benchmark_id"] == suite)
            rows = known(table[mine], dataset, name)
        return pd.DataFrame({"task": rows["example_id"], "value": rows["pass1"]})

    def findings(self, pair: Pair) -> tuple[Finding, ...]:
        """Unequal tasks, and passes that a superset of tests cannot give."""
        found = super().findings(pair)
        if pair.dataset != "evalarena humaneval":
            return found
        before, after = (
            self.arm(pair.dataset, arm).set_index("task")["value"]
            for arm in (pair.baseline, pair.candidate)
        )
        flipped = impossible_flips(pair.id, before, after)
        return (*found, flipped) if flipped else found

    def flips(self) -> Finding | None:
        """The check over all models at once."""
        table = self.table(PLUS).set_index(["model", "example_id"])
        before, after = (table.loc[table["benchmark_id"] == suite, "pass1"] for suite in SUITES)
        return impossible_flips("humaneval -> humaneval+, all models", before, after)
