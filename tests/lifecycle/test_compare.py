"""compare(old, new): numbers by hand or by scipy, traps named, and the real pairs."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from logoslab.errors import EvidenceError, InvalidValue, SourceError
from logoslab.gate import rule_named
from logoslab.interop import read_results
from logoslab.lifecycle.changes import paired_interval
from logoslab.lifecycle.compare import compare

ROOT = Path(__file__).resolve().parents[2]
OLD = {"a": 1.0, "b": 0.0, "c": 0.0, "d": 1.0, "e": 0.0}
NEW = {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0, "e": 0.0}


def table(scores, **columns):
    return pd.DataFrame({"task": list(scores), "score": list(scores.values()), **columns})


def test_flips_means_and_verdict_by_hand():
    """b and c fixed, d broken: +1/5 on 5 tasks; one regression is too many for the paired gate."""
    found = compare(OLD, NEW)
    assert (found.n, found.fixed, found.broken) == (5, 2, 1)
    assert (found.old_mean, found.new_mean) == (0.4, 0.6)
    assert found.mean_difference == pytest.approx(0.2)
    assert [(f.task, f.difference) for f in found.changed] == [("d", -1), ("b", 1), ("c", 1)]
    assert found.flips()["flip"].tolist() == ["broken", "fixed", "fixed"]
    assert found.decision == "reject"
    assert found.reasons[0] == "paired reject_harmful: 1 regressed task(s), 0 tolerated"


def test_the_interval_is_that_of_the_paired_t_test():
    """Against scipy's confidence interval of ttest_rel, at two levels."""
    rng = np.random.default_rng(0)
    old = {f"t{i}": float(v) for i, v in enumerate(rng.random(40))}
    new = {t: float(v) for t, v in zip(old, rng.random(40), strict=True)}
    for alpha in (0.05, 0.2):
        mine = compare(old, new, rule="mean_improves", alpha=alpha).interval
        theirs = stats.ttest_rel(list(new.values()), list(old.values())).confidence_interval(
            1 - alpha
        )
        assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high))
        assert mine.method == "Student's t over 40 tasks"


def test_where_nothing_varies_no_certainty_is_claimed():
    """Three ties: t would give [0, 0]; the betting interval keeps most of [-1, 1]."""
    same = compare({"a": 1, "b": 0, "c": 0}, {"a": 1, "b": 0, "c": 0}).interval
    assert same.low < -0.5 < 0.5 < same.high
    assert same.method == "betting, as nothing varies"
    assert paired_interval(np.full(3, 7.0), 0.05) is None


def test_slices_worst_first_with_simultaneous_intervals():
    """x falls by 1/2 and y gains 2/3: both said, at level 1 - 0.05/2; clusters widen the total."""
    slices = ["x", "y", "y", "x", "y"]
    found = compare(table(OLD, area=slices), table(NEW, area=slices), slice="area")
    assert [(s.slice, s.n, s.fixed, s.broken) for s in found.slices] == [
        ("x", 2, 0, 1), ("y", 3, 2, 0),
    ]  # fmt: skip
    assert [s.slice for s in found.worse_slices] == ["x"]
    assert not found.worse_slices[0].shown  # two tasks show nothing
    theirs = stats.ttest_1samp([0, -1], 0).confidence_interval(0.975)
    assert found.slices[0].interval.low == pytest.approx(theirs.low)
    assert found.interval_by_slice.method.startswith("Student's t over 2 slices")


def test_a_slice_that_got_worse_beyond_chance_is_shown():
    """40 of 50 tasks of one slice break while the mean rises."""
    old = {f"t{i}": float(i < 50) for i in range(200)}
    new = {f"t{i}": float(i >= 40) for i in range(200)}
    slices = ["small" if i < 50 else "large" for i in range(200)]
    found = compare(table(old, slice=slices), table(new, slice=slices))
    assert found.mean_difference > 0
    assert [(s.slice, s.shown) for s in found.worse_slices] == [("small", True)]


def test_cost_is_paired_and_unknown_stays_unknown():
    """Costs 1 → 3 on the two tasks measured on both sides; the third counts nowhere."""
    old = table({"a": 1, "b": 1, "c": 1}, cost=[1.0, 1.0, None])
    new = table({"a": 1, "b": 1, "c": 1}, cost=[2.0, 4.0, 9.0])
    found = compare(old, new)
    assert (found.cost.old, found.cost.new, found.cost.ratio) == (1.0, 3.0, 3.0)
    assert (found.cost.n, found.cost.tasks) == (2, 3)
    assert found.latency is None
    assert "latency   unknown" in found.summary()


def test_tasks_of_one_side_only_are_named():
    """What the new agent did not return fails; what has no baseline is left out; both noted."""
    found = compare({"a": 1, "b": 1}, {"a": 1, "z": 1}, rule="paired")
    assert (found.n, found.broken) == (2, 1)
    assert found.notes == (
        "1 task(s) only in mapping (old) count as failures of the new agent: b",
        "1 task(s) only in mapping (new) are left out: no baseline: z",
    )
    with pytest.raises(EvidenceError, match="no task in common; first tasks 'a' and 'z'"):
        compare({"a": 1}, {"z": 1})


def test_a_list_of_resolved_tasks_leaves_the_others_unresolved(tmp_path):
    """Old resolved a and b, new b and c, d tried by one: a broken, c fixed, of 4 tasks."""
    (tmp_path / "old.json").write_text('{"resolved": ["a", "b"], "no_generation": ["d"]}')
    (tmp_path / "new.json").write_text('{"resolved": ["b", "c"]}')
    found = compare(tmp_path / "old.json", tmp_path / "new.json")
    assert (found.n, found.fixed, found.broken) == (4, 1, 1)
    assert not [note for note in found.notes if "count as failures" in note]


def test_repeated_runs_are_averaged_by_task():
    """Two runs against one: 1/2 → 1 on task a."""
    old = pd.DataFrame({"task": ["a", "a", "b"], "trial": [0, 1, 0], "score": [1, 0, 1]})
    found = compare(old, {"a": 1.0, "b": 1.0}, rule="mean_improves")
    assert (found.fixed, found.mean_difference) == (1, 0.25)


def test_two_scales_are_refused():
    """0 to 1 against 0 to 100, either way round, and 0/1 against 0/85."""
    for old, new in (
        ({"a": 0.4, "b": 1}, {"a": 40, "b": 90}),
        ({"a": 40, "b": 90, "c": 5}, {"a": 0.4, "b": 1, "c": 0}),
        ({"a": 0, "b": 1}, {"a": 85, "b": 0}),
    ):
        with pytest.raises(SourceError, match="allowed one scale, such as 0 to 1 or 0 to 100"):
            compare(old, new)
    assert compare({"a": 40, "b": 90}, {"a": 45, "b": 95}, rule="mean_improves").n == 2


def test_slices_must_agree():
    """One task in two slices cannot be compared."""
    with pytest.raises(
        EvidenceError, match=r"slice of task 'a': .*'x' in DataFrame .old., 'y' in Data"
    ):
        compare(table({"a": 1}, slice=["x"]), table({"a": 1}, slice=["y"]))


def test_a_loss_needs_a_direction():
    """Two losses that rise .1: refused unsaid, else 2 broken, or 2 fixed if higher is better."""
    old, new = (pd.DataFrame({"task": ["a", "b"], "val_loss": v}) for v in ([0.5, 0.6], [0.6, 0.7]))
    with pytest.raises(InvalidValue, match=r"direction of the score in DataFrame .old.*val_loss"):
        compare(old, new, score="val_loss")
    worse = compare(old, new, score="val_loss", lower_is_better=True, rule="mean_improves")
    assert (worse.fixed, worse.broken, worse.decision) == (0, 2, "reject")
    assert worse.mean_difference == pytest.approx(-0.1)
    assert worse.notes[0] == "DataFrame (old): lower is better: 'val_loss' is judged with a minus"
    better = compare(old, new, score="val_loss", lower_is_better=False)
    assert (better.fixed, better.broken) == (2, 0)


@pytest.mark.parametrize(("scores", "lower"), [((1.3, 1.4), True), ((-1.3, -1.4), False)])
def test_a_failed_run_is_never_the_best(scores, lower):
    """Under losses or negative scores the usual m_fail of 0 would reward a crash."""
    old = pd.DataFrame({"task": ["a", "b"], "score": scores})
    new = pd.DataFrame({"task": ["a", "b"], "score": [scores[0], None]})
    with pytest.raises(InvalidValue, match=r"m_fail.*what a failed run is worth"):
        compare(old, new, lower_is_better=lower)
    worst = 9.0 if lower else -9.0
    found = compare(old, new, lower_is_better=lower, m_fail=worst, rule="mean_improves")
    assert (found.broken, found.decision) == (1, "reject")


@pytest.mark.parametrize(
    ("old", "new", "rule", "decision"),
    [
        ({"a": 0, "b": 0}, {"a": 1, "b": 1}, "paired", "accept"),
        ({"a": 1, "b": 1}, {"a": 0, "b": 1}, "paired", "reject"),
        ({"a": 0, "b": 0}, {"a": 1, "b": 1}, "anytime", "undecided"),
        ({"a": 0, "b": 0}, {"a": 1, "b": 1}, ("paired", "anytime"), "undecided"),
        ({"a": 1, "b": 1}, {"a": 0, "b": 1}, ("anytime", "paired"), "reject"),
        ({"a": 0.5}, {"a": 0.9}, "paired", "undecided"),  # not applicable without delta_min
    ],
)
def test_every_rule_must_accept_and_one_can_reject(old, new, rule, decision):
    """accept ⇔ all accept; reject ⇔ one rejects; anything else is undecided."""
    assert compare(old, new, rule=rule).decision == decision


def test_parameters_reach_the_rules_that_have_them():
    """r_max=1 lets one regression pass; a rule object keeps its own parameters."""
    assert compare(OLD, NEW, rule="paired", r_max=1).decision == "accept"
    assert compare(OLD, NEW, rule=rule_named("paired", r_max=1)).decision == "accept"
    assert compare(OLD, NEW, rule="paired", r_max=1, delta_min=0.3).decision == "reject"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"rule": "nonsense"}, "admission rule: allowed accept_all|admission rule: allowed paired"),
        ({"rule": ()}, "rule: allowed one rule or more; got none"),
        ({"alpha": 2}, "alpha: allowed a number > 0 and < 1; got 2"),
        ({"r_max": -1}, "r_max: allowed a whole number ≥ 0; got -1"),
        ({"sampling": "lucky"}, "sampling: allowed fixed_holdout, iid, shared_pool, with_repl"),
    ],
)
def test_parameters_outside_their_domain(asked, message):
    """The argument is named with what is allowed."""
    with pytest.raises(InvalidValue, match=message):
        compare(OLD, NEW, **asked)


def test_one_json_object_with_everything():
    """The promised keys, every flip, no path and no column; it is valid JSON without NaN."""
    text = compare(OLD, NEW, rule=("paired", "mcnemar")).to_json()
    found = json.loads(text)
    assert "\n" not in text
    assert {"decision", "rule", "n", "fixed", "broken", "mean_difference", "interval",
            "reasons"} <= found.keys()  # fmt: skip
    assert found["rule"] == "paired,mcnemar"
    assert found["interval"][0] < found["mean_difference"] < found["interval"][1]
    assert (found["fixed_tasks"], found["broken_tasks"]) == (["b", "c"], ["d"])
    assert "path" not in found["decisions"][0]
    assert "tasks" not in found["old"]
    assert found["evidence_digest"] == found["decisions"][0]["evidence"]


def test_names_from_files_are_data():
    """Markup is escaped in a notebook, and a line break in a name makes no line."""
    evil = {"<script>alert(1)</script>\nforged accept": 1.0, "b": 1.0}
    found = compare(evil, dict.fromkeys(evil, 0.0), rule="paired")
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert not [line for line in found.summary().splitlines() if line.startswith("forged")]


# -- published results ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def agents():
    """SWE-bench Verified, bash only: the results of one agent as a frame."""
    shared = Path(os.environ.get("LOGOSLAB_SHARED", ROOT.parent / "shared"))
    path = shared / "data" / "swebench_bashonly" / "outcomes.parquet"
    if not path.exists():
        pytest.skip(f"no public results at {path}; set LOGOSLAB_SHARED")
    outcomes = pd.read_parquet(path)

    def agent(part):
        rows = outcomes[outcomes["folder"].str.endswith(part)]
        assert len(rows) == 500
        return rows

    return agent


@pytest.mark.parametrize(
    ("old", "new", "fixed", "broken", "ratio"),
    [
        ("claude-sonnet-4-20250514", "sonnet-4-5-20250929", 54, 25, 0.558335 / 0.371453),
        ("gpt-5-nano", "gpt-5-mini", 144, 19, 0.035477 / 0.038075),
        ("gpt-5-mini", "_gpt-5", 54, 28, 7.9),
        ("gemini-2.5-pro", "gemini-3-pro-preview-20251118", 115, 12, 0.459958 / 0.288372),
    ],
)
def test_real_pairs(agents, old, new, fixed, broken, ratio):
    """Fixed, broken and the cost ratio as release_pairs/pairs.csv and the README state them."""
    found = compare(agents(old), agents(new), slice="repo")
    assert (found.n, found.fixed, found.broken) == (500, fixed, broken)
    assert found.cost.ratio == pytest.approx(ratio, rel=0.002)
    assert found.mean_difference == pytest.approx((fixed - broken) / 500)
    assert len(found.slices) == 12
    assert found.decision == "reject"  # r_max 0: no real upgrade breaks nothing


def test_the_paired_standard_error_of_a_real_pair(agents):
    """S001 in pairs.csv: standard error 0.01760, so the half width is t(499) times that."""
    found = compare(agents("claude-sonnet-4-20250514"), agents("sonnet-4-5-20250929"))
    half = (found.interval.high - found.interval.low) / 2
    assert half / stats.t.ppf(0.975, 499) == pytest.approx(0.01760, abs=5e-6)


def test_metr_runs_are_judged_by_task(agents):
    """Sonnet Old → New: 19 tasks up, 10 down, 27 tie, +0.0902 (the folder's README); the means
    over runs are noted with both numbers."""
    shared = Path(os.environ.get("LOGOSLAB_SHARED", ROOT.parent / "shared"))
    runs = pd.read_parquet(shared / "data" / "metr_agent_runs" / "runs.parquet")
    old, new = (
        read_results(runs[runs["alias"] == f"Claude 3.5 Sonnet ({v})"], score="score_binarized")
        for v in ("Old", "New")
    )
    found = compare(old, new, rule="mean_improves")
    assert (found.n, found.fixed, found.broken) == (56, 19, 10)
    assert found.mean_difference == pytest.approx(0.0902, abs=5e-5)
    assert any("over tasks is 0.4422, the mean over runs 0.3788" in note for note in found.notes)


def test_a_parameter_that_no_named_rule_reads_is_refused() -> None:
    """McNemar has no delta_min: asking for one is a mistake, not a wish that is passed over."""
    old, new = {f"t{i}": 0.0 for i in range(9)}, {f"t{i}": 1.0 for i in range(9)}
    with pytest.raises(InvalidValue) as caught:
        compare(old, new, rule="mcnemar", delta_min=0.9)
    assert str(caught.value) == (
        "parameters: allowed parameters of the rules that are asked by name; "
        "got delta_min, which none of mcnemar reads. "
        "Leave them out, or name a rule that reads them (`logoslab rules`)."
    )
    assert compare(old, new, rule=("mcnemar", "paired"), delta_min=0.9).decision == "accept"


@pytest.mark.parametrize(
    ("rule", "sampling", "said"),
    [
        ("anytime", "iid", "the claim holds when that is the order in which they were drawn"),
        ("anytime", "fixed_holdout", "another order can give another verdict"),
        ("paired", "iid", None),
    ],
)
def test_a_sequential_claim_names_the_order_it_rests_on(
    rule: str, sampling: Any, said: str | None
) -> None:
    """A rule that stops early says that its verdict, and its claim, rest on the order."""
    scores = {f"t{i}": float(i % 2) for i in range(9)}
    notes = [n for n in compare(scores, scores, rule=rule, sampling=sampling).notes if "order" in n]
    assert len(notes) == (said is not None)
    assert all(said in note for note in notes if said)


def test_another_order_can_give_another_verdict() -> None:
    """The same 120 pairs, gains first or losses first: what the note warns of does happen."""
    gains, losses = (
        {f"{k}{i}": v for i in range(60)} for k, v in (("g", (0.0, 1.0)), ("l", (1.0, 0.0)))
    )
    seen = set()
    for rows in ({**gains, **losses}, {**losses, **gains}):
        old, new = ({task: pair[arm] for task, pair in rows.items()} for arm in (0, 1))
        seen.add(compare(old, new, rule="anytime").decision)
    assert seen == {"accept", "reject"}
