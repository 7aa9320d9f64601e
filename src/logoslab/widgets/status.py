"""A line that says what happened: errors in a button's handler are otherwise invisible."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import ipywidgets as W

from logoslab.errors import LogoslabError
from logoslab.widgets.markup import box, chip, said


class Status(W.HTML):  # type: ignore[misc]
    """``text`` is what it says, unescaped; the page shows it escaped."""

    def __init__(self) -> None:
        super().__init__(box())
        self.text = ""

    def say(self, tone: str, text: str) -> None:
        """Show a message: tone ``done``, ``note`` or ``error``."""
        self.text = text
        self.value = box(f'<div role="status">{chip(tone)} {said(text)}</div>' if text else "")

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show any error of the block, then let it go on."""
        try:
            yield
        except LogoslabError as error:
            self.say("error", str(error))
            raise
        except Exception as error:
            self.say("error", f"{type(error).__name__}: {error}")
            raise
