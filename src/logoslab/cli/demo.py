"""``logoslab demo``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from logoslab.cli.root import app


@app.command()
def demo(
    out: Annotated[
        Path, typer.Option(help="Folder for report, figures and lab; replaces an earlier demo.")
    ] = Path("demo-out"),
    model: Annotated[
        str, typer.Option(help="embedded, a path to a .gguf file, or provider/model.")
    ] = "embedded",
    data: Annotated[Path | None, typer.Option(help="Another folder with the documents.")] = None,
    quiet: Annotated[bool, typer.Option(help="No progress bars.")] = False,
) -> None:
    """Run the security-exception review from documents to a signed release."""
    from logoslab.demo import run_demo

    facts = asyncio.run(run_demo(out, model=model, data=data, progress=not quiet, say=typer.echo))
    typer.echo(f"\nfinished in {facts['seconds']:.0f} s")
    for name in ("report.html", "figures", "lab", "summary.json"):
        typer.echo(f"{name:<13} {out / name}")
