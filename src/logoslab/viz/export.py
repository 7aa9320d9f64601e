"""Figures to files: PNG, SVG, PDF through one headless browser, HTML that works offline.

Alt text goes along: an iTXt chunk in PNG, a title in SVG, an ARIA label in HTML. PDF has no place
for it; put :func:`logoslab.viz.alt_text` into the caption there.
"""

from __future__ import annotations

import asyncio
import html
import struct
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logoslab.errors import InvalidValue, NoBrowser
from logoslab.files import write_atomic
from logoslab.viz.theme import alt_text

if TYPE_CHECKING:
    import plotly.graph_objects as go

IMAGES = (".png", ".svg", ".pdf")
SUFFIXES = (*IMAGES, ".html")


def save(fig: go.Figure, path: str | Path) -> Path:
    """Write one figure; the suffix decides how (``.png``, ``.svg``, ``.pdf``, ``.html``).

    Raises
    ------
    InvalidValue
        For another suffix, or a figure without alt text.
    NoBrowser
        When no Chromium is found; ``.html`` needs none.
    """
    return save_all({path: fig})[0]


def save_all(figures: Mapping[str | Path, go.Figure], *, or_html: bool = False) -> list[Path]:
    """Write many figures with one browser: path → figure. Each file appears whole or not at all.

    Raises as :func:`save` does; suffixes and alt texts are checked before anything is written.

    Parameters
    ----------
    figures : mapping path → figure
    or_html : bool, default False
        Where no browser starts, write each image as ``.html`` of the same name instead of raising.

    Returns
    -------
    list of Path
        What was written.
    """
    wanted = [(Path(path), fig, alt_text(fig)) for path, fig in figures.items()]
    for path, _, _ in wanted:
        _check_suffix(path)
    images = [(path, fig, alt) for path, fig, alt in wanted if path.suffix in IMAGES]
    for path, fig, alt in wanted:
        if path.suffix == ".html":
            write_atomic(path, _page(fig, alt).encode())
    if images:
        try:
            rendered = _rendered([(path, fig) for path, fig, _ in images])
        except NoBrowser:
            if not or_html:
                raise
            return save_all({path.with_suffix(".html"): fig for path, fig, _ in wanted})
        for (path, _, alt), data in zip(images, rendered, strict=True):
            write_atomic(path, _described(data, alt, path.suffix))
    return [path for path, _, _ in wanted]


def _check_suffix(path: Path) -> None:
    if path.suffix not in SUFFIXES:
        raise InvalidValue(
            f"figure file {path.name}",
            got=path.suffix or "no suffix",
            allowed=f"one of {', '.join(SUFFIXES)}",
            next_step="Give the file one of these suffixes.",
        )


def _rendered(figures: Sequence[tuple[Path, go.Figure]]) -> list[bytes]:
    """Image bytes of each figure, from one browser in a thread of its own: notebooks have a loop.

    kaleido's own server is not used, because its thread dies without a browser and the caller
    would wait for ever.
    """
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, _render(figures)).result()


async def _render(figures: Sequence[tuple[Path, go.Figure]]) -> list[bytes]:
    import kaleido
    from choreographer.errors import BrowserClosedError, BrowserFailedError, ChromeNotFoundError

    try:
        async with kaleido.Kaleido() as browser:
            return [
                await browser.calc_fig(fig.to_dict(), opts=_options(fig, path))
                for path, fig in figures
            ]
    except (ChromeNotFoundError, BrowserFailedError, BrowserClosedError, OSError) as cause:
        raise NoBrowser(
            f"figure file {figures[0][0].name}",
            got=f"no browser that starts ({type(cause).__name__})",
            allowed="a Chromium or Chrome on PATH, or named by BROWSER_PATH",
            next_step="Install chromium, or save as .html, which needs none.",
        ) from cause


def _options(fig: go.Figure, path: Path) -> dict[str, Any]:
    return {
        "format": path.suffix[1:],
        "scale": 2 if path.suffix == ".png" else 1,
        "width": fig.layout.width or 920,
        "height": fig.layout.height or 460,
    }


def _described(data: bytes, alt: str, suffix: str) -> bytes:
    match suffix:
        case ".png":
            return _describe_png(data, alt)
        case ".svg":
            return _describe_svg(data, alt)
        case _:
            return data


def _describe_png(data: bytes, alt: str) -> bytes:
    body = b"iTXt" + b"Description\0\0\0\0\0" + alt.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end_of_header = 33  # 8 bytes of signature, 25 of IHDR
    return data[:end_of_header] + chunk + data[end_of_header:]


def _describe_svg(data: bytes, alt: str) -> bytes:
    head, rest = data.decode().split(">", 1)
    return f'{head} role="img"><title>{html.escape(alt)}</title>{rest}'.encode()


def _page(fig: go.Figure, alt: str) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{html.escape(alt)}</title></head><body>\n"
        f"{figure_html(fig, plotlyjs=True)}\n</body></html>\n"
    )


def figure_html(fig: go.Figure, *, plotlyjs: bool, div_id: str | None = None) -> str:
    """A ``<figure>`` to place in a page, labelled with its alt text.

    Parameters
    ----------
    plotlyjs : bool
        Whether to put plotly.js (5 MB) in: once a page.
    div_id : str, optional
        The id of the plot; by default the figure's own.
    """
    alt = alt_text(fig)
    body = fig.to_html(
        full_html=False,
        include_plotlyjs=plotlyjs,
        div_id=div_id or div_of(fig),
        config={"displaylogo": False, "responsive": True},
        default_height=f"{fig.layout.height or 460}px",
    )
    return f'<figure role="img" aria-label="{html.escape(alt, quote=True)}">{body}</figure>'


def div_of(fig: go.Figure) -> str:
    """The fixed id of the figure's element."""
    meta = fig.layout.meta
    return str(meta.get("div_id", "figure")) if isinstance(meta, dict) else "figure"
