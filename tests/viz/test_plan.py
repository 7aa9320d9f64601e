"""Figures of a plan: what is drawn is what the frame holds."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from logoslab.errors import InvalidValue
from logoslab.viz import acceptance_curve, alt_text, design_costs, plan_surface

EVIL = "<b>mcnemar</b>"

SURFACE = pd.DataFrame(
    [(e, n, a, a - 0.02, a + 0.02) for e, n, a in
     ((0.0, 20, 0.03), (0.1, 20, 0.4), (0.0, 40, 0.04), (0.1, 40, 0.7))],
    columns=["effect", "n", "accept", "low", "high"],
)  # fmt: skip

DESIGNS = pd.DataFrame(
    {
        "design": [EVIL, "mean_improves, n=20, B=1", "paired, n=20, B=1"],
        "evaluations": [80.0, 40.0, 40.0],
        "cost": [1.6, 0.8, 0.8],
        "power": [0.9, 0.99, 0.1],
        "power_low": [0.88, 0.98, 0.08],
        "power_high": [0.92, 1.0, 0.12],
        "false_adoption": [0.03, 0.45, 0.01],
        "false_adoption_high": [0.04, 0.47, 0.02],
        "meets": [True, False, False],
        "recommended": [True, False, False],
    }
)


def test_a_curve_for_each_n_with_its_interval_and_the_targets() -> None:
    """Two curves with the frame's rates and interval; error and power are lines."""
    fig = acceptance_curve(SURFACE, error=0.05, power=0.8, effect=0.1)
    assert [t.name for t in fig.data] == ["n 20", "n 40"]
    assert list(fig.data[1].y) == [0.04, 0.7]
    assert list(fig.data[1].error_y.array) == pytest.approx([0.02, 0.02])
    assert {a.text for a in fig.layout.annotations} == {"error 0.05", "power 0.8"}
    assert len({t.line.dash for t in fig.data}) == 2
    assert "n 40: from 0.04 at 0 to 0.7 at 0.1" in alt_text(fig)


def test_the_surface_is_the_frame_with_its_gaps() -> None:
    """Rows are n, columns are effects; an unmeasured point stays blank."""
    frame = SURFACE.assign(accept=[0.03, math.nan, 0.04, 0.7])
    fig = plan_surface(frame, error=0.05, power=0.5)
    z = fig.data[0].z
    assert z.shape == (2, 2)
    assert math.isnan(z[0][1])
    assert z[1][1] == 0.7
    assert [t.name for t in fig.data[1:]] == ["error 0.05", "power 0.5"]
    assert "from 0.03 to 0.7" in alt_text(fig)


def test_designs_are_parted_by_their_promises() -> None:
    """One meets, one lets through too much, one lacks power; the best is named, escaped."""
    fig = design_costs(DESIGNS, error=0.05, power=0.8)
    assert [t.name for t in fig.data] == [
        "not shown to hold the error", "holds the error, lacks power", "meets both targets",
    ]  # fmt: skip
    assert [list(t.x) for t in fig.data] == [[0.8], [0.8], [1.6]]
    (named,) = [a for a in fig.layout.annotations if a.x == 1.6]
    assert named.text == "<b>&lt;b&gt;mcnemar&lt;/b&gt;</b>"
    assert fig.layout.xaxis.title.text == "expected cost"
    assert "1 meet both targets" in alt_text(fig)


def test_without_a_price_the_axis_is_evaluations() -> None:
    """An unknown cost is not drawn as 0."""
    fig = design_costs(DESIGNS.assign(cost=math.nan))
    assert fig.layout.xaxis.title.text == "expected evaluations"
    assert list(fig.data[-1].x) == [80.0]


def test_a_frame_without_the_columns_is_refused() -> None:
    """The missing column is named."""
    with pytest.raises(InvalidValue, match=r"frame for plan_surface: .*; got no column accept"):
        plan_surface(SURFACE.drop(columns="accept"))
