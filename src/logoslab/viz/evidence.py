"""Figures of evidence: wealth paths and paired differences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from logoslab.viz.frames import log_threshold
from logoslab.viz.scale import decades, padded, times
from logoslab.viz.theme import INK, MUTED, PAPER, canvas, each, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

WEALTH = (
    "role", "label", "task", "log_wealth", "side", "log_threshold", "crossing", "stopped",
    "conclusion",
)  # fmt: skip
SIGNS = {"harm": "candidate worse", "tie": "no difference", "gain": "candidate better"}


def wealth(
    frame: pd.DataFrame,
    threshold: float | None = None,
    *,
    unit: str = "gate task",
    title: str = "Evidence wealth, task by task",
    div_id: str = "wealth",
) -> go.Figure:
    """Wealth paths, the thresholds they must cross, and where the gate stopped.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.viz.wealth_frame` or :func:`logoslab.viz.stream_frame`. Drawn on its
        natural-log scale; the axis is labelled with the wealth itself. With an empty
        ``conclusion`` nothing was stopped, and no stop is drawn.
    threshold : float, optional
        One wealth (1/level) to draw instead of the frame's own thresholds.
    unit : str
        What arrives one at a time: the label of the x axis.
    """
    require(frame, WEALTH, "wealth")
    bars = _bars(frame, threshold)
    fig = canvas(title, _wealth_subtitle(bars), _wealth_alt(frame, bars, unit), div_id)
    for label, path in frame.groupby("label", sort=False):
        _path(fig, str(label), path)
    first = frame[frame["crossing"]]
    if len(first):
        fig.add_scatter(x=first["task"], y=first["log_wealth"], name="first crossing",
                        mode="markers", hoverinfo="skip",
                        marker={"symbol": "circle-open", "size": 17, "color": INK,
                                "line": {"color": INK, "width": 1.6}})  # fmt: skip
    style = look("threshold")
    # A stopped path ends near its threshold; one that went on passed it long before its end.
    end = "left" if _conclusion(frame) else "right"
    for name, bar in bars.items():
        side = "top" if bar == max(bars.values()) else "bottom"  # close lines keep their labels
        fig.add_hline(y=bar, line={"color": style.colour, "dash": style.dash, "width": 1.4},
                      annotation={"text": f"{name} {times(bar)}", "font": {"color": INK}},
                      annotation_position=f"{side} {end}")  # fmt: skip
    if _conclusion(frame):
        _stop(fig, int(frame["task"].max()), _conclusion(frame))
    low = min(float(frame["log_wealth"].min()), 0.0)
    high = max(float(frame["log_wealth"].max()), 0.0, *bars.values())
    values = decades(low, high)
    fig.update_yaxes(title_text="wealth (log scale)", tickvals=values,
                     ticktext=[times(v) for v in values], range=padded(low, high))  # fmt: skip
    return fig.update_xaxes(title_text=f"{plain(unit)}s in arrival order", rangemode="tozero")


def _path(fig: go.Figure, label: str, path: pd.DataFrame) -> None:
    style = look(path["role"].iloc[0])
    fig.add_scatter(
        x=path["task"],
        y=path["log_wealth"],
        name=plain(label),
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2.4},
        marker={"symbol": style.symbol, "size": 8, "maxdisplayed": 14,
                "color": style.colour, "line": {"color": PAPER, "width": 0.8}},
        customdata=path["log_wealth"].map(times),
        hovertemplate="after %{x}: wealth %{customdata}<extra>%{fullData.name}</extra>",
    )  # fmt: skip


def _stop(fig: go.Figure, task: int, conclusion: str) -> None:
    fig.add_vline(x=task, line={"color": MUTED, "width": 1, "dash": "dot"})
    fig.add_annotation(x=task, y=1, yref="paper", yanchor="top", yshift=-2, xshift=-4,
                       xanchor="right", align="right", showarrow=False, bgcolor=PAPER,
                       text=f"after {task}: <b>{plain(conclusion)}</b>",
                       font={"color": INK})  # fmt: skip


def _bars(frame: pd.DataFrame, threshold: float | None) -> dict[str, float]:
    """Name → log threshold: the one given, else one a side."""
    given = log_threshold(threshold)
    if given is not None:
        return {"threshold": given}
    own = frame.dropna(subset="log_threshold").drop_duplicates("side")
    if own["log_threshold"].nunique() == 1:
        return {"threshold": float(own["log_threshold"].iloc[0])}
    return {str(row.side): float(row.log_threshold) for row in each(own)}


def _conclusion(frame: pd.DataFrame) -> str:
    return str(frame["conclusion"].iloc[0]).replace("_", " ")


def _wealth_subtitle(bars: dict[str, float]) -> str:
    if not bars:
        return "Each process bets against its own null; more wealth is stronger evidence."
    odds = ", ".join(f"{times(b)} with probability ≤ {math.exp(-b):.2g}" for b in bars.values())
    return f"Each process bets against its own null; if that holds, it ever reaches {odds}."


def _wealth_alt(frame: pd.DataFrame, bars: dict[str, float], unit: str) -> str:
    ends = frame[frame["stopped"]]
    paths = "; ".join(
        f"{label} ends at {times(v)}"
        for label, v in zip(ends["label"], ends["log_wealth"], strict=True)
    )
    drawn = "".join(f" {name.capitalize()} at {times(bar)}." for name, bar in bars.items())
    concluded = f" Conclusion: {_conclusion(frame)}." if _conclusion(frame) else ""
    span = f"{int(frame['task'].max())} {unit}s"
    return f"Line chart of evidence wealth over {span}: {paths}.{drawn}{concluded}"


def paired_differences(
    frame: pd.DataFrame,
    *,
    title: str = "Paired differences, worst task first",
    div_id: str = "paired-differences",
) -> go.Figure:
    """One stem per task, candidate minus incumbent, sorted; gains, losses and ties apart.

    Open markers are tasks whose missing value was replaced by the failure value.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.viz.paired_frame`.
    """
    require(frame, ("rank", "task", "difference", "sign", "filled"), "paired_differences")
    count = {sign: int((frame["sign"] == sign).sum()) for sign in SIGNS}
    words = ", ".join(f"{count[sign]} {SIGNS[sign]}" for sign in ("gain", "harm", "tie"))
    alt = f"Stem chart of candidate minus incumbent on {len(frame)} tasks, sorted: {words}."
    fig = canvas(title, f"{len(frame)} tasks: {words}.", alt, div_id)
    for sign, label in SIGNS.items():
        part = frame[frame["sign"] == sign]
        if part.empty:
            continue
        style = look(sign)
        symbols = [f"{style.symbol.removesuffix('-open')}-open" if f else style.symbol
                   for f in part["filled"]]  # fmt: skip
        fig.add_scatter(
            x=part["rank"],
            y=part["difference"],
            name=f"{label} ({len(part)})",
            mode="markers",
            marker={"symbol": symbols, "size": 10, "color": style.colour,
                    "line": {"color": style.colour, "width": 1.6}},
            error_y={"type": "data", "symmetric": False, "width": 0, "thickness": 2,
                     "array": [max(-d, 0.0) for d in part["difference"]],
                     "arrayminus": [max(d, 0.0) for d in part["difference"]],
                     "color": style.colour},
            customdata=part["task"].map(plain),
            hovertemplate="%{customdata}: %{y:+.3g}<extra></extra>",
        )  # fmt: skip
    fig.add_hline(y=0, line={"color": INK, "width": 1})
    reach = max(0.1, float(frame["difference"].abs().max())) * 1.15
    fig.update_yaxes(title_text="candidate − incumbent", range=[-reach, reach])
    return fig.update_xaxes(
        title_text="tasks, sorted by difference", range=[0, len(frame) + 1], showgrid=False
    )
