"""The wealth figure as one inline SVG: no JavaScript, and it is saved with the notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from logoslab.viz.scale import decades, padded, times
from logoslab.viz.theme import each, look

if TYPE_CHECKING:
    import pandas as pd

DASHES = {
    "solid": "", "dash": "8 5", "dot": "2 4", "dashdot": "8 4 2 4",
    "longdash": "12 6", "longdashdot": "12 4 2 4",
}  # fmt: skip
WIDTH, HEIGHT = 620, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 168, 12, 34


def wealth_svg(frame: pd.DataFrame, tasks: int) -> str:
    """Wealth paths so far on an axis of all tasks, each named at its end.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.viz.wealth_frame`.
    tasks : int
        Length of the axis, so that stepping does not rescale it.
    """
    bars = frame.dropna(subset="log_threshold").drop_duplicates("side")
    ends = frame[frame["stopped"]]
    low = min(float(frame["log_wealth"].min()), 0.0)
    high = max(0.0, float(frame["log_wealth"].max()), *bars["log_threshold"])
    scale = _Scale(tasks, *padded(low, high))
    alt = "Wealth so far: " + "; ".join(
        f"{row.label} {times(row.log_wealth)}" for row in each(ends)
    )
    parts = [_grid(scale, decades(low, high)), _axis(scale)]
    top = bars["log_threshold"].max()
    parts += [
        _bar(scale, row.side, row.log_threshold, above=row.log_threshold == top)
        for row in each(bars)
    ]
    parts += [_line(scale, path) for _, path in frame.groupby("process", sort=False)]
    parts.append(_names(scale, ends))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" style="max-width:{WIDTH}px" role="img" '
        f'aria-label="{escape(alt)}" font-size="11.5" fill="currentColor">{"".join(parts)}</svg>'
    )


class _Scale:
    """Task and log wealth → pixels."""

    def __init__(self, tasks: int, low: float, high: float) -> None:
        self.tasks, self.low, self.high = max(tasks, 1), low, high

    def x(self, task: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * task / self.tasks

    def y(self, log_wealth: float) -> float:
        share = (log_wealth - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share


def _grid(scale: _Scale, values: list[float]) -> str:
    shown = [v for v in values if scale.low <= v <= scale.high]
    return "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{scale.y(v):.1f}" y2="{scale.y(v):.1f}" '
        f'stroke="currentColor" opacity=".12"/><text x="{LEFT - 6}" y="{scale.y(v) + 4:.1f}" '
        f'text-anchor="end" opacity=".75">{times(v)}</text>'
        for v in shown
    )


def _axis(scale: _Scale) -> str:
    step = max(1, round(scale.tasks / 6))
    ticks = "".join(
        f'<text x="{scale.x(t):.1f}" y="{HEIGHT - 18}" text-anchor="middle" opacity=".75">'
        f"{t}</text>"
        for t in range(0, scale.tasks + 1, step)
    )
    middle = (LEFT + WIDTH - RIGHT) / 2
    return (
        f'{ticks}<text x="{middle}" y="{HEIGHT - 3}" text-anchor="middle" opacity=".75">'
        "gate tasks in arrival order</text>"
    )


def _bar(scale: _Scale, side: str, value: float, *, above: bool) -> str:
    y = scale.y(value)
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="currentColor" '
        f'stroke-dasharray="{DASHES[look("threshold").dash]}"/>'
        f'<text x="{LEFT + 4}" y="{y - 5 if above else y + 14:.1f}" paint-order="stroke" '
        f'stroke="var(--jp-layout-color0, #fff)" stroke-width="4">'
        f"{escape(side)} at {times(value)}</text>"
    )


def _line(scale: _Scale, path: pd.DataFrame) -> str:
    style = look(path["role"].iloc[0])
    # Wealth starts at 1 before the first task; a path that says so itself is left as it is.
    points = [] if path["task"].iloc[0] == 0 else [(0.0, 0.0)]
    points += list(zip(path["task"], path["log_wealth"], strict=True))
    drawn = " ".join(f"{scale.x(t):.1f},{scale.y(v):.1f}" for t, v in points)
    t, v = points[-1]
    return (
        f'<polyline points="{drawn}" fill="none" stroke="{style.colour}" stroke-width="2.2" '
        f'stroke-dasharray="{DASHES[style.dash]}"/>'
        f'<circle cx="{scale.x(t):.1f}" cy="{scale.y(v):.1f}" r="3.5" fill="{style.colour}"/>'
    )


def _names(scale: _Scale, ends: pd.DataFrame) -> str:
    """Labels right of the plot, pushed apart, each with a sample of its line."""
    x, lowest, out = WIDTH - RIGHT + 8, float("-inf"), []
    for row in each(ends.sort_values("log_wealth", ascending=False)):
        lowest = max(scale.y(row.log_wealth), lowest + 17)
        style = look(row.role)
        out.append(
            f'<line x1="{x}" x2="{x + 20}" y1="{lowest:.1f}" y2="{lowest:.1f}" '
            f'stroke="{style.colour}" stroke-width="2.2" stroke-dasharray="{DASHES[style.dash]}"/>'
            f'<text x="{x + 25}" y="{lowest + 4:.1f}">{escape(row.label)}</text>'
        )
    return "".join(out)
