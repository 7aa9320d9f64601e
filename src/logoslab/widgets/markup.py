"""Values → HTML for the widgets. Everything is escaped here and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from pydantic import BaseModel

STYLE = """<style>
.ll { color: var(--jp-ui-font-color1, #1c2530); line-height: 1.45; font-size: 13px;
  min-width: 0; }
.ll h4 { margin: 0 0 4px; font-size: 15px; font-weight: 600; overflow-wrap: anywhere; }
.ll h5 { margin: 10px 0 3px; font-size: 12px; font-weight: 600;
  color: var(--jp-ui-font-color2, #5b6775); }
.ll table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
.ll th, .ll td { text-align: left; vertical-align: top; padding: 2px 12px 2px 0;
  overflow-wrap: anywhere; border-bottom: 1px solid var(--jp-border-color3, #eef1f4); }
.ll th { font-weight: 500; color: var(--jp-ui-font-color2, #5b6775); min-width: 4.5em; }
.ll td { min-width: 3em; }
.ll .num { text-align: right; }
.ll .now { background: var(--jp-layout-color2, #eef1f4); }
.ll pre { margin: 0; padding: 8px 10px; max-height: 300px; overflow: auto; font-size: 12px;
  line-height: 1.5; background: var(--jp-layout-color2, #f7f8fa); border-radius: 4px; }
.ll pre span { display: block; min-height: 1.5em; white-space: pre; }
.ll .add { background: rgba(20, 122, 92, .18); } .ll .del { background: rgba(179, 38, 61, .16); }
.ll .at { opacity: .6; }
.ll .chip { display: inline-block; padding: 0 9px; border: 1.5px solid; border-radius: 10px;
  font-weight: 600; font-size: 12px; }
.ll .good { color: #147a5c; } .ll .bad { color: #b3263d; } .ll .warn { color: #a45c05; }
.ll .soft { color: var(--jp-ui-font-color2, #5b6775); }
.ll .scroll { max-height: 300px; overflow: auto; }
.ll .side { display: flex; flex-wrap: wrap; gap: 0 28px; }
.ll .side > * { flex: 1 1 300px; min-width: 0; }
.ll .note { border-left: 4px solid #a45c05; padding: 4px 10px;
  background: var(--jp-layout-color2, #f7f8fa); }
.ll-card { border: 1px solid var(--jp-border-color2, #d3dae1); border-radius: 8px; }
.ll-card .jupyter-widgets > div { min-width: 0; }
</style>"""

TONES = {
    "accept": "good", "low": "good", "done": "good",
    "reject_harmful": "bad", "high": "bad", "error": "bad",
    "conflict": "warn", "medium": "warn",
}  # fmt: skip


def box(*parts: str) -> str:
    """Parts in the widgets' own style."""
    return f'<div class="ll">{"".join(parts)}</div>'


def chip(text: str, tone: str | None = None) -> str:
    """A word in a rounded frame; the word carries the meaning, the colour only helps."""
    return f'<span class="chip {TONES.get(tone or text, "soft")}">{said(text)}</span>'


def said(value: object) -> str:
    """A value in words, escaped. None is unmeasured."""
    if value is None:
        return "not measured"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return escape(str(value).replace("_", " ") if _is_word(value) else str(value))


def _is_word(value: object) -> bool:
    """Names of our own vocabulary, such as ``reject_harmful``, read better with spaces."""
    return isinstance(value, str) and value in {*TONES, "reject_insufficient", "not_applicable"}


def facts(value: object) -> str:
    """A mapping, model, sequence or scalar as nested tables and lists."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        rows = "".join(
            f'<tr><th scope="row">{escape(str(k).replace("_", " "))}</th><td>{facts(v)}</td></tr>'
            for k, v in value.items()
        )
        return f"<table>{rows}</table>" if rows else '<span class="soft">none</span>'
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "<br>".join(facts(v) for v in value) or '<span class="soft">none</span>'
    return said(value)


def rows(header: Iterable[str], body: Iterable[tuple[bool, Sequence[Any]]]) -> str:
    """A table; the flag of a row marks it as the current one. Numbers are right-aligned."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    lines = "".join(
        f"<tr{' class=now' if now else ''}>{''.join(_cell(v) for v in cells)}</tr>"
        for now, cells in body
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{lines}</table></div>'


def _cell(value: object) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"<td{' class=num' if number else ''}>{said(value)}</td>"


def diff(text: str) -> str:
    """A unified diff with added and removed lines marked by sign and tint."""
    tones = {"+": "add", "-": "del", "@": "at"}
    lines = "".join(
        f'<span class="{"at" if line.startswith(("+++", "---")) else tones.get(line[:1], "")}">'
        f"{escape(line)}</span>"
        for line in text.splitlines()
    )
    return f"<pre tabindex=0>{lines or '<span class=at>no change of text</span>'}</pre>"
