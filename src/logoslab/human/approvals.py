"""Sign an approval, and check whether one authorises one act now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from logoslab.errors import InvalidValue
from logoslab.human.keys import PersonKey
from logoslab.pack.approval import Approval, ApprovalCheck, ApprovalText
from logoslab.pack.policy import RootPolicy
from logoslab.pack.signature import key_id, signature_holds

DAY = 86_400.0
SKEW = 300.0
"""Seconds by which a signer's clock may run ahead."""

Scope = Literal["promote", "rollback", "policy"]


def sign_approval(
    key: PersonKey,
    *,
    role: str,
    candidate: str,
    evidence: str,
    policy: str,
    now: float,
    days: float = 7.0,
    scope: Scope = "promote",
    reason: str = "",
) -> Approval:
    """A person's approval of one candidate on one body of evidence under one policy.

    Parameters
    ----------
    key : PersonKey
    role : str
        The role the person acts in.
    candidate, evidence, policy : str
        Digests. For a rollback the candidate is the pack to go back to.
    now : float
        Seconds since the epoch.
    days : float, default 7
        Lifetime, above 0; the root policy may allow less than is asked here.
    scope : str
    reason : str
        In the person's words.
    """
    if not 0 < days < 3660:
        raise InvalidValue(
            "days", got=days, allowed="a number of days above 0", next_step="Choose a lifetime."
        )
    text = ApprovalText(
        candidate=candidate,
        evidence=evidence,
        policy=policy,
        scope=scope,
        role=role,
        key=key.id,
        issued=now,
        expires=now + days * DAY,
        reason=reason,
    )
    return Approval(text=text, signature=key.sign(text.message()).hex())


def check_approval(
    approval: Approval,
    *,
    candidate: str,
    evidence: str,
    policy: RootPolicy,
    keys: Mapping[str, bytes],
    now: float,
    scope: Scope = "promote",
    policy_digest: str | None = None,
) -> ApprovalCheck:
    """Whether an approval authorises this act, and the first reason why not.

    Parameters
    ----------
    approval : Approval
    candidate, evidence : str
        Digests of what is to be done now.
    policy : RootPolicy
        The pinned policy; its roles say who may sign.
    keys : mapping
        Key id → raw public key, as the lab knows them.
    now : float
        Seconds since the epoch.
    scope : str
    policy_digest : str, optional
        The pinned digest; by default ``policy.digest``.
    """
    text = approval.text
    wanted = (scope, candidate, evidence, policy_digest or policy.digest)
    reason = next(_against(approval, wanted, policy, keys, now), None)
    return ApprovalCheck(
        role=text.role, key=text.key, valid=reason is None, reason=reason or "valid"
    )


def _against(
    approval: Approval,
    wanted: tuple[str, str, str, str],
    policy: RootPolicy,
    keys: Mapping[str, bytes],
    now: float,
) -> Iterator[str]:
    text = approval.text
    scope, candidate, evidence, policy_digest = wanted
    allowed = policy.approvals.roles.get(text.role)
    if allowed is None:
        yield f"unknown role: the root policy has no role {text.role}"
    elif text.key not in allowed:
        yield f"wrong key: {text.key} may not sign as {text.role}"
    public = keys.get(text.key, b"")
    if key_id(public) != text.key:
        yield f"unknown key: the lab has no public key {text.key}"
    elif not signature_holds(public, text.message(), approval.signature):
        yield "bad signature: it was not made with this key over this text"
    if text.scope != scope:
        yield f"other scope: signed for {text.scope}, not {scope}"
    if text.candidate != candidate:
        yield f"other candidate: signed for {text.candidate}"
    if text.evidence != evidence:
        yield f"other evidence: signed for {text.evidence}"
    if text.policy != policy_digest:
        yield f"other policy: signed under {text.policy}"
    if text.issued > now + SKEW:
        yield "not yet valid: it was issued in the future"
    until = min(text.expires, text.issued + policy.approvals.max_age_days * DAY)
    if now >= until:
        yield f"expired {(now - until) / DAY:.1f} days ago"
