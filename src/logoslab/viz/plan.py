"""Figures of a plan: acceptance curves, the surface behind them, and designs by cost and power."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from logoslab.viz.theme import LOOKS, MUTED, Look, canvas, each, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

SERIES = ("candidate", "gain", "protected", "safety", "harm", "control", "captured", "harm_reg")
"""Looks of curves that stand for no role, in order."""


def acceptance_curve(
    frame: pd.DataFrame,
    *,
    by: str = "n",
    error: float | None = None,
    power: float | None = None,
    effect: float | None = None,
    title: str = "What the gate lets through",
    div_id: str = "acceptance-curve",
) -> go.Figure:
    """Operating characteristic: acceptance rate against the true effect, one curve a series.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.studies.surface.surface`: columns ``effect``, ``accept``, ``low``,
        ``high`` and the column of ``by``. NaN is unmeasured and leaves a gap.
    by : str
        Column that names the curves; at most eight values.
    error, power : float, optional
        Stated targets, drawn as thresholds.
    effect : float, optional
        The effect that should be found, marked on the axis.
    """
    require(frame, ("effect", "accept", "low", "high", by), "acceptance_curve")
    words = "Share of candidates that are accepted, by their true effect, with 95 % intervals."
    alt = f"Acceptance rate by true effect. {_ends(frame, by)}."
    fig = canvas(title, words, alt, div_id)
    for style, (name, part) in zip(looks(), frame.groupby(by, sort=False), strict=False):
        _curve(fig, part.sort_values("effect"), f"{by} {name}" if by == "n" else str(name), style)
    for level, word in ((error, "error"), (power, "power")):
        if level is not None:
            _line(fig, level, f"{word} {level:g}")
    for at in (0.0, effect):
        if at is not None:
            fig.add_vline(x=at, line={"color": MUTED, "width": 1, "dash": "dot"}, layer="below")
    fig.update_yaxes(title_text="accepted", tickformat=".0%", range=[-0.02, 1.02])
    return fig.update_xaxes(title_text="true effect")


def plan_surface(
    frame: pd.DataFrame,
    *,
    x: str = "effect",
    y: str = "n",
    error: float | None = None,
    power: float | None = None,
    title: str = "Acceptance over effect and size",
    div_id: str = "plan-surface",
) -> go.Figure:
    """Acceptance rate as a heat map, with the lines of error and power on it.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.studies.surface.surface`: one row for each pair of ``x`` and ``y``,
        and ``accept``. NaN is unmeasured and stays blank.
    x, y : str
        Two of ``effect``, ``discordance``, ``noise``, ``n``.
    error, power : float, optional
        Stated targets, drawn as contour lines.
    """
    require(frame, (x, y, "accept"), "plan_surface")
    table = frame.pivot(index=y, columns=x, values="accept")
    rates = frame["accept"].dropna()
    alt = (
        f"Heat map of the acceptance rate over {len(table.columns)} values of {x} and "
        f"{len(table)} of {y}: from {rates.min():.3g} to {rates.max():.3g}."
    )
    fig = canvas(title, f"Share of accepted candidates by {x} and {y}.", alt, div_id, height=520)
    grid = {"x": list(table.columns), "y": list(table.index), "z": table.to_numpy()}
    # From light to dark in one hue: the order survives greyscale.
    fig.add_heatmap(
        **grid,
        zmin=0,
        zmax=1,
        colorscale=[[0, "#f7f8fa"], [1, "#2f4b6e"]],
        colorbar={"title": {"text": "accepted"}, "tickformat": ".0%"},
        hovertemplate=f"{x} %{{x:.3g}}, {y} %{{y:.3g}}: %{{z:.1%}}<extra></extra>",
    )
    for level, name, role in ((error, "error", "harm"), (power, "power", "candidate")):
        if level is not None:
            style = look(role)
            fig.add_contour(
                **grid,
                name=f"{name} {level:g}",
                showlegend=True,
                showscale=False,
                hoverinfo="skip",
                contours={"type": "constraint", "operation": "=", "value": level},
                line={"color": style.colour, "dash": style.dash, "width": 2.4},
            )
    fig.update_yaxes(title_text=y, showgrid=False)
    return fig.update_xaxes(title_text=x, showgrid=False)


def design_costs(
    frame: pd.DataFrame,
    *,
    error: float | None = None,
    power: float | None = None,
    title: str = "What power costs",
    div_id: str = "design-costs",
) -> go.Figure:
    """Every design by expected cost and power; which ones hold their promise, and the cheapest.

    Parameters
    ----------
    frame : DataFrame
        ``Plan.frame``: columns ``design``, ``evaluations``, ``cost``, ``power``, ``power_low``,
        ``power_high``, ``false_adoption``, ``false_adoption_high``, ``meets``, ``recommended``.
        Where no price is known, the axis is evaluations.
    error, power : float, optional
        Stated targets: designs whose false adoption is not shown to be below ``error`` are drawn
        apart, and ``power`` is a threshold.
    """
    columns = ("design", "evaluations", "cost", "power", "power_low", "power_high",
               "false_adoption", "false_adoption_high", "meets", "recommended")  # fmt: skip
    require(frame, columns, "design_costs")
    x = "cost" if frame["cost"].notna().all() else "evaluations"
    meets = frame["meets"].astype(bool)
    loose = ~meets & (frame["false_adoption_high"] > (1.0 if error is None else error))
    best = "; ".join(str(name) for name in frame.loc[frame["recommended"].astype(bool), "design"])
    alt = (
        f"{len(frame)} designs by expected {x} and power; {int(meets.sum())} meet both targets. "
        f"Recommended: {best or 'none'}."
    )
    fig = canvas(title, f"Expected {x} and power of each design, with 95 % intervals.", alt, div_id)
    for name, rows, role in (
        ("not shown to hold the error", loose, "harm"),
        ("holds the error, lacks power", ~meets & ~loose, "control"),
        ("meets both targets", meets, "accepted"),
    ):
        if rows.any():
            _designs(fig, frame[rows], x, name, look(role))
    for row in each(frame[frame["recommended"].astype(bool)]):
        fig.add_annotation(x=getattr(row, x), y=row.power, ax=0, ay=70, arrowcolor=MUTED,
                           text=f"<b>{plain(row.design)}</b>")  # fmt: skip
    if power is not None:
        _line(fig, power, f"power {power:g}")
    fig.update_yaxes(title_text="power", tickformat=".0%", range=[-0.03, 1.05])
    return fig.update_xaxes(title_text=f"expected {x}", rangemode="tozero")


def looks() -> list[Look]:
    """Looks for curves that stand for no role."""
    return [LOOKS[name] for name in SERIES]


def _curve(fig: go.Figure, part: pd.DataFrame, name: str, style: Look) -> None:
    errors = {
        "type": "data",
        "symmetric": False,
        "array": part["high"] - part["accept"],
        "arrayminus": part["accept"] - part["low"],
        "thickness": 1,
        "width": 2,
    }
    fig.add_scatter(
        x=part["effect"],
        y=part["accept"],
        error_y=errors,
        name=plain(name),
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 2.2},
        marker={"symbol": style.symbol, "size": 7, "color": style.colour},
        hovertemplate="effect %{x:.3g}: %{y:.1%}<extra>%{fullData.name}</extra>",
    )


def _designs(fig: go.Figure, part: pd.DataFrame, x: str, name: str, style: Look) -> None:
    marker: dict[str, Any] = {"symbol": style.symbol, "size": 11, "color": style.colour}
    fig.add_scatter(
        x=part[x],
        y=part["power"],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": part["power_high"] - part["power"],
            "arrayminus": part["power"] - part["power_low"],
            "thickness": 1,
            "width": 2,
        },
        name=name,
        mode="markers",
        marker=marker,
        cliponaxis=False,
        customdata=[
            f"{plain(row.design)}, false adoption {row.false_adoption:.3f}" for row in each(part)
        ],
        hovertemplate="%{customdata}: power %{y:.1%}, " + x + " %{x:.4g}<extra></extra>",
    )


def _line(fig: go.Figure, level: float, name: str) -> None:
    style = look("threshold")
    fig.add_hline(
        y=level,
        line={"color": style.colour, "dash": style.dash, "width": 1.2},
        annotation_text=name,
        annotation_position="right",
    )
    fig.update_layout(margin_r=104)


def _ends(frame: pd.DataFrame, by: str) -> str:
    known = frame.dropna(subset="accept").sort_values("effect")
    return "; ".join(
        f"{by} {name}: from {part['accept'].iloc[0]:.3g} at {part['effect'].iloc[0]:.3g} to "
        f"{part['accept'].iloc[-1]:.3g} at {part['effect'].iloc[-1]:.3g}"
        for name, part in known.groupby(by, sort=False)
    )
