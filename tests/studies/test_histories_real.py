"""The traps of the published recordings, each with its number, and a table recomputed from them.

Numbers come from the READMEs of the sources' folders and from their table ``pairs.csv``.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import rule_named
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence
from logoslab.stats import cluster_standard_error
from logoslab.studies import histories as h

pytestmark = pytest.mark.skipif(
    not all(h.available().values()),
    reason=f"published recordings are not in {h.shared_folder().name}/data; set LOGOSLAB_SHARED",
)
BROKEN = "20250720_mini-v0.0.0-claude-3-7-sonnet-20250219"
MINIMAX, DEEPSEEK = (
    "20251124_mini-v1.17.0_minimax-m2",
    "20251201_mini-v1.17.1_deepseek-v3.2-reasoner",
)
GPT5, SONNET4 = "20250807_mini-v1.7.0_gpt-5", "20250726_mini-v1.0.0_claude-sonnet-4-20250514"


@pytest.fixture(scope="module")
def pairs() -> h.ReleasePairs:
    """The 61 pairs."""
    return h.ReleasePairs()


# ---------------------------------------------------------------- the table


def test_every_number_of_the_table_is_recomputed(pairs):
    """61 pairs, 11 columns, none differs beyond the last printed digit and none is missing."""
    assert len(pairs.pairs()) == len(pairs.recomputed()) == 61
    assert pairs.disagreements().empty
    assert pairs.recomputed().drop(columns=["base_cost", "cand_cost"]).notna().all().all()


def test_a_wrong_digit_in_the_table_would_be_seen(pairs, monkeypatch):
    """A mean off by 0.00001, one task more, a p-value off by its last digit: three rows."""
    wrong = pairs.published().copy()
    wrong.loc["S013", "base_mean"] += 0.00001
    wrong.loc["S001", "n_up"] += 1
    wrong.loc["S002", "sign_test_p"] *= 1.001
    monkeypatch.setattr(h.ReleasePairs, "published", lambda self: wrong)
    seen = pairs.disagreements()
    assert {*zip(seen["pair"], seen["column"], strict=True)} == {
        ("S013", "base_mean"), ("S001", "n_up"), ("S002", "sign_test_p"),
    }  # fmt: skip


def test_evidence_carries_the_same_numbers(pairs):
    """Evidence of every pair that is not refused has the table's n and mean difference."""
    table = pairs.published()
    for pair in pairs.pairs():
        if pair.id == "S011":
            continue
        d = pairs.evidence(pair.id).pairs().difference
        assert len(d) == table.loc[pair.id, "n"]
        assert d.mean() == pytest.approx(table.loc[pair.id, "mean_diff"], abs=6e-6)


# ---------------------------------------------------------------- traps


def test_details_against_headline(pairs):
    """Trap 1: 51 of 500 (10.2 %) under a headline of 52.8 % is refused, wherever it is used."""
    found = h.SweBench().headline(BROKEN)
    assert found.severity == "refuse"
    assert (found.numbers["passed"], found.numbers["n"]) == (51, 500)
    assert found.numbers["headline"] == pytest.approx(0.528)
    for history, pair in ((pairs, "S011"), (h.SweBench(), f"{BROKEN} -> {SONNET4}")):
        with pytest.raises(EvidenceError, match=r"51 of 500 \(10\.2%\), its headline 52\.8%"):
            history.evidence(pair)


def test_other_headlines_agree():
    """16 of 17 stand: two differ by less than a point (another run) and are flagged."""
    board = h.SweBench()
    folders = {pair.baseline for pair in board.pairs()}
    found = {folder: board.headline(folder) for folder in folders - {BROKEN}}
    assert len(folders) == 17
    flagged = {folder: f.severity for folder, f in found.items() if f}
    assert set(flagged.values()) == {"flag"}
    assert SONNET4 in flagged
    assert len(flagged) == 2


def test_a_broken_subject():
    """Trap 2: high_school_mathematics, strong 8 of 270 (.0296) where guessing gives .25."""
    (found,) = h.RouteLlm().broken()
    assert found.subject == "strong, slice high_school_mathematics"
    assert (found.numbers["passed"], found.numbers["n"]) == (8, 270)
    assert found.numbers["p"] < 1e-20
    weak = h.RouteLlm().arm("mmlu/high_school_mathematics", "weak")["value"]
    assert weak.mean() == pytest.approx(0.3185, abs=5e-5)
    with pytest.raises(EvidenceError, match=r"8 of 270 \(2\.96%\)"):
        h.RouteLlm().evidence("mmlu/high_school_mathematics")


def test_slice_harm_behind_a_better_mean():
    """Trap 2: MMLU rises by .1356 and one of 38 subjects is named worse; two fell on their mean."""
    evidence = h.RouteLlm().evidence("mmlu")
    assert "8 of 270" in evidence.notes["flags"][0]
    seen = h.outcome(evidence)
    assert seen["report_difference"] == pytest.approx(0.782488 - 0.646902, abs=2e-6)
    assert (seen["report_slices"], seen["report_slices_down"]) == (38, 2)
    assert seen["report_slices_worse"] == "high_school_mathematics"


def test_a_silent_regression(pairs):
    """Trap 3: GPT-4O 05-13 → 08-06, 91 up, 142 down, −.0324, error .0083: harmful."""
    evidence = pairs.evidence("S013")
    d = evidence.pairs().difference
    assert ((d > 1e-9).sum(), (d < -1e-9).sum()) == (91, 142)
    assert d.mean() == pytest.approx(-0.03239, abs=6e-6)
    assert cluster_standard_error(d) == pytest.approx(0.00829, abs=6e-6)
    for rule in (rule_named("paired", delta_min=0.01), rule_named("anytime")):
        assert rule.decide(evidence).conclusion is Conclusion.REJECT_HARMFUL
    silent = rule_named("paired").decide(evidence)
    assert silent.conclusion is Conclusion.NOT_APPLICABLE
    assert "delta_min" in silent.reason
    listed = h.LiveCodeBench().evidence("2025-01: GPT-4O-2024-05-13 -> GPT-4O-2024-08-06")
    np.testing.assert_array_equal(listed.pairs().difference, d)


def test_a_moving_baseline():
    """Trap 4: 234 of 5,280 cells, 202 of them DeepSeek-V3 (.5453 → .5634); Mistral-Large 39 %."""
    found = {f.subject: f for f in h.LiveCodeBench().moved()}
    regraded = [f for name, f in found.items() if name.endswith("2025-04")]
    assert sum(f.numbers["changed"] for f in regraded) == 234
    assert sum(f.numbers["n"] for f in regraded) == 5280
    deepseek = found["DeepSeek-V3 2025-01 -> 2025-04"]
    assert deepseek.numbers["changed"] == 202
    assert deepseek.numbers["before"] == pytest.approx(0.5453, abs=5e-5)
    assert deepseek.numbers["after"] == pytest.approx(0.5634, abs=5e-5)
    mistral = found["Mistral-Large 2024-04 -> 2025-01"]
    assert (mistral.numbers["changed"], mistral.numbers["n"]) == (157, 400)
    refused = {name for name, f in found.items() if f.severity == "refuse"}
    assert refused == {deepseek.subject, mistral.subject}


def test_a_rerecording_that_a_rule_of_the_mean_adopts(pairs):
    """Trap 4: nothing was released in S048, keep-if-better adopts it, and it is flagged."""
    evidence = pairs.evidence("S048")
    assert "202 of 880 tasks were recorded differently" in evidence.notes["flags"][0]
    assert rule_named("mean_improves").decide(evidence).accepted


def without_cost(evidence: Evidence) -> Evidence:
    return evidence.replace(
        trials=tuple(t.model_copy(update={"cost": None}) for t in evidence.trials)
    )


@pytest.mark.parametrize(
    ("base", "cand", "ratio", "difference"),
    [(GPT5, SONNET4, 1.325, -0.002), (DEEPSEEK, MINIMAX, 15.25, 0.010)],
)
def test_equal_means_at_a_higher_cost(base, cand, ratio, difference):
    """Trap 5: .650 and .648 at 1.32×, .600 and .610 at 15.3×: reported, unseen by every rule.

    No pair of these recordings costs 1.9 times as much at equal means; the synthetic history has
    four.
    """
    evidence = h.SweBench().evidence(f"{base} -> {cand}")
    found = h.dearer(evidence)
    assert found.numbers["cost_ratio"] == pytest.approx(ratio, abs=0.005)
    assert found.numbers["mean_difference"] == pytest.approx(difference, abs=1e-9)
    for name in ("paired", "anytime", "accept_all", "mean_improves", "mcnemar"):
        rule = rule_named(name)
        seen, blind = rule.decide(evidence), rule.decide(without_cost(evidence))
        assert (seen.conclusion, seen.numbers) == (blind.conclusion, blind.numbers)


def test_keep_if_better_pays_fifteen_times_for_one_point():
    """Trap 5: the dearer of two indistinguishable models is adopted by its mean."""
    evidence = h.SweBench().evidence(f"{DEEPSEEK} -> {MINIMAX}")
    assert rule_named("mean_improves").decide(evidence).accepted
    assert rule_named("mcnemar").decide(evidence).conclusion is Conclusion.REJECT_INSUFFICIENT


@pytest.mark.parametrize(
    ("agent", "by_run", "by_task"),
    [("o1", 0.5631, 0.5593), ("Claude 3.5 Sonnet (Old)", 0.3788, 0.4422)],
)
def test_run_and_task_weighted_means(agent, by_run, by_task):
    """Trap 6: the two estimands of METR's README; evidence holds the mean over tasks."""
    found = h.MetrRuns().weighting(agent)
    assert found.numbers == pytest.approx({"runs": by_run, "tasks": by_task}, abs=5e-5)
    evidence = h.MetrRuns().evidence(f"{agent} -> GPT-4o")
    assert evidence.pairs().incumbent.mean() == pytest.approx(by_task, abs=5e-5)
    assert any(found.message == flag for flag in evidence.notes["flags"])


def test_noise_of_a_stricter_verifier():
    """Trap 7: 432 cells 1→0 of 4,936 accepts, and 52 cells 0→1, which more tests cannot do."""
    found = h.EvalArena().flips()
    assert found.numbers == {"lost": 432, "gained": 52, "n": 8036, "accepts": 4936}


def test_scores_of_two_graders_do_not_compare():
    """Trap 8: gpt-5-5 37.37 → 46.39 is a regrade under 1.0.1, so the difference is refused."""
    rows = h.Tau2Board().scores()
    mine = rows[(rows["submission"] == "gpt-5-5_sierra_2026-05-05")
                & (rows["domain"] == "banking_knowledge")]  # fmt: skip
    before, after, later = (row for _, row in mine.iterrows())
    assert (before["pass_1"], after["pass_1"]) == (37.37, 46.39)
    with pytest.raises(EvidenceError, match=r"version 0\.2\.1-dev .* version 1\.0\.1"):
        h.Tau2Board().difference(before, after)
    assert h.Tau2Board().difference(after, later) == pytest.approx(44.587629 - 46.39)


# ---------------------------------------------------------------- sources


def test_every_listed_pair_gives_evidence_or_a_refusal():
    """Ids are unique; a check refuses 34 pairs: S011, the 32 of that submission, one subject."""
    refused: dict[str, list[str]] = {}
    for name, history in h.HISTORIES.items():
        source = history()
        listed = source.pairs()
        assert len({pair.id for pair in listed}) == len(listed)
        for pair in listed:
            finding = [f for f in source.findings(pair) if f.severity == "refuse"]
            if finding:
                refused.setdefault(name, []).append(pair.id)
    assert {name: len(found) for name, found in refused.items()} == {
        "release_pairs": 1, "swebench_bashonly": 32, "router_routellm": 1,
    }  # fmt: skip
    assert all(BROKEN in pair for pair in refused["swebench_bashonly"])


def test_shapes_of_the_sources():
    """Clusters, replicates and cost as the READMEs say."""
    swe = h.SweBench().evidence(f"{GPT5} -> {SONNET4}")
    assert len({t.slice for t in swe.trials}) == 12
    assert all(t.cost is not None for t in swe.trials)
    metr = h.MetrRuns().evidence("o1 -> GPT-4o")
    assert max(t.replicate for t in metr.trials) > 7
    assert len(metr.pairs().tasks) == 56
    assert all(t.cost is None for t in metr.trials)
    airline = h.TauAirline().evidence("trials 0-1 -> trials 2-3").pairs()
    assert len(airline.tasks) == 34
    assert np.mean([airline.incumbent, airline.candidate]) == pytest.approx(0.4412, abs=5e-5)
    gsm8k = h.RouteLlm().evidence("gsm8k").pairs()
    assert gsm8k.incumbent.mean() == pytest.approx(0.638362, abs=5e-7)
    assert gsm8k.candidate.mean() == pytest.approx(0.856710, abs=5e-7)
    crux = h.EvalArena().evidence("cruxeval gpt-4o -> +cot").pairs()
    assert crux.candidate.mean() - crux.incumbent.mean() == pytest.approx(0.7556 - 0.6513, abs=1e-4)


def test_an_unknown_arm_is_named():
    """Every source refuses an arm that it has not recorded."""
    for source, dataset in (
        (h.SweBench(), "swebench_bashonly"), (h.LiveCodeBench(), "livecodebench codeexec"),
        (h.LiveCodeBench(), "livecodebench regrade"), (h.MetrRuns(), "metr_agent_runs"),
        (h.LiveCodeBench(), "livecodebench codegen 2025-01"), (h.RouteLlm(), "mmlu"),
        (h.LiveCodeBench(), "livecodebench codegen 1999-01"), (h.TauAirline(), "tau_bench_airline"),
        (h.EvalArena(), "evalarena humaneval"), (h.EvalArena(), "evalarena cruxeval"),
    ):  # fmt: skip
        with pytest.raises(InvalidValue, match="nobody"):
            source.arm(dataset, "nobody") if "1999" not in dataset else source.arm(
                dataset.replace("1999-01", "nobody"), "nobody"
            )


# ---------------------------------------------------------------- the study


def test_the_study_on_the_61_pairs(pairs):
    """One pair is refused by all; accept_all then adopts what the report half shows to be worse."""
    frame = h.judge_history(pairs, ["accept_all", "mean_improves", "mcnemar", "paired", "anytime"])
    assert len(frame) == 5 * 61
    assert set(frame.loc[frame["decision"] == "refused", "pair"]) == {"S011"}
    counted = h.adoptions(frame)
    assert counted.loc["accept_all", "adopted"] == 60
    assert counted.loc["accept_all", "shown_worse"] > 0
    assert counted.loc["mcnemar", "not_applicable"] > 0
    silent = frame[frame["decision"] == "not_applicable"]
    assert (silent["reason"].str.len() > 20).all()
    table = pairs.published()["n"]
    seen = frame.drop_duplicates("pair").set_index("pair").drop(index="S011")
    assert ((seen["gate_n"] + seen["report_n"]) == table.drop(index="S011")).all()
    assert isinstance(seen["report_cost_ratio"].dtype, pd.Float64Dtype)
