"""The release dossier and its two figures: what they show, escaped, the same twice."""

import html

import pandas as pd
import pytest

from logoslab.errors import InvalidValue
from logoslab.lifecycle.compare import compare
from logoslab.viz import (
    alt_text,
    flip_bar,
    flip_frame,
    slice_frame,
    slice_intervals,
    write_dossier,
)

EVIL = "<img src=x onerror=alert(1)>"


def compared(tasks=60, **options):
    names = [f"t{i}" for i in range(tasks - 1)] + [EVIL]
    slices = ["<b>hard</b>" if i % 3 else "easy" for i in range(tasks)]
    old, new = (
        pd.DataFrame({"task": names, "score": scores, "slice": slices, "cost": cost})
        for scores, cost in (
            ([i % 2 for i in range(tasks)], 1.0),
            ([float(i != tasks - 1) for i in range(tasks)], 2.5),
        )
    )
    return compare(old, new, **options)


def test_flips_are_counted_not_computed():
    """30 fixed, 1 broken, 29 the same of 60; the bar and its alt text say so."""
    frame = flip_frame(compared())
    assert frame["tasks"].tolist() == [1, 29, 30]
    figure = flip_bar(frame)
    assert [bar.x[0] for bar in figure.data] == [1, 29, 30]
    assert alt_text(figure) == "Bar of 60 tasks: 1 broken, 29 same, 30 fixed."


def test_slices_are_drawn_worst_first_with_their_intervals():
    """One point a slice, error bars to the bounds, names escaped for plotly."""
    found = compared()
    frame = slice_frame(found)
    assert frame["difference"].is_monotonic_increasing
    figure = slice_intervals(frame)
    drawn = {y: (x, up) for trace in figure.data
             for y, x, up in zip(trace.y, trace.x, trace.error_x.array, strict=True)}  # fmt: skip
    assert set(drawn) == {"&lt;b&gt;hard&lt;/b&gt; (40)", "easy (20)"}
    for s in found.slices:
        x, up = drawn[f"{html.escape(s.slice)} ({s.n})"]
        assert (x, x + up) == pytest.approx((s.mean_difference, s.interval.high))


def test_frames_that_cannot_be_drawn():
    """No slices, no figure: the frame is refused by name."""
    with pytest.raises(InvalidValue, match="frame for slice_intervals"):
        slice_intervals(slice_frame(compare({"a": 1}, {"a": 1})))


def test_everything_is_in_the_dossier(tmp_path):
    """Question, verdict, reasons, flips, slices, cost, rules with claims, columns and digests."""
    found = compared()
    text = write_dossier(tmp_path / "d.html", found).read_text("utf-8")
    for wanted in (
        "May DataFrame (new) replace DataFrame (old)?",
        "No: at least one rule rejects.",
        "paired reject_harmful: 1 regressed task(s), 0 tolerated",
        "&lt;img src=x onerror=alert(1)&gt;",
        "1 of 2 slices got worse" if found.worse_slices else "0 of 2 slices got worse",
        "<td>2.5</td>",
        "Audit account only: a finite holdout",
        "task column (guessed)",
        found.evidence.digest,
    ):
        assert wanted in text, wanted
    assert EVIL not in text
    again = write_dossier(tmp_path / "e.html", compared())
    assert again.read_text("utf-8") == text


def test_a_long_flip_table_says_what_it_leaves_out(tmp_path):
    """451 of 900 tasks changed: the 200 worst and 200 best are listed, and the page says so."""
    text = write_dossier(tmp_path / "d.html", compared(900)).read_text("utf-8")
    assert "The table has the 200 worst and the 200 best of 451 changed tasks" in text


def test_a_comparison_without_change(tmp_path):
    """Nothing changed, no slices, nothing measured: said in words."""
    text = write_dossier(tmp_path / "d.html", compare({"a": 1}, {"a": 1})).read_text("utf-8")
    for wanted in ("No task changed.", "No slices were given.", "not measured"):
        assert wanted in text
