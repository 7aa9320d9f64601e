"""Figures of a comparison: tasks that flipped, and slices that moved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from logoslab.viz.theme import INK, canvas, each, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

    from logoslab.lifecycle.comparison import Comparison

KINDS = {"broken": "harm", "same": "tie", "fixed": "gain"}
ROW = 26


def flip_frame(comparison: Comparison) -> pd.DataFrame:
    """How many tasks broke, stayed and were fixed: columns ``kind``, ``role``, ``tasks``."""
    import pandas as pd

    c = comparison
    counts = {"broken": c.broken, "same": c.n - c.broken - c.fixed, "fixed": c.fixed}
    return pd.DataFrame(
        [(kind, KINDS[kind], tasks) for kind, tasks in counts.items()],
        columns=["kind", "role", "tasks"],
    )


def slice_frame(comparison: Comparison) -> pd.DataFrame:
    """One row a slice, worst first.

    Columns ``slice``, ``n``, ``fixed``, ``broken``, ``difference``, ``low``, ``high`` (None
    without an interval) and ``role``: harm or gain where the interval excludes 0, else tie.
    """
    import pandas as pd

    rows = []
    for s in comparison.slices:
        low, high = (s.interval.low, s.interval.high) if s.interval else (None, None)
        role = "harm" if s.shown else "gain" if low is not None and low > 0 else "tie"
        rows.append((s.slice, s.n, s.fixed, s.broken, s.mean_difference, low, high, role))
    columns = ["slice", "n", "fixed", "broken", "difference", "low", "high", "role"]
    return pd.DataFrame(rows, columns=columns)


def flip_bar(
    frame: pd.DataFrame, *, title: str = "What changed, task by task", div_id: str = "flips"
) -> go.Figure:
    """One bar of all tasks: broken, the same, fixed.

    Parameters
    ----------
    frame : DataFrame
        From :func:`flip_frame`.
    """
    require(frame, ("kind", "role", "tasks"), "flip_bar")
    words = ", ".join(f"{row.tasks} {row.kind}" for row in each(frame))
    total = int(frame["tasks"].sum())
    fig = canvas(title, f"{total} tasks: {words}.", f"Bar of {total} tasks: {words}.", div_id, 230)
    for row in each(frame):
        style = look(row.role)
        fig.add_bar(x=[row.tasks], y=[""], name=f"{row.kind} ({row.tasks})", orientation="h",
                    marker={"color": style.colour, "pattern": {"shape": style.hatch}},
                    hovertemplate=f"{row.kind}: %{{x}} tasks<extra></extra>")  # fmt: skip
    fig.update_layout(barmode="stack")
    return fig.update_xaxes(title_text="tasks")


def slice_intervals(
    frame: pd.DataFrame,
    *,
    title: str = "Slice by slice, worst first",
    div_id: str = "slices",
) -> go.Figure:
    """Mean difference of each slice with an interval that holds for all slices at once.

    Parameters
    ----------
    frame : DataFrame
        From :func:`slice_frame`.
    """
    columns = ("slice", "n", "difference", "low", "high", "role")
    require(frame, columns, "slice_intervals")
    worse = int((frame["difference"] < 0).sum())
    words = f"{worse} of {len(frame)} slices got worse"
    worst = frame.iloc[0]
    alt = (
        f"Dot chart of candidate minus incumbent by slice with intervals: {words}; the lowest is "
        f"{worst['slice']} at {worst['difference']:+.3g}."
    )
    fig = canvas(title, f"{words}. Intervals hold for all slices at once.", alt, div_id,
                 190 + ROW * len(frame))  # fmt: skip
    for role, part in frame.groupby("role", sort=False):
        style = look(str(role))
        fig.add_scatter(
            x=part["difference"],
            y=[plain(f"{row.slice} ({row.n})") for row in each(part)],
            name=NAMES[str(role)],
            mode="markers",
            marker={"symbol": style.symbol, "size": 10, "color": style.colour},
            error_x={"type": "data", "symmetric": False, "color": style.colour,
                     "array": (part["high"] - part["difference"]).tolist(),
                     "arrayminus": (part["difference"] - part["low"]).tolist()},
            hovertemplate="%{y}: %{x:+.3g}<extra></extra>",
        )  # fmt: skip
    fig.add_vline(x=0, line={"color": INK, "width": 1})
    order = [plain(f"{row.slice} ({row.n})") for row in each(frame)]
    fig.update_yaxes(categoryorder="array", categoryarray=order[::-1])
    return fig.update_xaxes(title_text="candidate − incumbent")


NAMES = {"harm": "worse", "gain": "better", "tie": "may be chance"}
