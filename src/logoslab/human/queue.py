"""The approval queue: what waits for a person, as files that survive a restart.

A ruling is a person's word, not authority: only a signed approval in it authorises anything.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, ValidationError, model_validator

from logoslab.errors import AuthorityError, InvalidValue, StoreError
from logoslab.files import locked, write_atomic
from logoslab.human.risk import Risk
from logoslab.pack.approval import Approval
from logoslab.pack.base import Frozen
from logoslab.pack.patch import Footprint

Act = Literal["approve", "reject", "narrow"]


class PendingChange(Frozen):
    """What a person must see before ruling. All text in it is data and must be escaped.

    Attributes
    ----------
    id : str
        The proposal's identity; submitting the same proposal again changes nothing.
    candidate, evidence : str
        Digests.
    title, diff : str
        From the proposer.
    risk : str
        ``low``, ``medium`` or ``high``.
    footprint : Footprint
    summary : dict
        Decisions and their numbers, for the evidence panel.
    effects : tuple of str
        Previewed effects, ``tool:effect``.
    submitted : float
        Seconds since the epoch.
    roles : tuple of str
        The roles that must each approve it.
    """

    id: str = Field(min_length=1, max_length=200)
    candidate: str
    evidence: str
    title: str
    diff: str
    risk: Risk
    footprint: Footprint
    summary: dict[str, JsonValue] = Field(default_factory=dict)
    effects: tuple[str, ...] = ()
    submitted: float
    roles: tuple[str, ...] = ("release_owner",)


class Ruling(Frozen):
    """A person's word on one pending change, in one role; ``key`` is the id of their key, if any.

    ``narrow`` sends it back with the files that may stay in ``keep``; it approves nothing.
    """

    act: Act
    reason: str = Field(min_length=1)
    who: str = Field(min_length=1)
    role: str = Field(min_length=1)
    key: str = ""
    at: float
    keep: tuple[str, ...] = ()
    approval: Approval | None = None

    @model_validator(mode="after")
    def _parts_fit_the_act(self) -> Ruling:
        fits = bool(self.keep) == (self.act == "narrow") and (
            self.approval is None or self.act == "approve"
        )
        if not fits:
            raise InvalidValue(
                f"ruling {self.act}",
                got=f"keep={list(self.keep)}, approval={'yes' if self.approval else 'no'}",
                allowed="files to keep with narrow only, a signed approval with approve only",
                next_step="Name the files that may stay, or choose another act.",
            )
        return self

    def repeats(self, other: Ruling) -> bool:
        """Whether a person says again what they said: all but the time and the fresh signature."""
        return self == other.replace(at=self.at, approval=self.approval if other.approval else None)


class QueueItem(Frozen):
    """A pending change and the rulings on it, at most one a role, in the order they were given."""

    change: PendingChange
    rulings: tuple[Ruling, ...] = ()

    @model_validator(mode="after")
    def _one_ruling_a_role(self) -> QueueItem:
        roles = [ruling.role for ruling in self.rulings]
        if len(set(roles)) < len(roles):
            raise InvalidValue(
                f"rulings on {self.change.id}",
                got=", ".join(roles),
                allowed="at most one ruling a role",
                next_step="Keep the first ruling of each role.",
            )
        return self

    @property
    def ruling(self) -> Ruling | None:
        """The last ruling; None while nobody has spoken."""
        return self.rulings[-1] if self.rulings else None

    @property
    def closed_by(self) -> Ruling | None:
        """The ruling that rejected or narrowed the change; None while it may still be approved."""
        return next((r for r in self.rulings if r.act != "approve"), None)

    @property
    def waits_for(self) -> tuple[str, ...]:
        """Roles that must still approve; none once a ruling rejected or narrowed the change."""
        ruled = {ruling.role for ruling in self.rulings}
        return () if self.closed_by else tuple(r for r in self.change.roles if r not in ruled)

    def ruled_in(self, role: str) -> Ruling | None:
        """The ruling of one role, if it was given."""
        return next((ruling for ruling in self.rulings if ruling.role == role), None)


class ApprovalQueue:
    """Pending changes of a lab, one file each in ``lab/approvals``.

    Parameters
    ----------
    folder : Path
        Made by the first :meth:`submit`.
    patience : float, default 30
        Seconds to wait for another process that is writing.
    """

    def __init__(self, folder: Path, *, patience: float = 30.0) -> None:
        self.folder, self._patience = folder, patience

    def submit(self, change: PendingChange) -> QueueItem:
        """Queue a change; the same proposal again returns what is there, rulings included.

        Raises
        ------
        AuthorityError
            When the id is taken by another candidate, evidence or diff: a person who ruled on
            one must not be taken to have ruled on the other.
        """
        with locked(self.folder / "queue", self._patience):
            known = self._read(change.id)
            if known is None:
                return self._write(QueueItem(change=change))
        if known.change.replace(submitted=change.submitted) != change:
            raise AuthorityError(
                f"proposal {change.id}",
                got="the same id with other content",
                allowed="one id for one candidate on one body of evidence",
                next_step="Submit the new content under its own id.",
            )
        return known

    def decide(self, proposal: str, ruling: Ruling) -> QueueItem:
        """Put a role's ruling on a pending change. The same ruling again changes nothing.

        Raises
        ------
        AuthorityError
            When nothing of that id waits, the change needs no such role, that role ruled
            otherwise, another role closed the change, its approval is for another candidate,
            evidence, role or key, or it would keep files that are not in the change.
        """
        with locked(self.folder / "queue", self._patience):
            item = self._read(proposal)
            if item is None:
                raise _refused(proposal, "an id that is not in the queue",
                               "a submitted proposal", "Submit it first.")  # fmt: skip
            _check_fits(item.change, ruling)
            said = item.ruled_in(ruling.role)
            if said is not None and ruling.repeats(said):
                return item
            standing = said or item.closed_by
            if standing is not None:
                raise _refused(
                    proposal,
                    f"{ruling.act} in role {ruling.role} after {standing.act} by {standing.who} "
                    f"in role {standing.role}",
                    "one ruling a role, and none after a role rejected or narrowed",
                    "Submit the change again under a new id.",
                )
            return self._write(item.replace(rulings=(*item.rulings, ruling)))

    def get(self, proposal: str) -> QueueItem:
        """One item.

        Raises
        ------
        AuthorityError
            When nothing of that id is in the queue.
        """
        item = self._read(proposal)
        if item is None:
            raise _refused(proposal, "an id that is not in the queue",
                           "a submitted proposal", "Submit it first.")  # fmt: skip
        return item

    def items(self) -> list[QueueItem]:
        """Everything ever queued, oldest first."""
        found = [_parsed(path) for path in sorted(self.folder.glob("*.json"))]
        return sorted(found, key=lambda item: (item.change.submitted, item.change.id))

    def pending(self) -> list[QueueItem]:
        """What still waits for a person in at least one role, oldest first."""
        return [item for item in self.items() if item.waits_for]

    def _path(self, proposal: str) -> Path:
        # A digest, so that no proposal can choose a path.
        return self.folder / f"{sha256(proposal.encode()).hexdigest()[:32]}.json"

    def _read(self, proposal: str) -> QueueItem | None:
        path = self._path(proposal)
        return _parsed(path) if path.is_file() else None

    def _write(self, item: QueueItem) -> QueueItem:
        write_atomic(self._path(item.change.id), item.model_dump_json(indent=2).encode())
        return item


def _check_fits(change: PendingChange, ruling: Ruling) -> None:
    if ruling.role not in change.roles:
        raise _refused(change.id, f"a ruling in role {ruling.role}",
                       f"a ruling in role {', '.join(change.roles) or 'none: nobody must sign'}",
                       "Rule in a role that the change needs.")  # fmt: skip
    foreign = sorted(set(ruling.keep) - set(change.footprint.files))
    if foreign:
        raise _refused(change.id, f"files {', '.join(foreign)}",
                       f"files of the change: {', '.join(change.footprint.files)}",
                       "Keep only files that the change edits.")  # fmt: skip
    if ruling.approval is not None:
        text = ruling.approval.text
        if (text.candidate, text.evidence) != (change.candidate, change.evidence):
            raise _refused(change.id, f"an approval of {text.candidate}",
                           f"an approval of {change.candidate} on {change.evidence}",
                           "Sign an approval of this change.")  # fmt: skip
        if (text.role, text.key) != (ruling.role, ruling.key):
            raise _refused(change.id, f"an approval by key {text.key} in role {text.role}",
                           f"one by key {ruling.key or 'none'} in role {ruling.role}, as ruled",
                           "Sign in the role and with the key of the ruling.")  # fmt: skip


def _parsed(path: Path) -> QueueItem:
    try:
        return QueueItem.model_validate_json(path.read_bytes())
    except (OSError, ValidationError) as cause:
        raise StoreError(
            f"approval file {path.name}",
            got=str(cause).splitlines()[0],
            allowed="a file that the approval queue wrote",
            next_step="Move the file away and submit the proposal again.",
        ) from cause


def _refused(proposal: str, got: str, allowed: str, next_step: str) -> AuthorityError:
    return AuthorityError(f"proposal {proposal}", got=got, allowed=allowed, next_step=next_step)
