"""Designs by cost and power as one inline SVG: no JavaScript, and it is saved with the notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from logoslab.viz.theme import each, look

if TYPE_CHECKING:
    import pandas as pd

WIDTH, HEIGHT = 620, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 14, 40


def cost_svg(frame: pd.DataFrame, power: float) -> str:
    """Power against expected cost, one mark a design: a filled disc meets both targets.

    Parameters
    ----------
    frame : DataFrame
        ``Plan.frame``. Where no price is known, or evaluations are free, the axis is evaluations.
    power : float
        The wanted power, drawn as a line.
    """
    x = "cost" if (frame["cost"] > 0).all() else "evaluations"
    most = float(frame[x].max())
    best = frame.loc[frame["recommended"].astype(bool), "design"]
    alt = (
        f"Power of {len(frame)} designs by expected {x}; {int(frame['meets'].sum())} meet both "
        f"targets; recommended: {'; '.join(map(str, best)) or 'none'}"
    )
    marks = "".join(_mark(row, getattr(row, x) / most) for row in each(frame))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" style="max-width:{WIDTH}px" role="img" '
        f'aria-label="{escape(alt)}" font-size="11.5" fill="currentColor">'
        f"{_axes(x, most)}{_target(power)}{marks}</svg>"
    )


def _x(share: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * share


def _y(rate: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * rate


def _mark(row: Any, share: float) -> str:
    """The design's interval, its mark, and the whole design as a tooltip."""
    x, colour = _x(share), look("accepted" if row.meets else "control").colour
    fill = colour if row.meets else "none"
    ring = 7 if row.recommended else 4.5
    said = f"{row.design}: power {row.power:.3f}, false adoption {row.false_adoption:.3f}"
    return (
        f"<g><title>{escape(said)}</title>"
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{_y(row.power_low):.1f}" '
        f'y2="{_y(row.power_high):.1f}" stroke="{colour}"/>'
        f'<circle cx="{x:.1f}" cy="{_y(row.power):.1f}" r="{ring}" fill="{fill}" '
        f'stroke="{colour}" stroke-width="2"/></g>'
    )


def _axes(name: str, most: float) -> str:
    levels = "".join(
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_y(v):.1f}" y2="{_y(v):.1f}" '
        f'stroke="currentColor" opacity=".12"/><text x="{LEFT - 6}" y="{_y(v) + 4:.1f}" '
        f'text-anchor="end" opacity=".75">{v:.0%}</text>'
        for v in (0, 0.25, 0.5, 0.75, 1)
    )
    ticks = "".join(
        f'<text x="{_x(v):.1f}" y="{HEIGHT - 22}" text-anchor="middle" opacity=".75">'
        f"{most * v:.4g}</text>"
        for v in (0, 0.25, 0.5, 0.75, 1)
    )
    return (
        f'{levels}{ticks}<text x="{_x(0.5)}" y="{HEIGHT - 5}" text-anchor="middle" opacity=".75">'
        f"expected {escape(name)} (a filled disc meets both targets)</text>"
    )


def _target(power: float) -> str:
    y = _y(power)
    return (
        f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" '
        f'stroke="currentColor" stroke-dasharray="12 6"/>'
        f'<text x="{LEFT + 4}" y="{y - 5:.1f}">power {power:g}</text>'
    )
