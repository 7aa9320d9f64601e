"""Figures of the tournament: safety against power, and what rules adopt that changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from logoslab.viz.theme import MUTED, canvas, each, look, plain, require

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

GROUPS: Final = {
    "LOGOS": "gain",
    "Self-Healing Harness": "protected",
    "AgentEvolver": "safety",
    "Autogenesis": "harm",
    "other tools": "other",
}
"""Where a rule comes from → the role whose look it takes."""
ARMS: Final = {
    "a_a": ("control", "identical arms (A/A)"),
    "placebo": ("placebo", "placebo: an irrelevant change"),
    "captured": ("captured", "cases captured because they scored low"),
}
WIDTH, HEIGHT, MARGIN = 920, 700, {"l": 76, "r": 60, "t": 116, "b": 60}
LINE, LETTER = 14.0, 6.4
"""Height of a line and width of a letter of a label, in pixels."""
OFFSETS: Final = [
    (side * dx, dy)
    for dx in (14, 34, 64)
    for dy in (0, -18, 18, -36, 36, -60, 60)
    for side in (1, -1)
]
"""Where a label may stand beside its point, in pixels: the nearest free place is taken."""
Box = tuple[float, float, float, float]


def frontier(
    frame: pd.DataFrame,
    *,
    title: str = "Safety against power",
    div_id: str = "frontier",
) -> go.Figure:
    """False adoption against power for each rule over its parameter; defaults are ringed.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.studies.frontier.frontier`: columns ``rule``, ``group``,
        ``parameter``, ``value``, ``default``, ``false_adoption_rate``, ``power``. Rows with a
        missing rate are not drawn; a rule that has none is named in the alt text.
    """
    require(frame, ("rule", "group", "parameter", "value", "default", "false_adoption_rate",
                    "power"), "frontier")  # fmt: skip
    drawn = frame.dropna(subset=["false_adoption_rate", "power"])
    fig = canvas(title, "Top left is best. Each line is one rule over its parameter; a ring marks "
                 "its default.", _frontier_alt(frame, drawn), div_id, HEIGHT)  # fmt: skip
    named: set[str] = set()
    for (_, group), part in drawn.groupby(["rule", "group"], sort=False, observed=True):
        _rule_line(fig, part, str(group), first=str(group) not in named)
        named.add(str(group))
    _labels(fig, _own(drawn))
    fig.update_layout(width=WIDTH, margin=MARGIN, legend_itemsizing="constant")
    fig.update_yaxes(title_text="power: beneficial candidates adopted", tickformat=".0%",
                     range=[-0.06, 1.08])  # fmt: skip
    return fig.update_xaxes(title_text="false adoption: neutral or harmful candidates adopted",
                            tickformat=".0%", range=[-0.04, 1.08])  # fmt: skip


def null_adoption(
    frame: pd.DataFrame,
    *,
    title: str = "What rules adopt that changes nothing",
    div_id: str = "null-adoption",
) -> go.Figure:
    """Adoption of candidates without effect, by rule and null arm.

    Parameters
    ----------
    frame : DataFrame
        From :func:`logoslab.studies.arms.null_arms`: columns ``rule``, ``arm`` (``a_a``,
        ``placebo``, ``captured``), ``rate``, ``low``, ``high``. A rule without a rate is left out
        and named in the alt text.
    """
    require(frame, ("rule", "arm", "rate", "low", "high"), "null_adoption")
    drawn = frame.dropna(subset=["rate"])
    rules = list(dict.fromkeys(drawn["rule"].astype(str)))
    alt = _null_alt(frame, drawn)
    words = "Share adopted of candidates that change nothing, with its interval."
    fig = canvas(title, words, alt, div_id, 190 + 26 * len(rules))
    for shift, (arm, (role, label)) in zip((-0.24, 0.0, 0.24), ARMS.items(), strict=True):
        part = drawn[drawn["arm"] == arm]
        style = look(role)
        fig.add_scatter(
            x=part["rate"].astype(float),
            y=[rules.index(str(r)) + shift for r in part["rule"]],
            name=label,
            mode="markers",
            marker={"symbol": style.symbol, "size": 9, "color": style.colour},
            error_x={"type": "data", "symmetric": False, "thickness": 1, "width": 3,
                     "array": (part["high"] - part["rate"]).astype(float),
                     "arrayminus": (part["rate"] - part["low"]).astype(float)},
            text=[plain(r) for r in part["rule"]],
            hovertemplate="%{text}: %{x:.1%}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    fig.update_yaxes(tickvals=list(range(len(rules))), ticktext=[plain(r) for r in rules],
                     range=[len(rules) - 0.4, -0.6])  # fmt: skip
    return fig.update_xaxes(title_text="adopted", tickformat=".0%", range=[-0.01, 1.02])


def _rule_line(fig: go.Figure, part: pd.DataFrame, group: str, *, first: bool) -> None:
    """One rule: its sweep as a thin line, its default as a larger, ringed marker."""
    style = look(GROUPS.get(group, "other"))
    path = part.sort_values(["false_adoption_rate", "power"])
    default = path["default"].astype(bool).tolist()
    fig.add_scatter(
        x=path["false_adoption_rate"].astype(float),
        y=path["power"].astype(float),
        name=plain(group),
        legendgroup=plain(group),
        showlegend=first,
        mode="lines+markers",
        line={"color": style.colour, "dash": style.dash, "width": 1.6},
        marker={"symbol": style.symbol, "color": style.colour,
                "opacity": 1, "size": [13 if own else 6 for own in default],
                "line": {"color": "#1c2530", "width": [2.0 if own else 0.0 for own in default]}},
        text=[_named(point) for point in each(path)],
        hovertemplate="%{text}: false adoption %{x:.1%}, power %{y:.1%}<extra></extra>",
    )  # fmt: skip


def _own(drawn: pd.DataFrame) -> pd.DataFrame:
    """The default of each rule, or its first point where the default could not be judged."""
    return drawn.sort_values("default", ascending=False, kind="stable").drop_duplicates("rule")


def _labels(fig: go.Figure, defaults: pd.DataFrame) -> None:
    """Names beside the defaults, kept apart; rules on one spot share a label."""
    spots: dict[tuple[float, float], list[str]] = {}
    for point in each(defaults):
        at = round(float(point.false_adoption_rate), 2), round(float(point.power), 2)
        spots.setdefault(at, []).append(plain(point.rule) if point.default else _named(point))
    taken: list[Box] = [_box(*_pixels(*at), 8, 8) for at in spots]
    for at, names in sorted(spots.items(), key=lambda item: (-item[0][1], item[0][0])):
        lines = [", ".join(names[i : i + 2]) for i in range(0, len(names), 2)]
        wide, high = LETTER * max(map(len, lines)), LINE * len(lines)
        dx, dy, box = _free(*_pixels(*at), wide, high, taken)
        taken.append(box)
        fig.add_annotation(
            x=at[0], y=at[1], ax=dx, ay=dy, text="<br>".join(lines),
            xanchor="left" if dx > 0 else "right", yanchor="middle", showarrow=True, arrowhead=0,
            arrowwidth=0.7, arrowcolor=MUTED, standoff=7, font={"size": 11.5}, align="left",
            bgcolor="rgba(255,255,255,0.8)", borderpad=1,
        )  # fmt: skip


def _free(
    x: float, y: float, wide: float, high: float, taken: list[Box]
) -> tuple[float, float, Box]:
    """The nearest offset whose label covers the least of what is there, inside the figure."""

    def box(dx: float, dy: float) -> Box:
        middle = x + dx + (wide / 2 if dx > 0 else -wide / 2)
        return _box(middle, y + dy, wide / 2, high / 2)

    def cost(offset: tuple[float, float]) -> float:
        here = box(*offset)
        outside = max(0.0, here[2] - WIDTH + 4) + max(0.0, 4 - here[0]) + max(0.0, 90 - here[1])
        return outside * 1e3 + sum(_overlap(here, other) for other in taken)

    dx, dy = min(OFFSETS, key=cost)
    return dx, dy, box(dx, dy)


def _pixels(x: float, y: float) -> tuple[float, float]:
    """Where a point of the frontier stands in the figure, from the top left."""
    wide, high = WIDTH - MARGIN["l"] - MARGIN["r"], HEIGHT - MARGIN["t"] - MARGIN["b"]
    return MARGIN["l"] + wide * (x + 0.04) / 1.12, MARGIN["t"] + high * (1.08 - y) / 1.14


def _box(x: float, y: float, half_wide: float, half_high: float) -> Box:
    return x - half_wide, y - half_high, x + half_wide, y + half_high


def _overlap(a: Box, b: Box) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    return max(0.0, wide) * max(0.0, high)


def _named(point: Any) -> str:
    value = f"{point.value:g}" if isinstance(point.value, int | float) else point.value
    at = f" {point.parameter} = {value}" if point.parameter else ""
    return plain(f"{point.rule}{at}{', default' if point.default else ''}")


def _frontier_alt(frame: pd.DataFrame, drawn: pd.DataFrame) -> str:
    said = "; ".join(
        f"{p.rule if p.default else _named(p)} {p.false_adoption_rate:.0%} and {p.power:.0%}"
        for p in each(_own(drawn).sort_index())
    )
    return (
        f"Scatter of power against false adoption for {drawn['rule'].nunique()} rules. False "
        f"adoption and power at the defaults: {said or 'none'}.{_absent(frame, drawn)}"
    )


def _null_alt(frame: pd.DataFrame, drawn: pd.DataFrame) -> str:
    rows = []
    for rule, part in drawn.groupby("rule", sort=False, observed=True):
        rates = ", ".join(f"{p.rate:.0%} {p.arm}" for p in each(part))
        rows.append(f"{rule} {rates}")
    return (
        f"Dot plot of the share adopted without effect: {'; '.join(rows)}.{_absent(frame, drawn)}"
    )


def _absent(frame: pd.DataFrame, drawn: pd.DataFrame) -> str:
    absent = sorted(set(frame["rule"].astype(str)) - set(drawn["rule"].astype(str)))
    return f" Not applicable: {', '.join(absent)}." if absent else ""
