"""Figures of series over time: confidence sequences, error rates, the ledger, reliability decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logoslab.viz.theme import LOOKS, canvas, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

FEW = 20
"""Gates whose labels all fit beside each other."""


def confidence_sequence(
    frame: pd.DataFrame,
    *,
    reference: float | None = None,
    value: str = "mean score",
    title: str = "Confidence sequence",
    div_id: str = "confidence-sequence",
) -> go.Figure:
    """Running estimates with bounds that hold at every time at once.

    Parameters
    ----------
    frame : DataFrame
        Columns ``t``, ``estimate``, ``low``, ``high`` and ``series`` (a role of the theme, such as
        ``candidate``; any name when a column ``role`` says how it is drawn). NaN bounds are
        unmeasured and leave a gap. See :func:`logoslab.viz.sequence_frame`.
    reference : float, optional
        A value to compare with, drawn as the threshold.
    value : str
        What is estimated: the label of the y axis.
    """
    require(frame, ("t", "estimate", "low", "high", "series"), "confidence_sequence")
    alt = f"Running {value} with time-uniform bounds: {_last(frame, 't', 'estimate', 'series')}."
    fig = canvas(title, f"Bands cover the true {value} at every time at once.", alt, div_id)
    for series, part in frame.groupby("series", sort=False):
        _band(fig, part, "t", "estimate", str(series))
    _reference(fig, reference)
    fig.update_yaxes(title_text=plain(value))
    return fig.update_xaxes(title_text="observations", rangemode="nonnegative")


def error_rate(
    frame: pd.DataFrame,
    *,
    level: float,
    value: str = "share of false alarms",
    title: str = "Errors against the stated level",
    div_id: str = "error-rate",
) -> go.Figure:
    """How often each method erred by a number of looks, against the level that it states.

    Parameters
    ----------
    frame : DataFrame
        Columns as in :func:`confidence_sequence`: ``t`` (looks so far), ``estimate`` (the share
        that erred), ``low``, ``high`` (its interval, at each t on its own), ``series``, ``role``.
    level : float
        The stated level, drawn as the threshold.
    value : str
        What is counted: the label of the y axis.
    """
    require(frame, ("t", "estimate", "low", "high", "series"), "error_rate")
    alt = (
        f"Measured {value} against the stated {level:g}: {_last(frame, 't', 'estimate', 'series')}."
    )
    words = f"Measured {value}, with its interval; the stated level is {level:g}."
    fig = canvas(title, words, alt, div_id)
    for series, part in frame.groupby("series", sort=False):
        _band(fig, part, "t", "estimate", str(series))
    _reference(fig, level, "level")
    fig.update_yaxes(title_text=plain(value), rangemode="tozero", tickformat=".0%")
    return fig.update_xaxes(title_text="looks", rangemode="nonnegative")


def ledger(
    frame: pd.DataFrame,
    *,
    title: str = "The gate ledger",
    div_id: str = "ledger",
) -> go.Figure:
    """Each gate's evidence against the level it was allowed, over the life of a pack.

    Beyond 20 gates only accepted candidates are named; the others say who they are on hover.

    Parameters
    ----------
    frame : DataFrame
        Columns ``gate`` (1, 2, …), ``level`` (the level spent on it), ``p`` (1/e for an e-value;
        positive), ``accepted`` (bool), ``label`` (the candidate). A NaN ``p`` was not measured.
    """
    require(frame, ("gate", "level", "p", "accepted", "label"), "ledger")
    accepted = frame["accepted"].astype(bool)
    alt = (
        f"Log-scale chart of {len(frame)} gates: p-value against allowed level. Accepted: "
        f"{', '.join(str(v) for v in frame.loc[accepted, 'label']) or 'none'}."
    )
    fig = canvas(title, "A candidate is accepted when its p-value is at or below the level its "
                 "gate was given beforehand.", alt, div_id)  # fmt: skip
    few = len(frame) <= FEW
    width = 34 if few else 680 / len(frame)
    style = look("threshold")
    fig.add_scatter(x=frame["gate"], y=frame["level"], name="level of the gate", mode="markers",
                    marker={"symbol": style.symbol, "size": width, "color": style.colour,
                            "line": {"color": style.colour, "width": 2}},
                    hovertemplate="gate %{x}: level %{y:.3g}<extra></extra>")  # fmt: skip
    for name, rows, role in (("accepted", accepted, "accepted"),
                             ("not accepted", ~accepted, "harm")):  # fmt: skip
        part = frame[rows]
        style = look(role)
        fig.add_scatter(
            x=part["gate"],
            y=part["p"],
            name=name,
            mode="markers+text" if few or role == "accepted" else "markers",
            marker={"symbol": style.symbol, "size": 12 if few else 9, "color": style.colour},
            text=[plain(v) for v in part["label"]],
            textposition="bottom center" if role == "accepted" else "top center",
            textfont={"size": 11.5},
            cliponaxis=False,
            hovertemplate="gate %{x}: p %{y:.3g}<extra>%{text}</extra>",
        )
    fig.update_yaxes(type="log", title_text="p-value (1 / wealth)", tickformat="~g", dtick=1)
    return fig.update_xaxes(
        title_text="gates in order",
        tickvals=list(frame["gate"]) if few else None,
        range=[float(frame["gate"].min()) - 0.6, float(frame["gate"].max()) + 0.6],
        showgrid=False,
    )


def reliability_decay(
    frame: pd.DataFrame,
    *,
    reference: float | None = None,
    value: str = "success rate",
    title: str = "Reliability as tasks grow longer",
    div_id: str = "reliability-decay",
) -> go.Figure:
    """Reliability against task length (or age), one line per arm.

    Parameters
    ----------
    frame : DataFrame
        Columns ``step``, ``reliability``, ``low``, ``high`` and ``arm`` (a role of the theme).
        NaN is unmeasured and leaves a gap.
    reference : float, optional
        A target, drawn as the threshold.
    """
    require(frame, ("step", "reliability", "low", "high", "arm"), "reliability_decay")
    alt = f"{value} by step: {_last(frame, 'step', 'reliability', 'arm')}."
    fig = canvas(title, f"{value[:1].upper()}{value[1:]} with its interval, by step.", alt, div_id)
    for arm, part in frame.groupby("arm", sort=False):
        _band(fig, part, "step", "reliability", str(arm))
    _reference(fig, reference)
    fig.update_yaxes(title_text=plain(value), rangemode="tozero")
    return fig.update_xaxes(title_text="steps")


def _band(fig: go.Figure, part: pd.DataFrame, x: str, y: str, series: str) -> None:
    """A line with markers over a translucent band; unknown series take the neutral look."""
    role = str(part["role"].iloc[0]) if "role" in part else series
    style = look(role if role in LOOKS else "other")
    edge: dict[str, Any] = {
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": plain(series),
        "line": {"color": style.colour, "width": 0.7, "dash": style.dash},
    }
    fig.add_scatter(x=part[x], y=part["low"], name=f"{plain(series)} low", **edge)
    fig.add_scatter(x=part[x], y=part["high"], name=f"{plain(series)} high", fill="tonexty",
                    fillcolor=_translucent(style.colour), **edge)  # fmt: skip
    fig.add_scatter(
        x=part[x],
        y=part[y],
        name=plain(series),
        legendgroup=plain(series),
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2.4},
        marker={"symbol": style.symbol, "size": 8, "maxdisplayed": 14, "color": style.colour},
        hovertemplate="%{x}: %{y:.3g}<extra>%{fullData.name}</extra>",
    )


def _reference(fig: go.Figure, reference: float | None, name: str = "reference") -> None:
    if reference is None:
        return
    style = look("threshold")
    fig.add_hline(
        y=reference,
        line={"color": style.colour, "dash": style.dash, "width": 1.4},
        annotation_text=f"{name} {reference:.3g}",
        annotation_position="right",
    )
    fig.update_layout(margin_r=118)  # fmt: skip


def _translucent(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.14)"


def _last(frame: pd.DataFrame, x: str, y: str, by: str) -> str:
    ends = frame.sort_values(x).groupby(by, sort=False).tail(1)
    return "; ".join(
        f"{row[by]} ends at {row[y]:.3g} ({row['low']:.3g} to {row['high']:.3g}) after {row[x]}"
        for _, row in ends.iterrows()
    )
