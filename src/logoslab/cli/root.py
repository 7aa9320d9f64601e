"""The command itself, on which each page of this room registers its own."""

from __future__ import annotations

import typer

app = typer.Typer(
    help="Release governance of self-evolving agents: proposal is not promotion.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
