"""Signing keys: ``logoslab keys``."""

from __future__ import annotations

from typing import Annotated

import typer

from logoslab.cli.labs import LabPath, open_lab
from logoslab.cli.root import app
from logoslab.errors import InvalidValue

keys_app = typer.Typer(help="Signing keys, kept in your config folder.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")


@keys_app.command("add")
def keys_add(
    path: LabPath,
    public: Annotated[str, typer.Argument(help="The public key that `keys new` printed.")],
) -> None:
    """Let a lab know a person's public key. Which role it may sign for is root policy."""
    try:
        raw = bytes.fromhex(public)
    except ValueError as cause:
        raise InvalidValue(
            "public key",
            got=public,
            allowed="64 hex digits",
            next_step="Copy the public key that `logoslab keys new` printed.",
        ) from cause
    typer.echo(f"the lab knows key {open_lab(path).add_key(raw)}")


@keys_app.command("new")
def keys_new(name: Annotated[str, typer.Argument(help="Name of the key.")] = "default") -> None:
    """Make a signing key in your config folder and print its id for the root policy."""
    from logoslab.human import new_key

    key = new_key(name)
    typer.echo(f"key {name}: id {key.id}, public {key.public.hex()}")
