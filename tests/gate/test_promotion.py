"""Promotion holds only when evidence, root policy and authority all do."""

from __future__ import annotations

from typing import Any

import pytest

from logoslab.gate import promote
from logoslab.pack.approval import ApprovalCheck
from logoslab.pack.decision import Conclusion
from logoslab.pack.patch import Footprint
from logoslab.pack.policy import RootPolicy
from tests.gate.make import decision

POLICY = RootPolicy.model_validate(
    {
        "objective": "review exceptions",
        "evaluator": {"delta_min": 0.05},
        "permissions": {"tools": ["draft"]},
        "approvals": {"roles": {"release_owner": ["k1"], "safety_owner": ["k2"]}},
        "effects": {
            "allowed": ["read_only", "transactional_write"],
            "needs_authority": ["submit"],
            "forbidden": ["wipe"],
        },
    }
)
PLAIN = Footprint(files=("tools/draft.json",), tools=("draft",))
SIGNED = ApprovalCheck(role="release_owner", key="k1", valid=True, reason="valid")
SAFETY = Footprint(files=("verifiers.json",), safety_surfaces=("verifiers.json",))


def judged(**changes: Any) -> tuple[bool, tuple[str, ...]]:
    """The verdict with everything in order but what is named."""
    values: dict[str, Any] = {
        "decisions": [decision()],
        "footprint": PLAIN,
        "policy": POLICY,
        "approvals": [SIGNED],
        "effects": [],
    }
    verdict = promote(**{**values, **changes})
    return verdict.promoted, verdict.reasons


def test_everything_in_order_promotes() -> None:
    """Three legs hold and nothing stands against them."""
    assert judged() == (True, ())


@pytest.mark.parametrize(
    "added", [{"critical_slices": ["core"]}, {"max_rate": 0.0}, {"max_task_loss": 0.5}]
)
def test_a_limit_beside_those_of_the_policy_is_no_laxity(added: dict[str, Any]) -> None:
    """A critical slice, a largest share and a largest loss only make the paired gate stricter."""
    assert judged(decisions=[decision(params=added)]) == (True, ())


REFUSALS: list[tuple[dict[str, Any], str]] = [
    ({"decisions": []}, "no gate has decided"),
    (
        {"decisions": [decision(), decision(conclusion=Conclusion.UNDECIDED, reason="ran out")]},
        "paired: undecided, ran out",
    ),
    (
        {"decisions": [decision(rule="accept_all")]},
        "accept_all is a rule for comparison and carries no promotion",
    ),
    (
        {"decisions": [decision(params={"r_max": 1, "delta_min": 0.1})]},
        "paired: r_max 1 is laxer than the root policy's 0",
    ),
    (
        {"decisions": [decision(params={"delta_min": 0.01})]},
        "paired: delta_min 0.01 is laxer than the root policy's 0.05",
    ),
    (
        {"decisions": [decision(rule="anytime", params={"level": 0.2})]},
        "anytime: level 0.2 is laxer than the root policy's 0.05",
    ),
    (
        {"decisions": [decision(), decision(candidate="sha256:other")]},
        "the decisions are about different packs",
    ),
    (
        {"decisions": [decision(), decision(evidence="sha256:other")]},
        "the decisions rest on different evidence",
    ),
    (
        {"footprint": Footprint(files=("genome.json",), permissions=("authority:submit",))},
        "new permissions: authority:submit",
    ),
    (
        {"footprint": Footprint(files=("tools/mail.json",), tools=("mail",))},
        "tools outside the root policy: mail",
    ),
    (
        {"effects": ["submit:external_side_effect"]},
        "a trial reached for the refused effect submit:external_side_effect",
    ),
    (
        {"footprint": PLAIN, "policy": POLICY.replace(permissions={"tools": []})},
        "tools outside the root policy: draft",
    ),
    (
        {"decisions": [decision(params={"safety_veto": False})]},
        "paired: safety_veto False is laxer than the root policy's True",
    ),
    (
        {"decisions": [decision(rule="anytime", params={"alpha": 1e-12})]},
        "anytime: alpha 1e-12 is laxer than the root policy's 0.05",
    ),
    (
        {"decisions": [decision(params={"metric": "easy"})]},
        "paired: metric easy is laxer than the root policy's score",
    ),
    ({"approvals": []}, "no valid approval in role release_owner"),
    (
        {"policy": RootPolicy.model_validate({**POLICY.model_dump(), "approvals": {}})},
        "role release_owner has no key in the root policy",
    ),
]


@pytest.mark.parametrize(("change", "reason"), REFUSALS, ids=[r for _, r in REFUSALS])
def test_one_thing_out_of_order_refuses(change: dict[str, Any], reason: str) -> None:
    """Each single fault refuses promotion, for exactly its own reason."""
    assert judged(**change) == (False, (reason,))


def test_an_invalid_approval_is_named_beside_what_is_missing() -> None:
    """An expired signature does not count, and its reason is shown."""
    expired = SIGNED.replace(valid=False, reason="expired")
    assert judged(approvals=[expired]) == (
        False,
        ("no valid approval in role release_owner", "approval of release_owner: expired"),
    )
    assert judged(approvals=[expired, SIGNED]) == (True, ())


def test_a_safety_edit_needs_the_strict_gate_and_its_role() -> None:
    """R_max = 0 with the veto on, and the safety owner's signature besides the usual one."""
    also = ApprovalCheck(role="safety_owner", key="k2", valid=True, reason="valid")
    assert judged(footprint=SAFETY) == (False, ("no valid approval in role safety_owner",))
    assert judged(footprint=SAFETY, approvals=[SIGNED, also]) == (True, ())
    lax = decision(rule="anytime", params={"level": 0.01})
    assert judged(footprint=SAFETY, approvals=[SIGNED, also], decisions=[lax]) == (
        False,
        ("an edit of a safety surface needs a paired decision with r_max 0 and veto",),
    )


def test_every_tool_is_allowed_by_a_star_and_none_by_an_empty_list() -> None:
    """One reading of permissions.tools, for promotion as for running."""
    star = POLICY.replace(permissions={"tools": ["*"]})
    assert judged(policy=star) == (True, ())
    assert [star.permissions.allows("x"), POLICY.permissions.allows("x")] == [True, False]
