"""Figures and reports as files."""

from __future__ import annotations

import re
import shutil
import struct
import zlib
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
import pytest

from logoslab.errors import InvalidValue, StoreError
from logoslab.viz import Code, Section, describe, save, save_all, wealth, wealth_frame, write_report
from tests.browser.chromium import chromium_path
from tests.viz.make import EVIL, decision

ALT = 'Two points & a "line" <b>.'


@pytest.fixture
def fig() -> go.Figure:
    """A figure with alt text that needs escaping."""
    return describe(go.Figure(go.Scatter(x=[1, 2], y=[3, 4], name=EVIL)), ALT, "two-points")


def png_texts(data: bytes) -> dict[bytes, str]:
    """The iTXt chunks of a PNG, with every checksum verified."""
    at, found = 8, {}
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        (crc,) = struct.unpack(">I", data[at + 8 + size : at + 12 + size])
        assert crc == zlib.crc32(kind + body)
        if kind == b"iTXt":
            keyword, text = body.split(b"\0\0\0\0\0")
            found[keyword] = text.decode()
        at += 12 + size
    return found


@pytest.mark.browser
def test_images_keep_their_alt_text(fig: go.Figure, tmp_path: Path) -> None:
    """PNG, SVG and PDF come out of one browser whole; PNG and SVG carry the alt text."""
    chromium_path()
    paths = save_all({tmp_path / f"deep/f.{kind}": fig for kind in ("png", "svg", "pdf")})
    png, svg, pdf = (path.read_bytes() for path in paths)
    assert png_texts(png) == {b"Description": ALT}
    assert b'role="img"><title>Two points &amp; a &quot;line&quot; &lt;b&gt;.</title>' in svg
    assert svg.rstrip().endswith(b"</svg>")
    assert pdf.startswith(b"%PDF")
    assert sorted(p.name for p in (tmp_path / "deep").iterdir()) == ["f.pdf", "f.png", "f.svg"]


def test_html_works_offline(fig: go.Figure, tmp_path: Path) -> None:
    """One file with plotly.js inside, nothing fetched, escaped alt text, the fixed id."""
    text = save(fig, tmp_path / "f.html").read_text()
    outside = re.sub(r"<script[^>]*>.*?</script>", "", text, flags=re.S)
    assert len(text) > 1_000_000
    assert not re.search(r"(src|href)=.https?:", outside)
    assert '<script src="http' not in text
    assert 'aria-label="Two points &amp; a &quot;line&quot; &lt;b&gt;."' in text
    assert 'id="two-points"' in text
    assert "<script>alert" not in text
    assert save(fig, tmp_path / "again.html").read_text() == text


def test_wrong_suffix_is_refused_before_anything_is_written(fig: go.Figure, tmp_path: Path) -> None:
    """One wrong name in many leaves no file behind."""
    with pytest.raises(InvalidValue) as refused:
        save_all({tmp_path / "a.html": fig, tmp_path / "b.gif": fig})
    assert str(refused.value) == (
        "figure file b.gif: allowed one of .png, .svg, .pdf, .html; got .gif. "
        "Give the file one of these suffixes."
    )
    assert list(tmp_path.iterdir()) == []


def test_without_a_browser_the_error_says_so(
    fig: go.Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No hanging, no half-written file, and a way out."""
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "absent"))
    with pytest.raises(StoreError) as refused:
        save(fig, tmp_path / "f.png")
    assert str(refused.value) == (
        "figure file f.png: allowed a Chromium or Chrome on PATH, or named by BROWSER_PATH; got no "
        "browser that starts (ChromeNotFoundError). Install chromium, or save as .html, which "
        "needs none."
    )
    assert list(tmp_path.iterdir()) == []


def test_without_a_browser_figures_can_be_html(
    fig: go.Figure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On request both images become one HTML file; asked for an HTML too, it is still one."""
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "absent"))
    wanted = {tmp_path / f"f.{kind}": fig for kind in ("png", "svg", "html")}
    saved = save_all(wanted, or_html=True)
    assert saved == [tmp_path / "f.html"] == list(tmp_path.iterdir())
    assert "<html" in saved[0].read_text("utf-8")


class Outline(HTMLParser):
    """Tags and headings of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [v for k, v in attrs if k == "id" and v]


@pytest.fixture
def report(fig: go.Figure, tmp_path: Path) -> str:
    """A report with every kind of block, all of it hostile."""
    frame = pd.DataFrame({EVIL: [EVIL, None], "n": [1.23456, float("nan")]})
    path = write_report(
        tmp_path / "report.html",
        EVIL,
        [
            Section(EVIL, [f"One.\n\nTwo {EVIL}", {EVIL: EVIL, "cost": None}, decision(), frame]),
            Section("Figures", [wealth(wealth_frame(decision())), fig, fig]),
            Section("Diff", [Code(f"--- a\n+++ b\n@@ -1 @@\n-{EVIL}\n+new\n same")]),
        ],
    )
    return path.read_text()


def test_report_escapes_everything(report: str) -> None:
    """Scripts in the page are plotly's alone: one library, one call a figure."""
    assert "alert(1)" in report
    assert "<script>alert" not in report
    body = re.sub(r"<script[^>]*>.*?</script>", "", report, flags=re.S)
    assert "<script" not in body
    assert body.count("&lt;/script&gt;&lt;script&gt;alert(1)") >= 8


def test_report_holds_plotly_once_and_no_id_twice(report: str) -> None:
    """Three figures, one copy of the library, distinct ids, alt text on each."""
    assert report.count("Plotly.newPlot(") >= 3
    assert len(report) < 7_000_000  # the library is 4.9 MB
    ids = Outline(report).ids
    assert len(ids) == len(set(ids))
    assert {"wealth", "two-points", "two-points-2"} <= set(ids)
    assert report.count('<figure role="img" aria-label="') == 3


def test_report_has_an_outline_and_says_unmeasured(report: str) -> None:
    """One h1, an h2 a section, then h3; None and NaN read "not measured"; diffs are marked."""
    tags = Outline(report).tags
    assert (tags.count("h1"), tags.count("h2"), tags.count("h3")) == (1, 3, 1)
    assert report.count("<td>not measured</td>") == 4  # cost, p_safety, None and NaN of the frame
    assert '<span class="del">-&lt;/script&gt;' in report
    assert '<span class="add">+new' in report
    assert report.count('<span class="at">') == 3
    assert "<td>1.235</td>" in report
    assert "<p>One.</p>" in report


def test_report_refuses_unknown_blocks(tmp_path: Path) -> None:
    """The message names the section and the kinds; nothing is written."""
    with pytest.raises(InvalidValue) as refused:
        write_report(tmp_path / "r.html", "T", [Section("S", [3.5])])  # type: ignore[list-item]
    assert str(refused.value) == (
        "block of section 'S': allowed prose, Code, a mapping, a Decision, a DataFrame or a "
        "figure; got float. Turn the value into one of these."
    )
    assert list(tmp_path.iterdir()) == []


def test_missing_chromium_fails_in_ci_and_skips_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """CI must not pass for want of a browser."""
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception):
        chromium_path()
    monkeypatch.setenv("CI", "")
    with pytest.raises(pytest.skip.Exception):
        chromium_path()
