"""Release histories: what each rule decided on each pair, beside what the change then did."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from logoslab.errors import InvalidValue
from logoslab.viz.theme import INK, MUTED, canvas, each, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

DECISIONS = {
    "accept": ("gain", "accept"),
    "reject_harmful": ("harm", "reject: harmful"),
    "reject_insufficient": ("tie", "reject: not enough gain"),
    "undecided": ("protected", "undecided"),
    "conflict": ("harm_reg", "conflict"),
    "not_applicable": ("placebo", "not applicable"),
    "refused": ("captured", "recording refused"),
}
"""Decision → (role, words)."""
SHOWN = {
    "worse": ("harm", "shown worse"),
    "unclear": ("tie", "not shown either way"),
    "better": ("gain", "shown better"),
}
"""Where the report half's interval lies → (role, words)."""
JUDGED = (
    "pair", "relation", "rule", "decision", "reason", "report_difference", "report_low",
    "report_high", "report_slices_worse", "report_cost_ratio",
)  # fmt: skip
MATRIX = ("rank", "label", "shown", "contradicted", *JUDGED[2:])


def decision_frame(judged: pd.DataFrame) -> pd.DataFrame:
    """Rows of a judged history, ranked from the worst outcome to the best.

    Parameters
    ----------
    judged : DataFrame
        Columns ``pair``, ``relation``, ``rule``, ``decision``, ``reason``, ``report_difference``,
        ``report_low``, ``report_high``, ``report_slices_worse``, ``report_cost_ratio``, as
        ``studies.histories.judge_history`` returns them. NA is unmeasured.

    Returns
    -------
    DataFrame
        These and ``rank`` (1 is the worst outcome; refused recordings come last), ``label``,
        ``shown`` (``better``, ``worse``, ``unclear``, or ``none`` without an outcome) and
        ``contradicted`` (accepted, and worse on average or in a slice on the report half).

    Raises
    ------
    InvalidValue
        On an empty frame, an absent column or an unknown decision.
    """
    require(judged, JUDGED, "release_decisions")
    unknown = sorted(set(judged["decision"]) - set(DECISIONS))
    if unknown:
        raise InvalidValue(
            "decision of a history",
            got=", ".join(map(str, unknown)),
            allowed=", ".join(DECISIONS),
            next_step="Map the rule's answer to one of these.",
        )
    frame = judged.copy()
    pairs = frame.drop_duplicates("pair").sort_values(
        "report_difference", kind="stable", na_position="last"
    )
    rank = {pair: i for i, pair in enumerate(pairs["pair"], start=1)}
    frame["rank"] = frame["pair"].map(rank)
    frame["label"] = [f"{row.pair} · {row.relation}" for row in each(frame)]
    frame["shown"] = "unclear"
    frame.loc[(frame["report_low"] > 0).fillna(False), "shown"] = "better"
    frame.loc[(frame["report_high"] < 0).fillna(False), "shown"] = "worse"
    frame.loc[frame["report_low"].isna(), "shown"] = "none"
    fell = (frame["shown"] == "worse") | (frame["report_slices_worse"].fillna("") != "")
    frame["contradicted"] = (frame["decision"] == "accept") & fell
    return frame.sort_values("rank", kind="stable", ignore_index=True)


def release_decisions(
    frame: pd.DataFrame,
    *,
    title: str = "What each rule would have done, and what the change then did",
    div_id: str = "release-decisions",
) -> go.Figure:
    """A matrix of pairs and rules beside each pair's outcome on the report half.

    A ring marks an acceptance that the report half contradicts, on average or in a slice. Rules
    that could judge no pair get no column: the subtitle counts them, the alt text names them.

    Parameters
    ----------
    frame : DataFrame
        From :func:`decision_frame`.
    """
    require(frame, MATRIX, "release_decisions")
    pairs = frame.drop_duplicates("rank")
    alt, silent = _alt(frame, len(pairs)), _silent(frame)
    words = "Decided on one half of the tasks, measured on the other; worst outcome first."
    if silent:
        words += f" {len(silent)} rule(s) could judge no pair."
        frame = frame[~frame["rule"].isin(silent)]
    rules = list(dict.fromkeys(frame["rule"]))
    fig = canvas(title, words, alt, div_id, 300 + 19 * len(pairs))
    across = {rule: i for i, rule in enumerate(rules)}
    for decision, (role, meaning) in DECISIONS.items():
        part = frame[frame["decision"] == decision]
        if len(part):
            _cells(fig, part, across, role, meaning)
    wrong = frame[frame["contradicted"]]
    if len(wrong):
        fig.add_scatter(x=wrong["rule"].map(across), y=wrong["rank"], mode="markers",
                        name="accepted, then worse", hoverinfo="skip",
                        marker={"symbol": "circle-open", "size": 18, "color": INK,
                                "line": {"color": INK, "width": 1.8}})  # fmt: skip
    for shown, (role, meaning) in SHOWN.items():
        part = pairs[pairs["shown"] == shown]
        if len(part):
            _outcomes(fig, part, role, meaning)
    _costs(fig, pairs)
    return _axes(fig, rules, pairs)


def _cells(
    fig: go.Figure, part: pd.DataFrame, across: dict[str, int], role: str, words: str
) -> None:
    style = look(role)
    fig.add_scatter(
        x=part["rule"].map(across),
        y=part["rank"],
        name=words,
        mode="markers",
        marker={"symbol": style.symbol, "size": 10, "color": style.colour,
                "line": {"color": style.colour, "width": 1.6}},
        customdata=[[plain(row.label), plain(row.rule), plain(row.reason)] for row in each(part)],
        hovertemplate="%{customdata[0]}<br>%{customdata[1]}: %{customdata[2]}"
        f"<extra>{words}</extra>",
    )  # fmt: skip


def _outcomes(fig: go.Figure, part: pd.DataFrame, role: str, words: str) -> None:
    style = look(role)
    middle = part["report_difference"].astype(float)
    fig.add_scatter(
        x=middle,
        y=part["rank"],
        xaxis="x2",
        name=words,
        showlegend=False,
        mode="markers",
        marker={"symbol": style.symbol, "size": 8, "color": style.colour,
                "line": {"color": style.colour, "width": 1.4}},
        error_x={"type": "data", "symmetric": False, "color": style.colour, "thickness": 1.4,
                 "width": 0, "array": part["report_high"].astype(float) - middle,
                 "arrayminus": middle - part["report_low"].astype(float)},
        customdata=[[plain(row.label), plain(row.report_slices_worse or "none")]
                    for row in each(part)],
        hovertemplate="%{customdata[0]}: %{x:+.3f}; slices worse: %{customdata[1]}"
        f"<extra>{words}</extra>",
    )  # fmt: skip


def _costs(fig: go.Figure, pairs: pd.DataFrame) -> None:
    known = pairs[pairs["report_cost_ratio"].notna()]
    for row in each(known):
        fig.add_annotation(x=1, xref="paper", y=row.rank, yref="y", xanchor="right",
                           text=f"×{row.report_cost_ratio:.2f}", showarrow=False,
                           font={"size": 11, "color": INK})  # fmt: skip
    if len(known):
        fig.add_annotation(x=1, xref="paper", y=0, yref="y", xanchor="right", showarrow=False,
                           text="cost", font={"size": 12, "color": MUTED})  # fmt: skip


def _axes(fig: go.Figure, rules: list[str], pairs: pd.DataFrame) -> go.Figure:
    split = min(0.6, 0.12 + 0.075 * len(rules))
    legend_rows = math.ceil(sum(trace.showlegend is not False for trace in fig.data) / 5)
    fig.update_layout(
        xaxis2={**fig.layout.xaxis.to_plotly_json(), "domain": [split + 0.04, 0.93],
                "anchor": "y", "title": {"text": "report half: candidate − baseline",
                          "font": {"size": 13.5, "color": MUTED}},
                "zeroline": True, "zerolinecolor": INK},
        margin={"l": 24, "t": 92 + 26 * legend_rows, "b": 110},
        title={"x": 24 / 920, "xref": "container"},
    )  # fmt: skip
    fig.update_xaxes(domain=[0, split], tickvals=list(range(len(rules))), tickangle=-35,
                     ticktext=[plain(r.replace("_", " ")) for r in rules],
                     range=[-0.6, len(rules) - 0.4], selector={"anchor": None})  # fmt: skip
    return fig.update_yaxes(
        tickvals=pairs["rank"].tolist(),
        ticktext=[plain(label) for label in pairs["label"]],
        tickfont={"size": 11},
        range=[len(pairs) + 0.7, -0.7],
    )


def _silent(frame: pd.DataFrame) -> list[str]:
    """Rules that could judge no pair; none of them when that is all there is."""
    judged = frame[~frame["decision"].isin(["not_applicable", "refused"])]["rule"].unique()
    silent = [rule for rule in dict.fromkeys(frame["rule"]) if rule not in judged]
    return silent if len(judged) else []


def _alt(frame: pd.DataFrame, pairs: int) -> str:
    silent, words = _silent(frame), []
    for rule, part in frame[~frame["rule"].isin(silent)].groupby("rule", sort=False, observed=True):
        accepted, wrong = int((part["decision"] == "accept").sum()), int(part["contradicted"].sum())
        words.append(f"{rule} accepts {accepted}, of which {wrong} then got worse")
    left = f" Could judge no pair: {', '.join(silent)}." if silent else ""
    return (
        f"Matrix of decisions of {len(words)} rules on {pairs} pairs, with the difference measured "
        f"on the report half: {'; '.join(words)}.{left}"
    )
