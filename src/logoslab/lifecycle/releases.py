"""Releases: make a pack live, or go back, so that a kill at any step leaves old or new.

The order is: the pack is archived, the intent goes into the audit log, the live pointer moves in
one rename, the act goes into the audit log. The pointer alone decides what is live. A process that
dies between intent and act leaves an open intent, which the next one closes by looking at the
pointer.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from logoslab.errors import AuditTampered, StoreError
from logoslab.files import Hook, locked, no_hook
from logoslab.pack.agent_pack import AgentPack
from logoslab.store import Archive, AuditLog, AuditRecord, Live, LivePointer
from logoslab.store.live import SWAP_STEPS

INTENT = "intent"
ABANDON = "abandon"
RELEASE_STEPS = ("archive", "intent", *SWAP_STEPS, "record")
"""Every step of a release; the ``fault`` hook hears each before it happens."""


class Releases:
    """The live pack of a lab and how it came to be live.

    Parameters
    ----------
    folder : Path
        The lab.
    archive, audit : Archive, AuditLog
    fault : callable
        For fault injection; see :data:`RELEASE_STEPS`.
    """

    def __init__(
        self, folder: Path, archive: Archive, audit: AuditLog, fault: Hook = no_hook
    ) -> None:
        self._archive, self._audit, self._fault = archive, audit, fault
        self._pointer = LivePointer(folder / "live", fault)
        self._lock = folder / "release"

    @property
    def live(self) -> Live | None:
        """What is live; None before the first release."""
        return self._pointer.read()

    def live_pack(self) -> AgentPack | None:
        """The live pack, every byte checked; None before the first release.

        Raises
        ------
        AuditTampered
            When the pointer names another pack than the audit log released last.
        """
        live = self.live
        if live is None:
            return None
        records = self._audit.records()
        released = [r.subject for r in records if "intent" in r.detail and r.act != ABANDON]
        if _open_intent(records) is None and released[-1:] != [live.pack]:
            raise AuditTampered(
                "live pointer",
                got=live.pack,
                allowed=f"what was released last, {released[-1] if released else 'nothing'}",
                next_step="Restore the file live and the audit log from a copy.",
            )
        return self._archive.get_pack(live.pack)

    def to_undo(self) -> tuple[str, str]:
        """Digests of the pack to go back to and of the live one.

        Raises
        ------
        StoreError
            When no release came before the live one.
        """
        live = self.live
        if live is None or live.previous is None:
            raise StoreError(
                "rollback",
                got="a lab without an earlier release",
                allowed="a live pack that replaced another",
                next_step="There is nothing to go back to.",
            )
        return live.previous, live.pack

    def make_live(
        self, pack: AgentPack, expected: str | None, act: str, detail: Mapping[str, JsonValue]
    ) -> Live:
        """Replace the live pack by ``pack`` if ``expected`` is still live.

        Raises
        ------
        StoreError
            When another pack is live by now; nothing changes but the closed intent in the log.
        ArchiveConflict
            When a component identity already names other bytes; nothing changes.
        """
        with locked(self._lock):
            self._close_open_intent()
            self._fault("archive")
            self._archive.release(pack)
            self._fault("intent")
            self._audit.append(
                INTENT, pack.digest, {"act": act, "expected": expected, "detail": dict(detail)}
            )
            try:
                live = self._pointer.swap(pack.digest, expected)
            finally:
                # After a refused swap this closes the intent as abandoned; after a good one it
                # writes the act. Either way the log says what the pointer says.
                self._fault("record")
                self._close_open_intent()
        return live

    def recover(self) -> str | None:
        """Close what a killed process left open; returns the act that was written, if any."""
        with locked(self._lock):
            return self._close_open_intent()

    def _close_open_intent(self) -> str | None:
        opened = _open_intent(self._audit.records())
        if opened is None:
            return None
        live = self.live
        happened = live is not None and live.pack == opened.subject
        act = str(opened.detail["act"]) if happened else ABANDON
        detail = opened.detail["detail"] if happened else {"act": opened.detail["act"]}
        assert isinstance(detail, dict)
        self._audit.append(act, opened.subject, {**detail, "intent": opened.seq})
        return act


def _open_intent(records: tuple[AuditRecord, ...]) -> AuditRecord | None:
    """The last intent that no later record refers to."""
    closed = {record.detail.get("intent") for record in records}
    intents = [r for r in records if r.act == INTENT and r.seq not in closed]
    return intents[-1] if intents else None
