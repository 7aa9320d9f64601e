"""Histories on made-up recordings: every check, the halves, the study and the synthetic history."""

from __future__ import annotations

import importlib.util
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from logoslab.errors import EvidenceError, InvalidValue, SourceError
from logoslab.gate import McNemar, rule_named
from logoslab.pack.evidence import Evidence, Trial
from logoslab.studies import histories as h
from logoslab.studies.histories.base import arrival_order

ROOT = Path(__file__).resolve().parents[2]
RULES = ("accept_all", "mean_improves", "mcnemar", "paired", "anytime")


def paired(base: list[float], cand: list[float], **changes: object) -> Evidence:
    """Evidence on tasks 0, 1, …; ``slices`` and ``costs`` (a pair of numbers) are optional."""
    slices = changes.get("slices", ["all"] * len(base))
    costs = changes.get("costs", (None, None))
    return Evidence(
        trials=tuple(
            Trial(task=str(i), arm=arm, value=v, slice=slices[i], order=i, cost=cost)
            for arm, values, cost in zip(("incumbent", "candidate"), (base, cand), costs)  # noqa: B905
            for i, v in enumerate(values)
        )
    )


# ---------------------------------------------------------------- checks


def test_a_headline_is_held_against_its_details():
    """3 of 10 is 30 %: equal is fine, 30.5 % is flagged, 32 % is refused and stops."""
    assert h.headline("x", 3, 10, 0.3) is None
    near, far = h.headline("x", 3, 10, 0.305), h.headline("x", 3, 10, 0.32)
    assert (near.severity, far.severity) == ("flag", "refuse")
    h.refuse([near])
    with pytest.raises(EvidenceError, match=r"details say 3 of 10 \(30\.0%\), its headline 32\.0%"):
        h.refuse([near, far])


def test_a_slice_far_below_guessing_is_a_broken_recording():
    """0 of 40 where guessing gives 1/4: (3/4)^40 ≈ 1e-5, times two slices; 6 of 40 is bad luck."""
    slices = pd.Series(["a"] * 40 + ["b"] * 40)
    values = pd.Series([0.0] * 40 + [1.0] * 6 + [0.0] * 34)
    (found,) = h.broken_slices("arm", slices, values, chance=0.25)
    assert found.subject == "arm, slice a"
    assert found.numbers["p"] == pytest.approx(2 * 0.75**40, rel=1e-9)


def test_two_recordings_of_one_arm():
    """Equal: nothing. 1 of 20 changed: flagged. 2 of 20: neither may stand in for the other."""
    old = pd.Series(np.zeros(20))
    one, two = old.copy(), old.copy()
    one[0] = 0.1
    two[[0, 1]] = 1.0
    assert h.moving_baseline("m", old, old) is None
    assert h.moving_baseline("m", old, one).severity == "flag"
    moved = h.moving_baseline("m", old, two)
    assert moved.severity == "refuse"
    assert moved.numbers == {"changed": 2, "n": 20, "before": 0.0, "after": 0.1}


def test_more_tests_cannot_turn_a_failure_into_a_pass():
    """1→0 alone is what a stricter verifier does; one 0→1 is noise, and both are counted."""
    before = pd.Series([1.0, 1.0, 0.0])
    assert h.impossible_flips("m", before, pd.Series([0.0, 1.0, 0.0])) is None
    found = h.impossible_flips("m", before, pd.Series([0.0, 1.0, 1.0]))
    assert found.numbers == {"lost": 1, "gained": 1, "n": 3, "accepts": 2}


def test_runs_and_tasks_are_two_estimands():
    """Task a: 1, 1, 1 and task b: 0. By run 3/4, by task 1/2; once each they agree."""
    found = h.weighting("m", pd.Series(["a", "a", "a", "b"]), pd.Series([1.0, 1.0, 1.0, 0.0]))
    assert found.numbers == {"runs": 0.75, "tasks": 0.5}
    assert h.weighting("m", pd.Series(["a", "b"]), pd.Series([1.0, 0.0])) is None


def test_versions_of_a_measurement():
    """``v0.1.3`` is ``0.1.3``; other versions and unstated ones do not compare."""
    assert h.versions("m", "v0.1.3", "0.1.3") is None
    assert h.versions("m", "1.0.0", "1.0.1").severity == "refuse"
    assert h.versions("m", None, None).severity == "refuse"


def test_tasks_that_one_arm_did_not_run():
    """An absent task is not a failed one."""
    found = h.same_tasks("m", pd.Series(["a", "b"]), pd.Series(["b", "c", "d"]))
    assert found.numbers == {"only_baseline": 1, "only_candidate": 2}


def test_dearer_without_a_gain():
    """One up, one down at twice the price is reported; a cheaper one and an unknown price not."""
    base, cand = [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]
    found = h.dearer(paired(base, cand, costs=(0.5, 1.0)))
    assert (found.numbers["cost_ratio"], found.numbers["mean_difference"]) == (2.0, 0.0)
    assert h.dearer(paired(base, cand, costs=(1.0, 0.5))) is None
    assert h.dearer(paired(base, cand)) is None
    assert h.cost_ratio(paired(base, cand, costs=(1.0, None))) is None


def test_dearer_with_a_gain_is_a_trade_not_a_finding():
    """Nine of ten fixed: the interval is above 0, so a person may weigh it."""
    assert h.dearer(paired([0.0] * 10, [1.0] * 9 + [0.0], costs=(1.0, 3.0))) is None


# ---------------------------------------------------------------- halves and outcomes


@given(st.sets(st.text(min_size=1, max_size=6), min_size=2, max_size=30), st.text(max_size=4))
def test_halves_part_the_tasks(tasks, salt):
    """Each task is in exactly one half, the same in every pair."""
    order = arrival_order(sorted(tasks))
    trials = tuple(
        Trial(task=t, arm=a, value=1.0, order=order[t])
        for t in tasks
        for a in ("incumbent", "candidate")
    )
    parts = []
    for which in ("gate", "report"):
        try:
            parts.append({t.task for t in h.half(Evidence(trials=trials), which, salt).trials})
        except EvidenceError:
            parts.append(set())
    assert parts[0] | parts[1] == tasks
    assert not parts[0] & parts[1]
    some = next(iter(tasks))
    alone = Evidence(trials=tuple(t for t in trials if t.task == some))
    here = "gate" if some in parts[0] else "report"
    assert h.half(alone, here, salt) == alone


def test_outcome_by_hand():
    """d = +1, +1, −1, 0: mean 1/4, error √(11/12)/2 and t(3) = 3.182446 (tables)."""
    seen = h.outcome(paired([0, 0, 1, 1], [1, 1, 0, 1], costs=(1.0, 1.5)))
    error = np.sqrt(11 / 12) / 2
    assert seen["report_error"] == pytest.approx(error)
    assert seen["report_low"] == pytest.approx(0.25 - 3.182446 * error, abs=1e-5)
    assert (seen["report_fixed"], seen["report_broken"]) == (2, 1)
    assert seen["report_cost_ratio"] == 1.5


def test_a_slice_that_got_worse_is_named_though_the_mean_is_equal():
    """Slice b falls on 8 of 8: 3·(1/2)^8 = 0.012 for three slices; c fell once: chance."""
    base, cand = [0.0] * 9 + [1.0] * 8 + [1.0], [1.0] * 9 + [0.0] * 8 + [0.0]
    seen = h.outcome(paired(base, cand, slices=["a"] * 9 + ["b"] * 8 + ["c"]))
    assert seen["report_difference"] == 0
    assert (seen["report_slices_down"], seen["report_slices_worse"]) == (2, "b")


def test_slices_share_the_level():
    """5 of 5 fell: 1/32 alone is below .05, twice that is not, so of two slices none is named."""
    fell = paired([1.0] * 5, [0.0] * 5)
    assert h.outcome(fell)["report_slices_worse"] == "all"
    two = paired([1.0] * 6, [0.0] * 5 + [1.0], slices=["a"] * 5 + ["b"])
    seen = h.outcome(two)
    assert (seen["report_slices_down"], seen["report_slices_worse"]) == (1, "")


def test_tasks_arrive_in_hash_order():
    """SHA-256 of c begins with 2e, of b with 3e, of a with ca (published digests)."""
    assert arrival_order(["a", "b", "c", "a"]) == {"c": 0, "b": 1, "a": 2}


def test_clusters_widen_the_interval():
    """Two clusters of opposite sign: t(1) = 12.706, far wider than over eight tasks."""
    evidence = paired([0.0] * 8, [1.0] * 4 + [0.0] * 4, slices=["a"] * 4 + ["b"] * 4)
    alone, clustered = h.outcome(evidence), h.outcome(evidence, clustered=True)
    # √(2/1·(2² + 2²))/8 = 1/2
    assert clustered["report_low"] == pytest.approx(0.5 - 12.7062 / 2, abs=1e-3)
    assert alone["report_low"] > 0 > clustered["report_low"]


# ---------------------------------------------------------------- the study


class Small(h.History):
    """Two pairs: one that every task improves, one whose arms ran different tasks."""

    name, origin, licence, files = "small", "made up", "none", ()

    def pairs(self) -> tuple[h.Pair, ...]:
        """Both."""
        return tuple(
            h.Pair(id=c, dataset="small", baseline="a", candidate=c) for c in ("b", "short")
        )

    def arm(self, dataset: str, name: str) -> pd.DataFrame:
        """40 tasks, or 39."""
        tasks = [f"t{i}" for i in range(39 if name == "short" else 40)]
        return pd.DataFrame({"task": tasks, "value": 0.0 if name == "a" else 1.0})


def test_a_refused_pair_is_shown_and_no_rule_is_asked():
    """``refused`` with the finding as reason, outcome NA; the other pair is judged by each rule."""
    frame = h.judge_history(Small("."), ["accept_all", "mcnemar"])
    short = frame[frame["pair"] == "short"]
    assert list(short["decision"]) == ["refused", "refused"]
    assert short["reason"].str.contains("1 tasks only in the baseline").all()
    assert short["report_n"].isna().all()
    assert not short["adopted"].any()
    good = frame[frame["pair"] == "b"]
    assert list(good["decision"]) == ["accept", "accept"]
    assert (good["gate_n"] + good["report_n"]).tolist() == [40, 40]


def test_rules_by_name_object_and_label():
    """A mapping labels two rules of one name; without labels they are refused."""
    both = {"strict": rule_named("mcnemar", level=1e-9), "mcnemar": McNemar()}
    frame = h.judge_history(Small("."), both, pairs=["b"])
    assert dict(zip(frame["rule"], frame["adopted"], strict=True)) == {
        "strict": False,
        "mcnemar": True,
    }
    with pytest.raises(InvalidValue, match="two called mcnemar"):
        h.judge_history(Small("."), ["mcnemar", McNemar()])
    with pytest.raises(InvalidValue, match="admission rule"):
        h.judge_history(Small("."), ["no such rule"])
    with pytest.raises(InvalidValue, match="pair of small"):
        h.judge_history(Small("."), ["mcnemar"], pairs=["no such pair"])


def test_adoptions_count_what_was_adopted_and_what_it_did():
    """One accepted pair, shown better by 1; one refused; a rule that cannot judge misses none."""
    frame = h.judge_history(Small("."), ["accept_all"])
    row = h.adoptions(frame).loc["accept_all"]
    assert (row["judged"], row["refused"], row["adopted"], row["shown_better"]) == (1, 1, 1, 1)
    assert (row["mean_difference"], row["missed"]) == (1.0, 0)


@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_changes_no_number(pool):
    """The study of the synthetic history is the same with and without, pair by pair."""
    history, pairs = h.SyntheticHistory(), ["r01", "r04", "r07", "r08"]
    alone = h.judge_history(history, RULES, pairs=pairs)
    with pool(2) as executor:
        assert_frame_equal(alone, h.judge_history(history, RULES, pairs=pairs, executor=executor))


# ---------------------------------------------------------------- sources


def test_a_missing_folder_says_what_to_set(tmp_path, monkeypatch):
    """The error names LOGOSLAB_SHARED and the history that is always there."""
    monkeypatch.setenv("LOGOSLAB_SHARED", str(tmp_path))
    assert h.shared_folder() == tmp_path
    there = h.available()
    assert [name for name, is_there in there.items() if is_there] == ["release_history"]
    for name, history in h.HISTORIES.items():
        if name not in ("release_history", "tau_bench_airline", "tau2_leaderboard"):
            with pytest.raises(SourceError, match="Set LOGOSLAB_SHARED"):
                history().pairs()


def test_every_history_says_where_it_comes_from():
    """Origin, licence and files are stated."""
    for history in h.HISTORIES.values():
        assert history.origin
        assert history.licence
        assert history.files


# ---------------------------------------------------------------- the synthetic history


def test_the_synthetic_files_are_what_the_script_writes(tmp_path, monkeypatch):
    """Byte for byte, from its seed."""
    folder = ROOT / "data/release_history"
    spec = importlib.util.spec_from_file_location("generate_history", folder / "generate.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "HERE", tmp_path)
    script.main()
    for name in h.SyntheticHistory.files:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_the_synthetic_history_holds_every_kind_of_change():
    """40 releases of 120 tasks; slice harms leave the mean where it was and cost 0.3 in a slice."""
    history = h.SyntheticHistory()
    truth = history.truth()
    assert truth["kind"].value_counts().to_dict() == {
        "neutral": 16, "gain": 8, "harm": 8, "slice_harm": 4, "dearer": 4,
    }  # fmt: skip
    harm = truth[truth["kind"] == "slice_harm"]
    assert (harm["true_difference"] == 0).all()
    assert (harm["worst_slice_difference"] == -0.3).all()
    assert len(history.pairs()) == 40
    assert len(history.evidence("r01").pairs().tasks) == 120


def test_realised_outcomes_follow_the_stated_truth():
    """Over all releases the realised mean change is within 4 standard errors of the stated one."""
    history = h.SyntheticHistory()
    truth = history.truth()["true_difference"]
    for release, stated in truth.items():
        d = history.evidence(release).pairs().difference
        assert abs(d.mean() - stated) < 4 * d.std(ddof=1) / np.sqrt(len(d))


def test_dearer_releases_cost_1_9_times_as_much_and_scores_do_not_show_it():
    """Stated ratio 1.9, measured within 5 %; each rule decides as if nobody had paid."""
    history = h.SyntheticHistory()
    truth = history.truth()
    for release in truth.index[truth["kind"] == "dearer"]:
        evidence = history.evidence(release)
        assert h.cost_ratio(evidence) == pytest.approx(1.9, rel=0.05)
        free = evidence.replace(
            trials=tuple(t.model_copy(update={"cost": None}) for t in evidence.trials)
        )
        for name in RULES:
            rule = rule_named(name)
            assert rule.decide(evidence).conclusion == rule.decide(free).conclusion
