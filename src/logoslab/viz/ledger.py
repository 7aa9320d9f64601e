"""The gate ledger as a figure: what each gate had to reach, what it reached, what was accepted."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from logoslab.gate import GateLedger
from logoslab.viz.theme import canvas, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

COLUMNS = ("gate", "label", "level", "e_value", "needed", "state")
STATES = {"accepted": "accepted", "not accepted": "harm", "open": "other"}
"""State of a gate → role of the theme."""

FEW = 20
LEAST, MOST = 1e-6, 1e12
"""Ends of the axis: beyond them a gate's e-value says nothing more."""


def gate_ledger_frame(ledger: GateLedger) -> pd.DataFrame:
    """Every priced gate of a lab's ledger, in order.

    Parameters
    ----------
    ledger : GateLedger
        ``lab.ledger``.

    Returns
    -------
    DataFrame
        Columns ``gate`` (1, 2, …), ``label``, ``level`` (priced before the gate began),
        ``e_value`` (NaN while the gate is open), ``needed`` (1/level) and ``state``
        (``accepted``, ``not accepted``, ``open``).
    """
    import pandas as pd

    rows = [
        (
            row.gate,
            row.label,
            row.level,
            math.nan if row.log_e is None else math.exp(min(row.log_e, 700.0)),
            1 / row.level,
            "open" if row.open else "accepted" if row.accepted else "not accepted",
        )
        for row in ledger.rows()
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def gate_ledger(
    frame: pd.DataFrame,
    *,
    title: str = "What each gate had to reach, and what it reached",
    div_id: str = "gate-ledger",
) -> go.Figure:
    """E-values of gates against 1/level, the price that the ledger set beforehand.

    Values beyond 1e-6 and 1e12 are drawn at the edge; the number is on hover.

    Parameters
    ----------
    frame : DataFrame
        Columns of :func:`gate_ledger_frame`. An open gate has a price and no e-value.
    """
    require(frame, COLUMNS, "gate_ledger")
    named = frame.loc[frame["state"] == "accepted", "label"]
    alt = (
        f"Log-scale chart of {len(frame)} gates: e-value against the 1/level that was needed. "
        f"Accepted: {', '.join(map(str, named)) or 'none'}."
    )
    fig = canvas(title, "A gate accepts when its e-value is at or above 1/level; the ledger fixed "
                 "the level before the gate began.", alt, div_id)  # fmt: skip
    few, style = len(frame) <= FEW, look("threshold")
    fig.add_scatter(x=frame["gate"], y=frame["needed"], name="needed (1/level)", mode="markers",
                    marker={"symbol": style.symbol, "size": 34 if few else 680 / len(frame),
                            "color": style.colour, "line": {"color": style.colour, "width": 2}},
                    customdata=frame["level"],
                    hovertemplate="gate %{x}: level %{customdata:.3g}, 1/level %{y:.4g}"
                    "<extra></extra>")  # fmt: skip
    for state, role in STATES.items():
        _gates(fig, frame[frame["state"] == state], state, role, few)
    fig.update_yaxes(type="log", title_text="e-value", tickformat="~g")
    return fig.update_xaxes(
        title_text="gates in order",
        tickvals=list(frame["gate"]) if few else None,
        range=[float(frame["gate"].min()) - 0.6, float(frame["gate"].max()) + 0.6],
        showgrid=False,
    )


def _gates(fig: go.Figure, part: pd.DataFrame, state: str, role: str, few: bool) -> None:
    """The gates of one state; an open one, without an e-value, is marked at its price."""
    if part.empty:
        return
    style = look(role)
    at = part["needed"] if state == "open" else part["e_value"].clip(LEAST, MOST)
    fig.add_scatter(
        x=part["gate"],
        y=at,
        name=state,
        mode="markers+text" if few or state == "accepted" else "markers",
        marker={"symbol": style.symbol, "size": 12 if few else 9, "color": style.colour},
        text=[plain(v) for v in part["label"]],
        textposition="top center",
        textfont={"size": 11.5},
        cliponaxis=False,
        customdata=part["e_value"],
        hovertemplate="gate %{x}: e-value %{customdata:.4g}<extra>%{text}</extra>",
    )
