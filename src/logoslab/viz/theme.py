"""One theme: a colour, dash, marker and hatch per role, so that figures survive greyscale.

Nothing here imports plotly until a canvas is asked for.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from logoslab.errors import InvalidValue

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

FONT = "Inter, 'Source Sans 3', 'Helvetica Neue', Helvetica, Arial, sans-serif"
INK, MUTED, GRID, PAPER = "#1c2530", "#5b6775", "#e8ebef", "#ffffff"


class Look(NamedTuple):
    """How a role is drawn: line colour and dash, marker symbol, bar hatch."""

    colour: str
    dash: str
    symbol: str
    hatch: str


LOOKS: dict[str, Look] = {
    # arms
    "incumbent": Look("#2f4b6e", "solid", "circle", ""),
    "candidate": Look("#e0851c", "dash", "diamond", "/"),
    "control": Look("#75828f", "dashdot", "square", "\\"),
    "placebo": Look("#b49fca", "dot", "x", "."),
    "captured": Look("#93805a", "longdashdot", "star", "+"),
    # evidence
    "gain": Look("#147a5c", "solid", "triangle-up", ""),
    "protected": Look("#4a90c8", "dash", "square", "-"),
    "safety": Look("#7b5ea7", "dashdot", "hexagon", "|"),
    "harm": Look("#b3263d", "dot", "triangle-down", "/"),
    "harm_reg": Look("#8e3b6f", "longdashdot", "triangle-left", "\\"),
    "tie": Look("#9aa5b1", "longdash", "circle-open", "."),
    "other": Look("#6b7683", "longdashdot", "cross", "+"),
    "threshold": Look("#1c2530", "longdash", "line-ew-open", ""),
    # the ladder
    "accepted": Look("#147a5c", "solid", "circle", ""),
    "passed_on": Look("#d3dae1", "dot", "circle-open", "/"),
    "person": Look("#e0851c", "dash", "diamond", "."),
    # the pack
    "agent": Look("#2f4b6e", "solid", "square", ""),
    "phase": Look("#1c2530", "solid", "circle", ""),
    "tool": Look("#147a5c", "dash", "diamond", ""),
    "skill": Look("#7b5ea7", "dot", "hexagon", ""),
}
"""Role → look. The same role looks the same in every figure and widget."""


def look(role: str) -> Look:
    """The look of a role.

    Raises
    ------
    InvalidValue
        For a role the theme does not know.
    """
    if role not in LOOKS:
        raise InvalidValue(
            "role of a figure",
            got=role,
            allowed=f"one of {', '.join(LOOKS)}",
            next_step="Map the series to one of the theme's roles.",
        )
    return LOOKS[role]


def plain(text: object) -> str:
    """Text as plotly shows it literally: its label markup (``<b>``, ``<a>``) is escaped."""
    return html.escape(str(text), quote=False)


def canvas(title: str, subtitle: str, alt: str, div_id: str, height: int = 460) -> go.Figure:
    """An empty figure in the theme. ``alt`` and ``div_id`` are kept in ``layout.meta``."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": "#b6bfc9",
        "ticks": "outside",
        "tickcolor": "#b6bfc9",
        "ticklen": 4,
        "title": {"standoff": 10, "font": {"size": 13.5, "color": MUTED}},
        "automargin": True,
    }
    heading = (
        f"<b>{plain(title)}</b><br><span style='font-size:13px;color:{MUTED}'>"
        f"{plain(subtitle)}</span>"
    )
    layout: dict[str, Any] = {
        "template": "none",
        "meta": {"alt": alt, "div_id": div_id},
        "title": {"text": heading, "x": 0, "xref": "paper", "xanchor": "left", "y": 1 - 20 / height,
                  "yref": "container", "yanchor": "top", "font": {"size": 18}},
        "font": {"family": FONT, "size": 13, "color": INK},
        "paper_bgcolor": PAPER,
        "plot_bgcolor": PAPER,
        "width": 920,
        "height": height,
        "margin": {"l": 76, "r": 36, "t": 104, "b": 60},
        "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.005, "yanchor": "bottom",
                   "itemwidth": 40, "font": {"size": 12.5}},
        "hoverlabel": {"font": {"family": FONT}},
        "xaxis": axis,
        "yaxis": axis,
    }  # fmt: skip
    return go.Figure(layout=layout)


def describe(fig: go.Figure, alt: str, div_id: str | None = None) -> go.Figure:
    """The same figure with alt text, for a figure that was not made here."""
    meta = fig.layout.meta if isinstance(fig.layout.meta, dict) else {}
    return fig.update_layout(meta={**meta, "alt": alt, **({"div_id": div_id} if div_id else {})})


def alt_text(fig: go.Figure) -> str:
    """What a screen reader says for this figure.

    Raises
    ------
    InvalidValue
        When the figure has none.
    """
    meta = fig.layout.meta
    alt = meta.get("alt") if isinstance(meta, dict) else None
    if not alt:
        raise InvalidValue(
            "alt text",
            got="a figure without any",
            allowed="a figure with layout.meta['alt']",
            next_step="Describe it first: logoslab.viz.describe(fig, 'what it shows').",
        )
    return str(alt)


def each(frame: pd.DataFrame) -> Iterator[Any]:
    """Rows as named tuples. Their types depend on the frame, so a checker cannot know them."""
    yield from frame.itertuples()


def require(frame: pd.DataFrame, columns: Sequence[str], figure: str) -> None:
    """Refuse a frame that is empty or lacks a column.

    Raises
    ------
    InvalidValue
    """
    absent = [c for c in columns if c not in frame.columns]
    if absent or frame.empty:
        got = f"no column {', '.join(absent)}" if absent else "no rows"
        raise InvalidValue(
            f"frame for {figure}",
            got=got,
            allowed=f"at least one row with the columns {', '.join(columns)}",
            next_step="Build it with the function of logoslab.viz.frames, or add the columns.",
        )
