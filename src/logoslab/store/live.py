"""The live pointer: one file that names the pack in use. Its change is one atomic rename."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from logoslab.errors import StoreError
from logoslab.files import ATOMIC_STEPS, Hook, locked, no_hook, write_atomic
from logoslab.pack.base import Frozen, canonical_json

SWAP_STEPS = ("lock", "compare", *ATOMIC_STEPS, "release")
"""What :meth:`LivePointer.swap` does, in order; the ``fault`` hook hears each before it happens."""


class Live(Frozen):
    """What is live, and what was live before it (None for a lab's first pack)."""

    pack: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    previous: str | None = Field(default=None, pattern=r"^sha256:[0-9a-f]{64}$")


class LivePointer:
    """``lab/live``, read by everyone and changed only by promotion and rollback.

    Parameters
    ----------
    path : Path
    fault : callable
        Called with each of :data:`SWAP_STEPS` before that step, for fault injection.
    """

    def __init__(self, path: Path, fault: Hook = no_hook) -> None:
        self.path, self._fault = path, fault

    def read(self) -> Live | None:
        """What is live; None when nothing was ever promoted.

        Raises
        ------
        StoreError
            When the file is not one that :meth:`swap` wrote.
        """
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return None
        try:
            live = Live.model_validate_json(raw)
        except ValidationError:
            live = None
        if live is None or _bytes(live) != raw:
            raise StoreError(
                f"live pointer {self.path.name}",
                got=raw.decode("utf-8", "replace"),
                allowed="the bytes that a promotion or rollback wrote",
                next_step="The audit log names the last promoted pack; "
                "delete the file and roll back to that pack.",
            )
        return live

    def swap(self, new: str, expected: str | None) -> Live:
        """Make ``new`` live if ``expected`` still is; a kill leaves the old or the new pointer.

        Parameters
        ----------
        new : str
            Digest of a pack in the archive.
        expected : str or None
            Digest that the caller's evidence compared against; None when nothing is live yet.

        Raises
        ------
        StoreError
            When another pack is live. Nothing is changed.
        """
        self._fault("lock")
        with locked(self.path):
            self._fault("compare")
            current = self.read()
            if (current and current.pack) != expected:
                raise StoreError(
                    "live pointer swap",
                    got=current.pack if current else "no live pack",
                    allowed=f"{expected or 'no live pack'}, which the change was judged against",
                    next_step="Judge the candidate again against what is live now.",
                )
            live = Live(pack=new, previous=expected)
            write_atomic(self.path, _bytes(live), self._fault)
            self._fault("release")
        return live


def _bytes(live: Live) -> bytes:
    return canonical_json(live.model_dump(mode="json")) + b"\n"
