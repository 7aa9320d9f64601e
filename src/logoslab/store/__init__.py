"""The lab folder: the only room that reads and writes it. Traces in DuckDB, the archive of
immutable component versions, the hash-chained audit log, the atomic live pointer, public keys.

Files are opened for a moment and never held, so several processes can work in one lab."""

from logoslab.pack.signature import key_id
from logoslab.store.archive import Archive, ArchivedPack
from logoslab.store.audit import AuditLog, AuditReport
from logoslab.store.chain import AuditHead, AuditRecord, Finding
from logoslab.store.keys import KeyRing
from logoslab.store.live import Live, LivePointer
from logoslab.store.schema import OutcomeRow, RunRow
from logoslab.store.traces import TraceStore

__all__ = [
    "Archive",
    "ArchivedPack",
    "AuditHead",
    "AuditLog",
    "AuditRecord",
    "AuditReport",
    "Finding",
    "KeyRing",
    "Live",
    "LivePointer",
    "OutcomeRow",
    "RunRow",
    "TraceStore",
    "key_id",
]
