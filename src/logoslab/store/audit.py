"""The audit log: release acts as a hash chain that people can sign.

One canonical JSON record a line: ``hash`` covers the record, ``prev`` is the hash of the line
before. ``audit.head`` remembers the last acknowledged record, so a missing end is seen. A
checkpoint is a record that holds an Ed25519 signature over the hash before it.

What this proves: the chain alone shows that nobody edited, removed, inserted or reordered lines
without rewriting all that follows, and the head file. A person with write access could do that.
Up to the last checkpoint they would also need the signer's private key; keep a copy of a
checkpoint elsewhere to detect a rewrite that drops it too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue, ValidationError

from logoslab.errors import AuditTampered, InvalidValue
from logoslab.files import locked, write_atomic
from logoslab.pack.base import Frozen
from logoslab.ports import Clock
from logoslab.store.chain import (
    BAD_HEAD,
    CHECKPOINT,
    GENESIS,
    REPAIR,
    AuditHead,
    AuditRecord,
    Finding,
    checked_signatures,
    checkpoint_message,
    end_findings,
    parsed_lines,
    walked,
)


class AuditReport(Frozen):
    """What :meth:`AuditLog.verify` saw.

    Attributes
    ----------
    records, checkpoints : int
    findings : tuple of Finding
        Empty when the log is intact.
    torn : bool
        The file ends in a piece of a record that was never acknowledged: a crash, not tampering.
        The next append moves it into a ``repair`` record.
    signed_through : int or None
        ``seq`` of the last record under a valid checkpoint; None when nothing is signed.
    """

    records: int
    checkpoints: int
    findings: tuple[Finding, ...]
    torn: bool
    signed_through: int | None

    @property
    def intact(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings


class AuditLog:
    """``lab/audit.jsonl`` and ``lab/audit.head``.

    Parameters
    ----------
    path : Path
        The log; the head file lies beside it.
    clock : Clock
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self.path, self._clock = path, clock
        self.head_path = path.with_suffix(".head")

    # ---- writing

    def append(
        self, act: str, subject: str, detail: Mapping[str, JsonValue] | None = None
    ) -> AuditRecord:
        """Add a record; when this returns it survives a kill and a power cut.

        Raises
        ------
        InvalidValue
            When ``detail`` is not JSON, or the act is one that only the log itself writes.
        AuditTampered
            When the end of the log is not what was last acknowledged.
        """
        if act in (CHECKPOINT, REPAIR):
            raise InvalidValue(
                "audit act",
                got=act,
                allowed="any other word",
                next_step="Call `checkpoint` to sign the log; repairs are written by themselves.",
            )
        with locked(self.path):
            return self._add(self._settled(), act, subject, dict(detail or {}))

    def checkpoint(self, key: str, sign: Callable[[bytes], bytes]) -> AuditRecord:
        """Sign the chain up to here.

        Parameters
        ----------
        key : str
            Id of the signer's public key.
        sign : callable
            Message → raw Ed25519 signature. The log never sees a private key.

        Raises
        ------
        AuditTampered
            As :meth:`append`.
        """
        with locked(self.path):
            head = self._settled()
            signature = sign(checkpoint_message(head.seq, head.hash)).hex()
            return self._add(head, CHECKPOINT, key, {"signature": signature})

    # ---- reading

    def records(self) -> tuple[AuditRecord, ...]:
        """Every readable record in file order. Whether they are true, :meth:`verify` says."""
        return tuple(r for r in parsed_lines(self._raw()) if r is not None)

    def head(self) -> AuditHead:
        """The last acknowledged record; ``unsigned`` tells when a checkpoint is due.

        Raises
        ------
        AuditTampered
            When the head file is not one that this log wrote.
        """
        head = self._recorded_head()
        if head is None:
            raise _tampered(self.path.name, (BAD_HEAD,))
        return head

    def verify(self, public_keys: Mapping[str, bytes], *, strict: bool = False) -> AuditReport:
        """Check every line, the recorded head and every checkpoint.

        Parameters
        ----------
        public_keys : mapping
            Key id → raw public key of those who may sign. A checkpoint by anybody else is a
            finding.
        strict : bool
            Raise instead of returning a report with findings.

        Raises
        ------
        AuditTampered
            With ``strict``, naming the first line that is wrong and why.
        """
        with locked(self.path):
            raw, head = self._raw(), self._recorded_head()
        walk = walked(raw)
        signed, bad_signatures = checked_signatures(walk.records, public_keys)
        findings = (*walk.findings, *end_findings(walk, head), *bad_signatures)
        if strict and findings:
            raise _tampered(self.path.name, findings)
        return AuditReport(
            records=len(walk.records),
            checkpoints=sum(r is not None and r.act == CHECKPOINT for r in walk.records),
            findings=findings,
            torn=bool(walk.torn),
            signed_through=None if findings else signed,
        )

    # ---- inside the lock

    def _add(
        self, head: AuditHead, act: str, subject: str, detail: dict[str, JsonValue]
    ) -> AuditRecord:
        """Write the record, then acknowledge it in the head file."""
        unhashed = AuditRecord(
            seq=head.seq + 1,
            at=self._clock.now(),
            act=act,
            subject=subject,
            detail=detail,
            prev=head.hash,
            hash=GENESIS,
        )
        record = unhashed.replace(hash=unhashed.own_hash())
        with self.path.open("ab") as handle:
            handle.write(record.line())
            handle.flush()
            os.fsync(handle.fileno())
        write_atomic(self.head_path, head.after(record).text())  # Syncs the folder of both.
        return record

    def _settled(self) -> AuditHead:
        """The head to build on, after what a crash may have left is put right.

        A crash leaves at most one of these: a whole record that the head file does not know yet,
        which is then acknowledged, or a piece of one, which moves into a ``repair`` record. The
        whole log is walked, so that nothing is ever added to one that was tampered with.
        """
        recorded, walk = self._recorded_head(), walked(self._raw())
        findings = (*walk.findings, *end_findings(walk, recorded))
        if findings:
            raise _tampered(self.path.name, findings)
        head = walk.heads[-1]
        if head != recorded:
            write_atomic(self.head_path, head.text())
        if not walk.torn:
            return head
        with self.path.open("r+b") as handle:
            handle.truncate(head.size)
            os.fsync(handle.fileno())
        torn = walk.torn.decode("utf-8", "backslashreplace")
        return head.after(self._add(head, REPAIR, self.path.name, {"torn": torn}))

    def _raw(self) -> bytes:
        return self.path.read_bytes() if self.path.exists() else b""

    def _recorded_head(self) -> AuditHead | None:
        """What the head file says; None when it is not one of ours."""
        if not self.head_path.exists():
            return AuditHead()
        raw = self.head_path.read_bytes()
        try:
            head = AuditHead.model_validate_json(raw)
        except ValidationError:
            return None
        return head if head.text() == raw else None


def _tampered(name: str, findings: Sequence[Finding]) -> AuditTampered:
    first, more = findings[0], len(findings) - 1
    where = "head file" if first.line is None else f"line {first.line}"
    return AuditTampered(
        f"audit log {name}",
        got=f"{where}: {first.reason}" + (f" (and {more} more)" if more else ""),
        allowed="an unbroken chain of records up to the acknowledged one",
        next_step="Restore the log and its head file from a copy; "
        "until then nothing can be promoted or rolled back.",
    )
