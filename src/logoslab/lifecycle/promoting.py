"""Promoting: decision ∧ root policy ∧ approvals, then one atomic change; and the way back."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from logoslab.errors import AuthorityError
from logoslab.gate import Leg, PromotionVerdict, promote
from logoslab.human import check_approval
from logoslab.human.approvals import Scope
from logoslab.lifecycle.candidate import Candidate
from logoslab.lifecycle.gating import Gating
from logoslab.lifecycle.parts import POLICY_OWNER, Parts, pin_policy
from logoslab.pack.approval import Approval, ApprovalCheck
from logoslab.pack.base import Frozen
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.policy import RootPolicy

PROMOTE, REFUSE, ROLLBACK, ACTIVATE = "promote", "refuse", "rollback", "activate"


class Promotion(Frozen):
    """What came of asking for a release act.

    Attributes
    ----------
    promoted : bool
        Whether the live pack changed.
    reasons : tuple of str
        Everything that stood against it; empty when promoted.
    live : str or None
        Digest of the live pack now.
    """

    promoted: bool
    reasons: tuple[str, ...]
    live: str | None


class Promoting:
    """The release desk of a lab. Only here do a decision, the policy and approvals meet."""

    def __init__(self, parts: Parts, gating: Gating) -> None:
        self._parts, self._gating = parts, gating

    def promote(self, decisions: Sequence[Decision], approvals: Sequence[Approval]) -> Promotion:
        """Make the candidate of these decisions live, if everything holds (LOGOS Eqs. 21, 22).

        Returns
        -------
        Promotion
            A refusal is a normal answer: it is recorded with its reasons and the live pack is
            byte-identical.

        Raises
        ------
        AuthorityError
            When a decision was not made by this lab: evidence is not a claim.
        """
        candidate, evidence = self._subject(decisions)
        incumbent = self._parts.archive.get_pack(candidate.patch.base)
        checks = self._checks(approvals, candidate.pack.digest, evidence.digest, "promote")
        footprint = candidate.patch.footprint(incumbent, self._parts.policy)
        verdict = promote(decisions, footprint, self._parts.policy, checks, evidence.effects)
        verdict = self._with_lab_facts(verdict, decisions, evidence)
        if candidate.patch.apply(incumbent).files != candidate.pack.files:
            # The footprint speaks of the patch; what would go live must be that and nothing else.
            verdict = verdict.replace(root=Leg(holds=False, reasons=("the pack is not the patch",)))
        if candidate.patch.base != decisions[0].incumbent:
            stale = ("the patch was written on another pack than it was judged against",)
            verdict = verdict.replace(root=Leg(holds=False, reasons=stale))
        if not verdict.promoted:
            return self._refuse(candidate.pack.digest, verdict.reasons, PROMOTE)
        detail = _signed(approvals) | {
            "decisions": [d.digest for d in decisions],
            "evidence": evidence.digest,
        }
        self._parts.releases.make_live(candidate.pack, decisions[0].incumbent, PROMOTE, detail)
        return Promotion(promoted=True, reasons=(), live=candidate.pack.digest)

    def rollback(self, approvals: Sequence[Approval], reason: str) -> Promotion:
        """Make the pack before the live one live again. External effects stay as they are.

        Each required role signs scope ``rollback`` over (the pack to go back to, the live pack,
        the policy).
        """
        previous, live = self._parts.releases.to_undo()
        checks = self._checks(approvals, previous, live, "rollback")
        signed = {check.role for check in checks if check.valid}
        missing = [r for r in self._parts.policy.approvals.required if r not in signed]
        if missing:
            reasons = [f"no valid rollback approval in role {role}" for role in missing]
            reasons += [f"approval of {c.role}: {c.reason}" for c in checks if not c.valid]
            return self._refuse(previous, reasons, ROLLBACK)
        pack = self._parts.archive.get_pack(previous)
        self._parts.releases.make_live(
            pack, live, ROLLBACK, _signed(approvals) | {"reason": reason}
        )
        return Promotion(promoted=True, reasons=(), live=pack.digest)

    def change_policy(self, new: RootPolicy, approvals: Sequence[Approval]) -> RootPolicy:
        """Replace the root policy: a signed event by its owner role.

        The role ``policy_owner`` signs scope ``policy`` over (the new policy's digest, the old
        one's, the old one's).

        Raises
        ------
        AuthorityError
            Without a valid approval. The policy stays.
        """
        old = self._parts.policy
        checks = self._checks(approvals, new.digest, old.digest, "policy")
        if not any(check.valid and check.role == POLICY_OWNER for check in checks):
            said = "; ".join(f"{c.role}: {c.reason}" for c in checks) or "no approval"
            raise AuthorityError(
                "change of the root policy",
                got=said,
                allowed=f"an approval in role {POLICY_OWNER} of {new.digest} over {old.digest}",
                next_step="Let the owner sign with scope 'policy'.",
            )
        pin_policy(self._parts.folder, new, self._parts.audit, "signed change")
        return new

    def _subject(self, decisions: Sequence[Decision]) -> tuple[Candidate, Evidence]:
        """The one candidate and evidence that the decisions are about, from the lab's own files."""
        self._gating.require_known(decisions)
        about = {(d.candidate, d.evidence) for d in decisions}
        if len(about) != 1:
            raise AuthorityError(
                "promotion",
                got=f"decisions about {len(about)} candidates or bodies of evidence",
                allowed="decisions that `Lab.gate` returned, about one candidate and its evidence",
                next_step="Gate the candidate in this lab first.",
            )
        evidence = self._parts.evidence.get(decisions[0].evidence, Evidence)
        return self._gating.candidate_of(decisions[0]), evidence

    def _with_lab_facts(
        self, verdict: PromotionVerdict, decisions: Sequence[Decision], evidence: Evidence
    ) -> PromotionVerdict:
        """Add what only the lab knows: its records, the rules required, and what is live now."""
        against = [] if verdict.gate.holds else list(verdict.gate.reasons)
        against += dict.fromkeys(r for d in decisions for r in self._gating.against(d, evidence))
        have = {d.rule for d in decisions}
        against += [
            f"the root policy requires a decision by {rule}"
            for rule in self._parts.policy.evaluator.rules
            if rule not in have
        ]
        live = self._parts.releases.live
        if live is None or live.pack != decisions[0].incumbent:
            against.append("the candidate was judged against a pack that is not live any more")
        if not against:
            return verdict
        return verdict.replace(gate=Leg(holds=False, reasons=tuple(against)))

    def _checks(
        self, approvals: Sequence[Approval], candidate: str, evidence: str, scope: Scope
    ) -> list[ApprovalCheck]:
        return [
            check_approval(
                approval,
                candidate=candidate,
                evidence=evidence,
                policy=self._parts.policy,
                keys=self._parts.public_keys,
                now=self._parts.clock.now(),
                scope=scope,
            )
            for approval in approvals
        ]

    def _refuse(self, subject: str, reasons: Sequence[str], act: str) -> Promotion:
        self._parts.audit.append(REFUSE, subject, {"act": act, "reasons": list(reasons)})
        live = self._parts.releases.live
        return Promotion(promoted=False, reasons=tuple(reasons), live=live.pack if live else None)


def _signed(approvals: Sequence[Approval]) -> dict[str, JsonValue]:
    return {"approvals": [a.model_dump(mode="json") for a in approvals]}
