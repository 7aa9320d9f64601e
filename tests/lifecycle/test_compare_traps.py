"""compare(old, new) where the files invite a false answer: scales, holes, names, units."""

import numpy as np
import pandas as pd
import pytest

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.lifecycle.changes import paired_interval
from logoslab.lifecycle.compare import compare


def table(scores, **columns):
    return pd.DataFrame({"task": list(scores), "score": list(scores.values()), **columns})


@pytest.mark.parametrize("gain", [0.0, 0.5])
def test_a_scale_without_bounds_has_no_betting_interval(gain):
    """Scores of 60 to 99 that all move alike: nothing bounds the mean, so no interval is made."""
    old = {f"t{i}": 60.0 + i % 40 for i in range(40)}
    new = {task: score + gain for task, score in old.items()}
    found = compare(table(old, slice=["x"] * 40), table(new, slice=["x"] * 40))
    assert found.mean_difference == pytest.approx(gain)
    assert found.interval is None
    assert found.slices[0].interval is None
    assert paired_interval(np.full(3, gain), 0.05) is None


def test_cost_and_latency_have_no_bounds():
    """Equal costs in both files say nothing about ±1: no interval, for latency neither."""
    rows = table({"a": 1, "b": 0}, cost=[0.25, 0.25], latency=[2.0, 3.0])
    found = compare(rows, rows)
    assert found.cost.interval is None
    assert found.latency.interval is None
    assert found.interval is not None  # scores of 0 and 1 differ by 1 at most


def test_scores_outside_0_to_1_are_noted():
    """A rule for bounded differences sees only what was observed; the note says so."""
    found = compare({"a": 1.1, "b": 0.9}, {"a": 1.0, "b": 0.95}, rule="anytime")
    assert "scores run from 0.9 to 1.1, outside [0, 1]" in " ".join(found.notes)
    assert not compare({"a": 1.0}, {"a": 0.0}, rule="paired").notes


def test_tasks_without_an_old_score_are_named_as_left_out():
    """Old returned nothing on a: n is 1 and the note says why; new's hole is a failure."""
    found = compare({"a": None, "b": 1.0}, {"a": 1.0, "b": None}, rule="paired")
    assert (found.n, found.broken) == (1, 1)
    assert found.notes == (
        "mapping (old): 1 row(s) without a score: nothing came back",
        "mapping (new): 1 row(s) without a score: nothing came back",
        "1 task(s) without any score in mapping (old) are left out: no baseline: a",
        "a run without a score counts as 0 on the tasks that are compared",
    )


def test_negative_scores_are_one_scale_with_positive_ones():
    """Rewards of -5 and -3 against 2 and 4 are no percentages: the mean rises by 7."""
    found = compare({"a": -5.0, "b": -3.0}, {"a": 2.0, "b": 4.0}, rule="mean_improves")
    assert (found.mean_difference, found.fixed) == (7.0, 2)


def test_files_of_one_name_are_told_apart(tmp_path):
    """v1/r.csv and v2/r.csv, as most people keep them: old and new stand beside the name."""
    for folder, rows in (("v1", "a,1\nb,1\n"), ("v2", "a,1\nz,1\n")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "r.csv").write_text(f"task,score\n{rows}")
    found = compare(tmp_path / "v1" / "r.csv", tmp_path / "v2" / "r.csv", rule="paired")
    assert (found.old.source, found.new.source) == ("r.csv (old)", "r.csv (new)")
    assert found.notes == (
        "1 task(s) only in r.csv (old) count as failures of the new agent: b",
        "1 task(s) only in r.csv (new) are left out: no baseline: z",
    )


def test_two_keep_discard_logs_can_be_compared(tmp_path):
    """What became of a commit differs between logs and is no slice of it."""
    head = "commit\tval_bpb\tmemory_gb\tstatus\tdescription\n"
    (tmp_path / "old.tsv").write_text(f"{head}a1\t1.37\t1\tkeep\tx\nb2\t0\t0\tcrash\ty\n")
    (tmp_path / "new.tsv").write_text(f"{head}a1\t1.30\t1\tdiscard\tx\nb2\t1.2\t1\tkeep\ty\n")
    with pytest.raises(InvalidValue, match="--lower-is-better or --higher-is-better"):
        compare(tmp_path / "old.tsv", tmp_path / "new.tsv")
    found = compare(tmp_path / "old.tsv", tmp_path / "new.tsv", lower_is_better=True, m_fail=9)
    assert (found.n, found.fixed, found.slices) == (1, 1, ())


def test_another_unit_is_suspected_aloud():
    """Seconds against milliseconds: a factor of 1000 asks whether the units agree."""
    old, new = (table({"a": 1, "b": 1}, latency=[1.0 * k, 2.0 * k]) for k in (1, 1000))
    (note,) = (n for n in compare(old, new).notes if "unit" in n)
    assert note == "latency is ×1000 of the old: do both files state it in the same unit?"
    assert not [n for n in compare(old, old).notes if "unit" in n]


def test_unlike_guesses_are_said():
    """score in one file and accuracy in the other, nobody having named either."""
    old, new = (
        pd.DataFrame({"task": ["a"], "score": [1]}),
        pd.DataFrame({"task": ["a"], "accuracy": [1]}),
    )
    said = "score was guessed to be 'score' in DataFrame (old) and 'accuracy' in DataFrame (new)"
    assert [n for n in compare(old, new).notes if n.startswith(said)]


def test_slices_are_told_apart_to_the_last_character():
    """A name that ends in a zero character is another slice; an array of text would merge them."""
    names = {"a": "x", "b": "x\0"}
    found = compare(*(table({"a": 1, "b": 0}, slice=list(names.values())) for _ in range(2)))
    assert [(s.slice, s.n) for s in found.slices] == [("x", 1), ("x\0", 1)]


def test_huge_scores_are_refused_before_they_overflow():
    """1e308 against -1e308 has no finite difference."""
    with pytest.raises(
        EvidenceError, match="score of task 'a', incumbent: allowed a finite number up to"
    ):
        compare({"a": 1.0e308, "b": 1e308}, {"a": -1e308, "b": -1e308}, rule="mean_improves")


def test_rounding_is_no_spread():
    """Costs that all rise by .1 differ by rounding alone: no interval, not one of no width."""
    costs = [0.1 * k for k in range(1, 9)]
    scores = dict.fromkeys("abcdefgh", 1)
    old, new = table(scores, cost=costs), table(scores, cost=[c + 0.1 for c in costs])
    change = compare(old, new).cost
    assert change.difference == pytest.approx(0.1)
    assert change.interval is None


def test_a_task_without_a_baseline_is_left_out_and_nothing_else():
    """Task a, empty in old and absent from new, was once left out and counted as a failure too."""
    found = compare({"a": None, "b": 1.0}, {"b": 1.0}, rule="paired")
    assert (found.n, found.broken) == (1, 0)
    assert not [note for note in found.notes if "count as failures" in note]
    assert [note for note in found.notes if "are left out: no baseline: a" in note]
