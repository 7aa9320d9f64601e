"""Parts: the opened pieces of one lab folder, handed to everything that works in it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from logoslab.errors import AuditTampered, PolicyError, StoreError
from logoslab.files import Hook, locked, write_atomic
from logoslab.lifecycle.documents import Documents
from logoslab.lifecycle.releases import Releases
from logoslab.pack.base import digest_bytes
from logoslab.pack.policy import RootPolicy, load_policy
from logoslab.ports import Clock
from logoslab.store import Archive, AuditLog, KeyRing, TraceStore

POLICY_FILE = "root_policy.toml"
PINNED = "policy"
POLICY_OWNER = "policy_owner"


@dataclass
class Parts:
    """What a lab is made of."""

    folder: Path
    clock: Clock
    traces: TraceStore
    archive: Archive
    audit: AuditLog
    keys: KeyRing
    releases: Releases
    candidates: Documents
    evidence: Documents
    decisions: Documents

    @property
    def policy(self) -> RootPolicy:
        """The pinned root policy as it is now: another process may have changed it, signed."""
        return _pinned(self.folder, self.audit)

    @property
    def public_keys(self) -> dict[str, bytes]:
        """Key id → raw public key of everyone this lab knows."""
        return self.keys.all()


def open_parts(folder: Path, policy: RootPolicy | None, clock: Clock, fault: Hook) -> Parts:
    """Open a lab folder, or make one.

    Raises
    ------
    StoreError
        When the path is a file.
    PolicyError
        When the policy file was changed without a signed event, or ``policy`` is another one.
    """
    if folder.exists() and not folder.is_dir():
        raise StoreError(
            f"lab {folder.name}",
            got="a file",
            allowed="a folder, or a path where one can be made",
            next_step="Choose another path.",
        )
    folder.mkdir(parents=True, exist_ok=True)
    audit, archive = AuditLog(folder / "audit.jsonl", clock), Archive(folder / "archive")
    _open_policy(folder, policy, audit)
    releases = Releases(folder, archive, audit, fault)
    releases.recover()
    return Parts(
        folder=folder,
        clock=clock,
        traces=TraceStore(folder, clock),
        archive=archive,
        audit=audit,
        keys=KeyRing(folder / "keys"),
        releases=releases,
        candidates=Documents(folder / "candidates"),
        evidence=Documents(folder / "evidence"),
        decisions=Documents(folder / "decisions"),
    )


def pin_policy(folder: Path, policy: RootPolicy, audit: AuditLog, by: str) -> None:
    """Write the policy file and pin its digest in the audit log."""
    data = policy.to_toml().encode()
    # The bytes are pinned, so a later version that knows more fields still opens this lab.
    audit.append(PINNED, policy.digest, {"by": by, "file": digest_bytes(data)})
    write_atomic(folder / POLICY_FILE, data)


def _open_policy(folder: Path, given: RootPolicy | None, audit: AuditLog) -> None:
    """Check the policy of a lab; a new lab pins the one given, or a read-only default."""
    with locked(folder / "policy"):
        if not any(record.act == PINNED for record in audit.records()):
            _require_new(folder)
            pin_policy(folder, given or _default_policy(folder), audit, "lab creation")
    policy = _pinned(folder, audit)
    if given is not None and given != policy:
        raise _not_pinned(
            folder, f"the policy given, {given.digest}", policy.digest,
            f"Open the lab without a policy, or: {how_to_change(policy)}",
        )  # fmt: skip


def _pinned(folder: Path, audit: AuditLog) -> RootPolicy:
    pin = [record for record in audit.records() if record.act == PINNED][-1]
    policy = load_policy(folder / POLICY_FILE)
    found = digest_bytes((folder / POLICY_FILE).read_bytes())
    if found != pin.detail.get("file"):
        raise _not_pinned(
            folder, f"{POLICY_FILE} with bytes {found}", str(pin.detail.get("file")),
            "Restore the file. The policy changes by `Lab.change_policy` and an approval of its "
            "owner role alone.",
        )  # fmt: skip
    return policy


def how_to_change(policy: RootPolicy) -> str:
    """Who can change a pinned policy: its owners, or nobody when it lists none."""
    if policy.approvals.roles.get(POLICY_OWNER):
        return f"Change it with `Lab.change_policy` and an approval in its role {POLICY_OWNER}."
    return (
        f"This policy lists no key for {POLICY_OWNER}, so it stays as it is: make another "
        "lab with ll.Lab(path, policy=ll.RootPolicy(objective=…, "
        'approvals={"roles": {role: [key id]}})).'
    )


def _require_new(folder: Path) -> None:
    """A lab without a log must have released nothing: else somebody removed the log."""
    left = [name for name in ("live", "archive", "decisions") if (folder / name).exists()]
    if left:
        raise AuditTampered(
            f"audit log of lab {folder.name}",
            got=f"no record, beside {', '.join(left)}",
            allowed="a new lab, or the log that belongs to what is there",
            next_step="Restore audit.jsonl and audit.head from a copy.",
        )


def _not_pinned(folder: Path, got: str, pinned: str, next_step: str) -> PolicyError:
    return PolicyError(
        f"root policy of lab {folder.name}",
        got=got,
        allowed=f"the pinned policy {pinned}",
        next_step=next_step,
    )


def _default_policy(folder: Path) -> RootPolicy:
    """A file that is already there and not yet pinned, else reading only."""
    if (folder / POLICY_FILE).is_file():
        return load_policy(folder / POLICY_FILE)
    return RootPolicy(objective="not stated: this lab was made without a root policy")
