"""The hash chain of the audit log, as values: what a record is, and what is wrong with a file.

Nothing here reads or writes; :mod:`logoslab.store.audit` does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pydantic import Field, JsonValue, ValidationError

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen, canonical_json, digest_bytes
from logoslab.pack.signature import signature_holds

GENESIS = f"sha256:{'0' * 64}"
CHECKPOINT, REPAIR = "checkpoint", "repair"
_HEX_DIGEST = r"^sha256:[0-9a-f]{64}$"


class AuditRecord(Frozen):
    """One release act. ``hash`` is over the canonical JSON of everything else."""

    seq: int = Field(ge=0)
    at: float
    act: str
    subject: str
    detail: dict[str, JsonValue]
    prev: str = Field(pattern=_HEX_DIGEST)
    hash: str = Field(pattern=_HEX_DIGEST)

    def line(self) -> bytes:
        """The record as it stands in the file."""
        return canonical_json(self.model_dump(mode="json")) + b"\n"

    def own_hash(self) -> str:
        """The hash that its content has."""
        return digest_bytes(canonical_json(self.model_dump(mode="json", exclude={"hash"})))


class AuditHead(Frozen):
    """The last acknowledged record: where it ends in the file, and the last signed one up to it."""

    seq: int = Field(default=-1, ge=-1)
    hash: str = GENESIS
    size: int = Field(default=0, ge=0)
    checkpoint: int | None = None

    @property
    def unsigned(self) -> int:
        """How many records follow the last checkpoint."""
        return self.seq - (-1 if self.checkpoint is None else self.checkpoint)

    def after(self, record: AuditRecord) -> AuditHead:
        """The head once this record is in the file."""
        return AuditHead(
            seq=record.seq,
            hash=record.hash,
            size=self.size + len(record.line()),
            checkpoint=record.seq if record.act == CHECKPOINT else self.checkpoint,
        )

    def text(self) -> bytes:
        """The bytes of the head file."""
        return canonical_json(self.model_dump(mode="json")) + b"\n"


class Finding(Frozen):
    """One thing that is wrong: the line (1 is the first; None is the head file) and the reason."""

    line: int | None
    reason: str


class Walk(NamedTuple):
    """A log read line by line. ``heads[i]`` is the head before record i; the last one, now."""

    records: list[AuditRecord | None]
    heads: list[AuditHead]
    findings: list[Finding]
    torn: bytes


BAD_HEAD = Finding(line=None, reason="audit.head is not what this log wrote")


def walked(raw: bytes) -> Walk:
    """Follow the chain from the first line; after a break, go on from the line that broke it."""
    records, heads, findings = parsed_lines(raw), [AuditHead()], list[Finding]()
    for number, record in enumerate(records, 1):
        if record is None:
            findings.append(Finding(line=number, reason="edited: not a record of this log"))
            continue
        broken = _break(
            record, heads[-1], after_unreadable=records[number - 2 : number - 1] == [None]
        )
        if broken:
            findings.append(Finding(line=number, reason=broken))
        heads.append(heads[-1].after(record))
    return Walk(records, heads, findings, raw.rpartition(b"\n")[2])


def _break(record: AuditRecord, before: AuditHead, *, after_unreadable: bool) -> str | None:
    """Why a record does not continue the chain; None when it does."""
    if record.hash != record.own_hash():
        return "edited: its hash does not fit its content"
    if after_unreadable:  # Already reported; the chain goes on from here.
        return None
    if record.seq > before.seq + 1:
        return f"{record.seq - before.seq - 1} record(s) removed before it"
    if record.seq <= before.seq:
        return "repeated or out of order"
    return None if record.prev == before.hash else "the record before it was replaced"


def end_findings(walk: Walk, head: AuditHead | None) -> tuple[Finding, ...]:
    """Whether the log ends where the head file says, or one unacknowledged record later."""
    if head is None:
        return (BAD_HEAD,)
    if walk.findings:  # Positions mean nothing in a broken chain.
        return ()
    found = len(walk.records)
    if head.seq >= found:
        reason = f"{head.seq + 1 - found} record(s) removed at the end"
        return (Finding(line=found + 1, reason=reason),)
    if walk.heads[head.seq + 1] != head:
        return (Finding(line=head.seq + 1, reason="not the record that audit.head acknowledged"),)
    if found - 1 - head.seq > 1:
        reason = "added after the acknowledged end, or audit.head was set back"
        return (Finding(line=head.seq + 2, reason=reason),)
    return ()


def checked_signatures(
    records: list[AuditRecord | None], public_keys: Mapping[str, bytes]
) -> tuple[int | None, list[Finding]]:
    """The last record under a valid checkpoint, and the checkpoints that are not valid."""
    signed, findings = None, list[Finding]()
    for number, record in enumerate(records, 1):
        if record is None or record.act != CHECKPOINT:
            continue
        public = public_keys.get(record.subject)
        message = checkpoint_message(record.seq - 1, record.prev)
        if public is None:
            reason = f"signed by the unknown key {record.subject}"
        elif signature_holds(public, message, str(record.detail.get("signature"))):
            signed = record.seq - 1
            continue
        else:
            reason = f"the signature of key {record.subject} does not hold"
        findings.append(Finding(line=number, reason=reason))
    return signed, findings


def checkpoint_message(seq: int, head: str) -> bytes:
    """The bytes that a checkpoint signs: the chain up to ``seq``, whose hash is ``head``."""
    return canonical_json({"logoslab.checkpoint.v1": {"seq": seq, "head": head}})


def parsed_lines(raw: bytes) -> list[AuditRecord | None]:
    """The record of each whole line; None where a line is none."""
    return [_parsed(line) for line in raw.split(b"\n")[:-1]]


def _parsed(line: bytes) -> AuditRecord | None:
    """The record of a line, if the line is exactly how that record is written."""
    try:
        record = AuditRecord.model_validate_json(line)
        return record if record.line() == line + b"\n" else None
    except (ValidationError, InvalidValue):
        return None
