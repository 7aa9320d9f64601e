"""Promotion = evidence ∧ root policy ∧ authority (LOGOS Eq. 21). Pure: it changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from logoslab.gate.registry import PROMOTING, rule_named
from logoslab.gate.rule import ROUNDING
from logoslab.pack.approval import ApprovalCheck
from logoslab.pack.base import Frozen
from logoslab.pack.decision import Decision
from logoslab.pack.patch import Footprint
from logoslab.pack.policy import RootPolicy

SAFETY_ROLE: Final = "safety_owner"
"""The role that must also sign when an edit touches a safety surface."""


class Leg(Frozen):
    """One conjunct of the promotion rule. It holds exactly when nothing stands against it."""

    holds: bool
    reasons: tuple[str, ...]


class PromotionVerdict(Frozen):
    """B_gate ∧ B_root ∧ B_auth, each with its reasons."""

    gate: Leg
    root: Leg
    authority: Leg

    @property
    def promoted(self) -> bool:
        """Whether the candidate may become live."""
        return self.gate.holds and self.root.holds and self.authority.holds

    @property
    def reasons(self) -> tuple[str, ...]:
        """Everything that stands against promotion; empty when nothing does."""
        legs = (self.gate, self.root, self.authority)
        return tuple(reason for leg in legs if not leg.holds for reason in leg.reasons)


def promote(
    decisions: Sequence[Decision],
    footprint: Footprint,
    policy: RootPolicy,
    approvals: Sequence[ApprovalCheck],
    effects: Sequence[str] = (),
) -> PromotionVerdict:
    """Decide whether a candidate may become live (LOGOS Eqs. 21, 22).

    Parameters
    ----------
    decisions : sequence of Decision
        All decisions on this candidate; each must accept.
    footprint : Footprint
        What the patch touches.
    policy : RootPolicy
    approvals : sequence of ApprovalCheck
        Already verified against this candidate, evidence and policy.
    effects : sequence of str
        Effects that the envelope refused in the candidate's trials, as ``tool:effect``. Any one
        of them stands against promotion, whatever the rules and their parameters say.

    Returns
    -------
    PromotionVerdict
        What is not known to be allowed is refused.
    """
    return PromotionVerdict(
        gate=_leg(_against_gate(decisions, footprint, policy), "every decision accepts"),
        root=_leg(_against_root(footprint, policy, effects), "within the root policy"),
        authority=_leg(
            _against_authority(footprint, policy, approvals), "every required role has signed"
        ),
    )


def _leg(against: list[str], else_reason: str) -> Leg:
    return Leg(holds=not against, reasons=tuple(against) or (else_reason,))


def _against_gate(
    decisions: Sequence[Decision], footprint: Footprint, policy: RootPolicy
) -> list[str]:
    against = [f"{d.rule}: {d.conclusion.value}, {d.reason}" for d in decisions if not d.accepted]
    against += [
        f"{d.rule} is a rule for comparison and carries no promotion"
        for d in decisions
        if d.rule not in PROMOTING
    ]
    against += [reason for d in decisions for reason in _laxer(d, policy)]
    if not decisions:
        against.append("no gate has decided")
    if len({(d.incumbent, d.candidate) for d in decisions}) > 1:
        against.append("the decisions are about different packs")
    if len({d.evidence for d in decisions}) > 1:
        against.append("the decisions rest on different evidence")
    if footprint.safety_surfaces and not any(
        d.rule == "paired" and d.params.get("r_max") == 0 and d.params.get("safety_veto") is True
        for d in decisions
    ):
        against.append("an edit of a safety surface needs a paired decision with r_max 0 and veto")
    return against


# A parameter may differ from the root policy's in the stricter direction only: +1 when larger is
# stricter, −1 when smaller is. Any other parameter must be the policy's own.
_STRICTER: Final = {"delta_min": 1, "r_max": -1, "eps_reg": -1, "rho_max": -1, "m_fail": -1,
                    "level": -1}  # fmt: skip
# Limits that a root policy has no place for and a decision may add.
_ADDED: Final = ("critical_slices", "max_rate", "max_task_loss")


def _laxer(decision: Decision, policy: RootPolicy) -> list[str]:
    """Parameters of a decision that are not as strict as the root policy's own."""
    if decision.rule not in PROMOTING:
        return []
    own = rule_named(decision.rule, policy.evaluator).params
    if own["delta_min"] is None and decision.tasks:
        own["delta_min"] = 1 / decision.tasks  # One task, what the paired gate then uses.
    return [
        f"{decision.rule}: {name} {decision.params.get(name)} is laxer than the root policy's "
        f"{limit}"
        for name, limit in own.items()
        if not _as_strict(name, decision.params.get(name), limit)
    ]


def _as_strict(name: str, got: object, limit: object) -> bool:
    if got == limit:
        return True
    if name in _ADDED and not limit:  # the policy sets none, so each one is stricter
        return bool(got) or got == 0
    both_numbers = isinstance(got, int | float) and isinstance(limit, int | float)
    if name not in _STRICTER or not both_numbers:
        return False
    return _STRICTER[name] * (float(got) - float(limit)) >= -ROUNDING  # type: ignore[arg-type]


def _against_root(footprint: Footprint, policy: RootPolicy, effects: Sequence[str]) -> list[str]:
    against = []
    if footprint.permissions and not policy.permissions.may_expand:
        against.append(f"new permissions: {', '.join(footprint.permissions)}")
    asked = {p.split(":", 1)[1] for p in footprint.permissions if p.startswith("step:")}
    foreign = sorted(
        tool for tool in asked | set(footprint.tools) if not policy.permissions.allows(tool)
    )
    if foreign:
        against.append(f"tools outside the root policy: {', '.join(foreign)}")
    return against + [f"a trial reached for the refused effect {effect}" for effect in effects]


def _against_authority(
    footprint: Footprint, policy: RootPolicy, approvals: Sequence[ApprovalCheck]
) -> list[str]:
    required = dict.fromkeys(policy.approvals.required)
    if footprint.safety_surfaces:
        required[SAFETY_ROLE] = None
    # A check that claims a key the policy does not list for its role counts for nothing.
    listed = policy.approvals.roles
    signed = {c.role for c in approvals if c.valid and c.key in listed.get(c.role, ())}
    against = [_missing(role, policy) for role in required if role not in signed]
    # An approval that failed is worth a line only where one is still needed.
    return against + [
        f"approval of {check.role}: {check.reason}"
        for check in approvals
        if against and not check.valid
    ]


def _missing(role: str, policy: RootPolicy) -> str:
    if role not in policy.approvals.roles:
        return f"role {role} has no key in the root policy"
    return f"no valid approval in role {role}"
