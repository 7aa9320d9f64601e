"""Desk: where one person sees what waits for them and signs, in a role, with their own key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

from logoslab.errors import AuthorityError, EvidenceError
from logoslab.files import locked
from logoslab.gate import SAFETY_ROLE
from logoslab.human import (
    ApprovalQueue,
    PendingChange,
    PersonKey,
    QueueItem,
    Ruling,
    risk_of,
    sign_approval,
)
from logoslab.human.approvals import Scope
from logoslab.lifecycle.candidate import Candidate, make_candidate
from logoslab.lifecycle.parts import Parts, how_to_change
from logoslab.pack.approval import Approval
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.policy import RootPolicy

Choice = Literal["approve", "reject", "narrow"]
RULING = "ruling"


class Desk:
    """A person's view of a lab's approval queue. The key stays in the person's own process.

    Parameters
    ----------
    parts : Parts
    queue : ApprovalQueue
    key : PersonKey
    role : str
        The role the person signs in.
    days : float
        Lifetime of an approval.
    """

    def __init__(
        self, parts: Parts, queue: ApprovalQueue, key: PersonKey, role: str, days: float = 7.0
    ) -> None:
        self._parts, self._queue, self.key, self.role, self.days = parts, queue, key, role, days

    def pending(self) -> list[PendingChange]:
        """What still waits for this desk's role, oldest first."""
        return [i.change for i in self._queue.pending() if self.role in i.waits_for]

    def decide(self, id: str, choice: Choice, reason: str, keep: Sequence[str] = ()) -> QueueItem:
        """Rule on one pending change; to approve is to sign. The same ruling again is harmless.

        Raises
        ------
        AuthorityError
            When the root policy does not list the key for the desk's role, or the queue refuses
            the ruling. Nothing is written.
        """
        self._require_listed()
        change = self._queue.get(id).change
        if choice == "approve":
            require_true(self._parts, change)
        signed = self._sign("promote", change.candidate, change.evidence, reason)
        ruling = Ruling(
            act=choice,
            reason=reason,
            who=self.key.name,
            role=self.role,
            key=self.key.id,
            at=signed.text.issued,
            keep=tuple(keep),
            approval=signed if choice == "approve" else None,
        )
        item = self._queue.decide(id, ruling)
        record_rulings(self._parts, self._queue)
        unsigned = self._parts.audit.head().unsigned
        known = self.key.id in self._parts.public_keys
        if known and unsigned > self._parts.policy.audit.checkpoint_every:
            self._parts.audit.checkpoint(self.key.id, self.key.sign)
        return item

    def sign_rollback(self, reason: str) -> Approval:
        """An approval of going back from the live pack to the one before it, for `Lab.rollback`.

        Raises
        ------
        AuthorityError
            When the root policy does not list the key for the desk's role.
        StoreError
            When there is nothing to go back to.
        """
        self._require_listed()
        previous, live = self._parts.releases.to_undo()
        return self._sign("rollback", previous, live, reason)

    def _require_listed(self) -> None:
        roles = self._parts.policy.approvals.roles
        if self.key.id not in roles.get(self.role, ()):
            may = [role for role, keys in roles.items() if self.key.id in keys]
            raise AuthorityError(
                f"desk of {self.role}",
                got=f"key {self.key.id}, listed for {', '.join(may) or 'no role'}",
                allowed="a key that the root policy lists for this role: "
                + (", ".join(roles.get(self.role, ())) or "none"),
                next_step="Sit at the desk of a role that lists the key, or add it to the policy. "
                + how_to_change(self._parts.policy),
            )

    def _sign(self, scope: Scope, candidate: str, evidence: str, reason: str) -> Approval:
        return sign_approval(
            self.key,
            role=self.role,
            candidate=candidate,
            evidence=evidence,
            policy=self._parts.policy.digest,
            now=self._parts.clock.now(),
            days=self.days,
            scope=scope,
            reason=reason,
        )


def record_rulings(parts: Parts, queue: ApprovalQueue) -> None:
    """Put every ruling of the queue that the audit log does not name yet on record.

    A process may die between the queue and the log, and its person may not come back; so whoever
    comes next does this for all.
    """
    with locked(parts.folder / RULING):
        logged = [r.detail for r in parts.audit.records() if r.act == RULING]
        named = {(d.get("proposal"), d.get("role")) for d in logged}
        for item in queue.items():
            for ruling in item.rulings:
                if (item.change.id, ruling.role) not in named:
                    said = ruling.model_dump(mode="json", exclude={"approval"})
                    parts.audit.append(
                        RULING, item.change.candidate, {"proposal": item.change.id, **said}
                    )


def require_true(parts: Parts, change: PendingChange) -> None:
    """Refuse to sign a queue file that does not say what the lab's own records say.

    A person signs digests but reads words. The words are made again here, from the patch, the
    pack it was written on, the evidence and the decisions on record.

    Raises
    ------
    AuthorityError
    """
    found = [c for c in parts.candidates.all(Candidate) if c.pack.digest == change.candidate]
    evidence = parts.evidence.get(change.evidence, Evidence)
    made = [parts.decisions.get(d, Decision) for d in _on_record(parts, change)]
    recorded = [(d.rule, _summary(d)) for d in made]
    for candidate in found:
        base = parts.archive.get_pack(candidate.patch.base)
        fresh = make_candidate(candidate.patch, base, parts.policy, lambda pack: pack)
        told = pending_change(fresh, made, evidence, parts.policy, change.submitted)
        shown = change.replace(
            id=told.id, candidate=told.candidate, risk=told.risk, summary=told.summary
        )
        honest = all((rule, said) in recorded for rule, said in change.summary.items())
        severe = _SEVERITY[change.risk] >= _SEVERITY[told.risk]
        if shown == told and honest and severe and fresh.pack.files == candidate.pack.files:
            return
    raise AuthorityError(
        f"proposal {change.id}",
        got="a queue file that differs from the lab's records",
        allowed="the title, diff, footprint, effects and decisions that the lab recorded",
        next_step="Do not sign it. Gate the candidate and request its approval again.",
    )


_SEVERITY = {"low": 0, "medium": 1, "high": 2}


def _on_record(parts: Parts, change: PendingChange) -> list[str]:
    """Digests of the decisions that the audit log names for this candidate and evidence."""
    gates = [r for r in parts.audit.records() if r.act == "gate" and r.subject == change.candidate]
    return [str(r.detail["decision"]) for r in gates if r.detail["evidence"] == change.evidence]


def judged_evidence(candidate: Candidate, decisions: Sequence[Decision]) -> str:
    """Digest of the one body of evidence that the decisions on a candidate rest on.

    Raises
    ------
    EvidenceError
        Without a decision, or when they are about another candidate or several bodies of evidence.
    """
    about = {(decision.candidate, decision.evidence) for decision in decisions}
    if len(about) != 1 or decisions[0].candidate != candidate.pack.digest:
        others = sorted({d.candidate for d in decisions} - {candidate.pack.digest})
        raise EvidenceError(
            f"decisions on candidate {candidate.title!r}",
            got=f"decisions about {', '.join(others)}"
            if others
            else f"{len(decisions)} decisions on {len(about)} bodies of evidence",
            allowed="at least one decision, all about this candidate on one body of evidence",
            next_step="Gate the candidate first and pass the decisions that `Lab.gate` returned.",
        )
    return decisions[0].evidence


def pending_change(
    candidate: Candidate,
    decisions: Sequence[Decision],
    evidence: Evidence,
    policy: RootPolicy,
    now: float,
) -> PendingChange:
    """What a person sees of a gated candidate: diff, risk, footprint, decisions, effects.

    It waits for every role that a promotion of it would need.
    """
    roles = dict.fromkeys(policy.approvals.required)
    if candidate.footprint.safety_surfaces:
        roles[SAFETY_ROLE] = None
    mean = next(
        (d.numbers["mean_difference"] for d in decisions if "mean_difference" in d.numbers), None
    )
    return PendingChange(
        # The policy belongs to it: under another one people must see and sign it again.
        id=f"{candidate.pack.digest}:{evidence.digest}:{policy.digest[7:23]}",
        candidate=candidate.pack.digest,
        evidence=evidence.digest,
        title=candidate.title,
        diff=candidate.diff,
        risk=risk_of(candidate.footprint, len(candidate.patch.edits), mean),
        footprint=candidate.footprint,
        summary={d.rule: _summary(d) for d in decisions},
        effects=evidence.effects,
        submitted=now,
        roles=tuple(roles),
    )


def _summary(decision: Decision) -> dict[str, JsonValue]:
    return {
        "conclusion": decision.conclusion.value,
        "reason": decision.reason,
        "tasks": decision.tasks,
        **decision.numbers,
    }
