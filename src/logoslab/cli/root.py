"""The command itself, on which each page of this room registers its own."""

from __future__ import annotations

from typing import Annotated

import typer

from logoslab import __version__

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"logoslab {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", help="Print it.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Release governance of self-evolving agents: proposal is not promotion."""
