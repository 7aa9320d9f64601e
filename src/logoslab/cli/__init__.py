"""The command line. A user's mistake is one line on stderr, never a traceback."""

from __future__ import annotations

import io
import json
import sys
import traceback

import typer

# Each page registers its commands on ``app`` when it is imported; help lists them in this order.
from logoslab.cli import decide, demo, keys, labs, models  # noqa: F401
from logoslab.cli.decide import ANSWER
from logoslab.cli.root import app
from logoslab.errors import LogoslabError, one_line

__all__ = ["app", "main"]


def main() -> None:
    """Entry point: a user's mistake becomes one line and exit code 3.

    A fault of our own ends with 70, so that no script takes it for a verdict.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # What a terminal cannot show is spelled out.
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not standalone: typer would answer an interrupt itself, with nothing to read.
        sys.exit(app(standalone_mode=False) or 0)
    except LogoslabError as error:
        _say(str(error))
    except typer.TyperException as error:
        if str(error):  # Without a command the help was shown; there is nothing to add.
            _say(" ".join(error.format_message().split()))
    except (OSError, RecursionError) as error:
        _say(f"{type(error).__name__}: {error}")
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted; what finished is kept", err=True)
        sys.exit(130)
    except Exception:  # noqa: BLE001  # the last line of defence
        traceback.print_exc()
        sys.exit(70)
    sys.exit(3)


def _say(error: str) -> None:
    """The mistake as one line on stderr, and as one JSON object where a program reads along."""
    line = one_line(error)
    typer.echo(f"error: {line}", err=True)
    if "--json" in sys.argv[1:]:
        answer = dict.fromkeys(ANSWER) | {"reasons": [line]} if "gate" in sys.argv[1:2] else {}
        typer.echo(json.dumps({**answer, "error": line}, ensure_ascii=False))
