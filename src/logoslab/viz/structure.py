"""Figures of structure: the way through the ladder, and the pack as a graph."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from logoslab.viz.frames import PERSON
from logoslab.viz.graph import LANES, PackFrame
from logoslab.viz.theme import INK, MUTED, PAPER, canvas, each, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

HEADINGS = {"agent": "agents", "phase": "phases, in order", "tool": "tools", "skill": "skills"}


def cascade_flow(
    frame: pd.DataFrame,
    *,
    title: str = "How tasks climb the ladder",
    div_id: str = "cascade-flow",
) -> go.Figure:
    """Stepped bars: at each stage what was accepted, what moved on, and what reached a person.

    A bar starts where the lower stages' accepted tasks end, so accepted parts form a staircase
    that adds up to all tasks.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.viz.cascade_frame`.
    """
    columns = ("dimension", "stage", "attempted", "accepted", "escalated", "offset", "tasks")
    require(frame, columns, "cascade_flow")
    several = frame["dimension"].nunique() > 1
    names = [_stage_name(row.dimension, row.stage, several) for row in each(frame)]
    height = 210 + 46 * len(frame)
    fig = canvas(title, "Cheapest stage first; only answers the verifiers accept come to rest.",
                 _cascade_alt(frame), div_id, height)  # fmt: skip
    stage = frame["stage"] != PERSON
    _bars(fig, frame, names, "accepted", "accepted", stage, frame["offset"], "accepted")
    after = frame["offset"] + frame["accepted"]
    _bars(fig, frame, names, "escalated", "passed_on", stage, after, "passed on")
    _bars(fig, frame, names, "escalated", "person", ~stage, after, "left to a person")
    fig.update_layout(barmode="overlay", bargap=0.34)
    fig.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=names,
                     showgrid=False, ticks="")  # fmt: skip
    return fig.update_xaxes(title_text="tasks", range=[0, float(frame["tasks"].max()) * 1.02])


def _bars(
    fig: go.Figure,
    frame: pd.DataFrame,
    names: list[str],
    column: str,
    role: str,
    rows: pd.Series[bool],
    start: pd.Series[float],
    label: str,
) -> None:
    style = look(role)
    shown = [name for name, keep in zip(names, rows, strict=True) if keep]
    count = frame.loc[rows, column]
    dark = role == "accepted"
    fig.add_bar(
        orientation="h",
        y=np.array(shown),
        x=count,
        base=start[rows],
        name=label,
        text=[f"<b>{n}</b>" if n else "" for n in count],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        constraintext="none",
        textfont={"color": PAPER if dark else INK, "size": 13},
        marker={"color": style.colour, "line": {"color": INK, "width": 0.8},
                "pattern": {"shape": style.hatch, "bgcolor": style.colour,
                            "fgcolor": "rgba(255,255,255,0.55)", "size": 8, "solidity": 0.25}},
        hovertemplate=f"%{{y}}: %{{x}} {label}<extra></extra>",
    )  # fmt: skip


def _stage_name(dimension: object, stage: object, several: bool) -> str:
    name = "a person" if stage == PERSON else plain(stage)
    return f"{plain(dimension)} · {name}" if several else name


def _cascade_alt(frame: pd.DataFrame) -> str:
    parts = []
    for dimension, group in frame.groupby("dimension", sort=False):
        steps = ", ".join(
            f"a person gets {row.escalated}"
            if row.stage == PERSON
            else f"{row.stage} accepts {row.accepted} of {row.attempted}"
            for row in each(group)
        )
        parts.append(f"{dimension} ({group['tasks'].iloc[0]} tasks): {steps}")
    return f"Stepped bars of tasks through the ladder. {'; '.join(parts)}."


def pack_graph(
    frame: PackFrame, *, title: str = "What the pack is made of", div_id: str = "pack-graph"
) -> go.Figure:
    """The plan's phases in layers from top to bottom, beside the agents, tools and skills they use.

    Parameters
    ----------
    frame : PackFrame
        From :func:`logoslab.viz.pack_frame`.
    """
    nodes, edges = frame
    require(nodes, ("node", "kind", "label", "detail", "x", "y"), "pack_graph")
    depth = float(nodes["y"].max() - nodes["y"].min())
    fig = canvas(title, "Arrows: a phase waits for another. Lines: who acts, what is called, read.",
                 _pack_alt(frame), div_id, int(230 + 48 * depth))  # fmt: skip
    at = {row.node: (row.x, row.y) for row in each(nodes)}
    for used in ("agent", "tool", "skill"):
        _links(fig, edges[edges["target"].str.startswith(f"{used}:")], at, used)
    for wait in each(edges[edges["relation"] == "then"]):
        _arrow(fig, at[wait.source], at[wait.target])
    for kind, part in nodes.groupby("kind", sort=False):
        _members(fig, str(kind), part)
    fig.update_layout(showlegend=False, margin={"l": 30, "r": 30, "b": 30})
    fig.update_yaxes(visible=False, range=[float(nodes["y"].min()) - 0.6, 1.1])
    return fig.update_xaxes(visible=False, range=[-0.1, 3.9])


def _links(
    fig: go.Figure, edges: pd.DataFrame, at: dict[str, tuple[float, float]], kind: str
) -> None:
    ends = [(at[e.source], at[e.target]) for e in each(edges)]
    if not ends:
        return
    style = look(kind)
    fig.add_scatter(
        x=[v for a, b in ends for v in (a[0], b[0], math.nan)],
        y=[v for a, b in ends for v in (a[1], b[1], math.nan)],
        mode="lines",
        line={"color": style.colour, "dash": style.dash, "width": 1},
        opacity=0.45,
        hoverinfo="skip",
        name=f"uses {kind}",
    )


def _arrow(fig: go.Figure, start: tuple[float, float], end: tuple[float, float]) -> None:
    """An arrow straight down; one that skips layers swings left, clear of what it passes."""
    skipped = start[0] == end[0] and start[1] - end[1] > 1.5
    if skipped:
        bend = end[0] - min(0.06 + 0.035 * (start[1] - end[1]), 0.4)
        fig.add_shape(type="path", line={"color": "#9aa5b1", "width": 1.1}, layer="below",
                      path=f"M {start[0]},{start[1]} C {bend},{start[1] - 0.4} "
                           f"{bend},{end[1] + 0.4} {end[0]},{end[1]}")  # fmt: skip
        return
    fig.add_annotation(x=end[0], y=end[1], ax=start[0], ay=start[1], xref="x", yref="y",
                       axref="x", ayref="y", text="", showarrow=True, arrowhead=2, arrowsize=1.1,
                       arrowwidth=1.4, arrowcolor=INK, standoff=9, startstandoff=8)  # fmt: skip


def _members(fig: go.Figure, kind: str, part: pd.DataFrame) -> None:
    style = look(kind)
    labels = [
        f"{plain(row.label)} <span style='color:{MUTED};font-size:11px'>{plain(row.detail)}</span>"
        for row in each(part)
    ]
    fig.add_scatter(
        x=part["x"],
        y=part["y"],
        mode="markers",
        marker={"symbol": style.symbol, "size": 14, "color": style.colour,
                "line": {"color": PAPER, "width": 1.5}},
        text=labels,
        name=kind,
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )  # fmt: skip
    for row, label in zip(each(part), labels, strict=True):
        # An annotation, because its background keeps lines from striking the text through.
        fig.add_annotation(x=row.x, y=row.y, text=label, showarrow=False, xanchor="left", xshift=9,
                           bgcolor=PAPER, borderpad=1, font={"size": 12.5})  # fmt: skip
    fig.add_annotation(x=LANES[kind], y=0.85, text=f"<b>{HEADINGS[kind]}</b>", showarrow=False,
                       xanchor="left", xshift=-7, font={"color": style.colour})  # fmt: skip


def _pack_alt(frame: PackFrame) -> str:
    nodes, edges = frame
    kinds = ", ".join(f"{len(part)} {kind}s" for kind, part in nodes.groupby("kind", sort=False))
    phases = ", ".join(nodes.loc[nodes["kind"] == "phase", "label"])
    waits = int((edges["relation"] == "then").sum())
    return f"Graph of a pack: {kinds}; phases {phases}; {waits} dependencies between phases."
