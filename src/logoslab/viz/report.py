"""One HTML file that holds a whole report: works offline, escapes everything it is given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from logoslab.errors import InvalidValue
from logoslab.files import write_atomic
from logoslab.pack.decision import Decision
from logoslab.viz.export import div_of, figure_html

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


class Code(NamedTuple):
    """Text to show as it is, such as a diff."""

    text: str


Block: TypeAlias = "str | Code | Mapping[str, Any] | Decision | pd.DataFrame | go.Figure"


class Section(NamedTuple):
    """A heading and its blocks: prose, Code, key → value, Decision, DataFrame or figure.

    Prose is plain text; a blank line starts a new paragraph.
    """

    title: str
    blocks: Sequence[Block]


def write_report(path: str | Path, title: str, sections: Sequence[Section]) -> Path:
    """Write a self-contained HTML report.

    Text from anywhere is escaped, plotly.js is in the file once, every figure carries its alt
    text, and equal input gives equal bytes.

    Raises
    ------
    InvalidValue
        For a block of an unknown type, or a figure without alt text.
    """
    import jinja2

    env = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    figures = _Figures()
    parts = [(s.title, [_render(block, figures, s.title) for block in s.blocks]) for s in sections]
    page = env.from_string(_TEMPLATE).render(title=title, sections=parts, style=_STYLE)
    target = Path(path)
    write_atomic(target, page.encode())
    return target


def _render(block: Any, figures: _Figures, where: str) -> dict[str, Any]:
    """What the template needs to know of one block. Only figures are markup already."""
    if isinstance(block, str):
        return {"kind": "prose", "paragraphs": [p for p in block.split("\n\n") if p.strip()]}
    if isinstance(block, Code):
        return {"kind": "code", "lines": list(_diff_lines(block.text))}
    if isinstance(block, Decision):
        return {"kind": "decision", "decision": block, "numbers": _cells(block.numbers),
                "params": _cells(block.params, absent="not set"),
                "conclusion": block.conclusion.value.replace("_", " ")}  # fmt: skip
    if isinstance(block, Mapping):
        return {"kind": "facts", "rows": _cells(block)}
    if hasattr(block, "to_plotly_json"):
        return {"kind": "figure", "html": figures.html(block)}
    if hasattr(block, "itertuples"):
        rows = [[_cell(v) for v in row] for row in block.itertuples(index=False, name=None)]
        return {"kind": "frame", "columns": [str(c) for c in block.columns], "rows": rows}
    raise InvalidValue(
        f"block of section {where!r}",
        got=type(block).__name__,
        allowed="prose, Code, a mapping, a Decision, a DataFrame or a figure",
        next_step="Turn the value into one of these.",
    )


class _Figures:
    """Figures of one page: plotly.js with the first, and no id twice."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def html(self, fig: go.Figure) -> str:
        name = div_of(fig)
        first = not self._used
        self._used[name] = self._used.get(name, 0) + 1
        suffix = "" if self._used[name] == 1 else f"-{self._used[name]}"
        return figure_html(fig, plotlyjs=first, div_id=f"{name}{suffix}")


def _diff_lines(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines():
        file_line = line.startswith(("+++", "---", "@@"))
        yield ("at" if file_line else {"+": "add", "-": "del"}.get(line[:1], "")), line


def _cells(values: Mapping[str, Any], absent: str = "not measured") -> list[tuple[str, str]]:
    return [
        (str(k).replace("_", " "), absent if v is None else _cell(v)) for k, v in values.items()
    ]


def _cell(value: Any) -> str:
    """A value in words: None is unmeasured, floats have four digits."""
    if value is None or (isinstance(value, float) and value != value):
        return "not measured"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join(_cell(v) for v in value) or "none"
    return str(value)


_TEMPLATE = """\
{% macro facts(rows) %}<table class="facts"><tbody>
{% for key, value in rows %}
<tr><th scope="row">{{ key }}</th><td>{{ value }}</td></tr>
{% endfor %}
</tbody></table>{% endmacro %}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
 content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
img-src data: blob:; font-src data:">
<title>{{ title }}</title>
<style>{{ style | safe }}</style>
</head>
<body>
<header><h1>{{ title }}</h1>
<nav aria-label="Contents"><ol>
{% for heading, blocks in sections %}
<li><a href="#s{{ loop.index }}">{{ heading }}</a></li>
{% endfor %}
</ol></nav></header>
<main>
{% for heading, blocks in sections %}
<section aria-labelledby="s{{ loop.index }}">
<h2 id="s{{ loop.index }}">{{ heading }}</h2>
{% for b in blocks %}
{% if b.kind == "prose" %}
{% for p in b.paragraphs %}
<p>{{ p }}</p>
{% endfor %}
{% elif b.kind == "code" %}
<pre tabindex="0">{% for tone, line in b.lines %}<span class="{{ tone }}">{{ line }}
</span>{% endfor %}</pre>
{% elif b.kind == "facts" %}
{{ facts(b.rows) }}
{% elif b.kind == "frame" %}
<div class="scroll" tabindex="0"><table>
<thead><tr>{% for c in b.columns %}<th scope="col">{{ c }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in b.rows %}
<tr>{% for v in row %}<td>{{ v }}</td>{% endfor %}</tr>
{% endfor %}
</tbody></table></div>
{% elif b.kind == "figure" %}
{{ b.html | safe }}
{% elif b.kind == "decision" %}
<article class="decision {{ b.decision.conclusion.value }}">
<h3>{{ b.decision.rule }}: <span class="chip">{{ b.conclusion }}</span></h3>
<p>{{ b.decision.reason }}</p>
<div class="columns">
<div><h4>Numbers</h4>{{ facts(b.numbers) }}</div>
<div><h4>Parameters</h4>{{ facts(b.params) }}</div>
</div>
<p class="small">{{ b.decision.tasks }} tasks. Claim: {{ b.decision.claim.rstrip(".") }}.<br>
incumbent <code>{{ b.decision.incumbent }}</code><br>
candidate <code>{{ b.decision.candidate }}</code><br>
evidence <code>{{ b.decision.evidence }}</code></p>
</article>
{% endif %}
{% endfor %}
</section>
{% endfor %}
</main>
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light; }
body { margin: 0 auto; max-width: 60rem; padding: 2rem 1.5rem 4rem; background: #fff;
  color: #1c2530; font: 16px/1.55 Inter, "Helvetica Neue", Helvetica, Arial, sans-serif; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 1rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .8rem;
  border-top: 1px solid #e3e7ec; }
h3 { font-size: 1.05rem; margin: 0 0 .4rem; }
h4 { font-size: .85rem; margin: .4rem 0; color: #5b6775; }
p { max-width: 44rem; margin: .6rem 0; }
nav ol { columns: 2; padding-left: 1.2rem; color: #5b6775; }
a { color: #2f4b6e; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .9rem .3rem 0; border-bottom: 1px solid #eef1f4;
  vertical-align: top; overflow-wrap: anywhere; }
.facts th { font-weight: 500; color: #5b6775; overflow-wrap: normal; }
.scroll { overflow-x: auto; max-height: 32rem; margin: .8rem 0; }
thead th { position: sticky; top: 0; background: #fff; border-bottom: 2px solid #cfd6dd; }
figure { margin: 1.2rem 0; overflow-x: auto; }
pre { background: #f7f8fa; border: 1px solid #e3e7ec; border-radius: 6px; padding: .8rem 1rem;
  overflow: auto; max-height: 28rem; font: 13px/1.5 ui-monospace, Menlo, Consolas, monospace; }
pre span { display: block; min-height: 1.5em; white-space: pre; }
.add { background: #e3f3ec; } .del { background: #f8e4e7; } .at { color: #5b6775; }
.decision { border: 1px solid #e3e7ec; border-left: 6px solid #9aa5b1; border-radius: 6px;
  padding: 1rem 1.2rem; margin: 1rem 0; }
.decision.accept { border-left-color: #147a5c; }
.decision.reject_harmful { border-left-color: #b3263d; }
.decision.conflict { border-left-color: #e0851c; }
.chip { display: inline-block; padding: 0 .6em; border: 1px solid currentColor;
  border-radius: 1em; font-size: .9em; }
.columns { display: flex; flex-wrap: wrap; gap: 2.5rem; }
.small { font-size: .82rem; color: #5b6775; } code { overflow-wrap: anywhere; }
@media print { .scroll, pre { max-height: none; } }
"""
