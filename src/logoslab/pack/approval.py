"""Approval: a person's signature over exactly what may become real."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from logoslab.pack.base import Frozen, canonical_json


class ApprovalText(Frozen):
    """What is signed: candidate, evidence and policy digests, scope, role, expiry.

    Attributes
    ----------
    candidate, evidence, policy : str
        Digests. An approval fits one candidate on one body of evidence under one policy.
    scope : str
        ``promote``, ``rollback`` or ``policy``.
    role, key : str
        The role the person acts in and the id of their public key.
    expires : float
        Seconds since the epoch.
    reason : str
        In the person's words.
    """

    candidate: str
    evidence: str
    policy: str
    scope: Literal["promote", "rollback", "policy"] = "promote"
    role: str
    key: str
    issued: float
    expires: float
    reason: str = ""

    def message(self) -> bytes:
        """The bytes that are signed."""
        return canonical_json({"logoslab.approval.v1": self.model_dump(mode="json")})


class Approval(Frozen):
    """A signed :class:`ApprovalText`; ``signature`` is hex Ed25519."""

    text: ApprovalText
    signature: str = Field(pattern=r"^[0-9a-f]{128}$")


class ApprovalCheck(Frozen):
    """Whether one approval authorises one act now, and why not."""

    role: str
    key: str
    valid: bool
    reason: str
