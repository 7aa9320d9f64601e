"""Promotion = evidence ∧ root policy ∧ authority; everything else is the identity (Eqs. 21, 22)."""

import pytest

from logoslab.errors import AuthorityError, PolicyError, StoreError
from logoslab.gate import PairedGate
from logoslab.human import new_key, sign_approval
from logoslab.pack.decision import Conclusion
from logoslab.pack.policy import RootPolicy
from tests.lifecycle.make import GRANT, PACK, Bench


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def acts(bench):
    return [record.act for record in bench.lab.parts.audit.records()]


def test_a_good_candidate_with_a_signature_becomes_live(bench):
    """Evidence, policy and approval together change the live pack, and the log says who signed."""
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    assert [d.conclusion for d in decisions] == [Conclusion.ACCEPT] * 2
    approval = bench.approval(candidate, decisions)
    done = bench.lab.promote(decisions, [approval])
    assert (done.promoted, done.reasons) == (True, ())
    assert bench.lab.live == candidate.pack
    record = next(r for r in bench.lab.parts.audit.records() if r.act == "promote")
    assert record.detail["approvals"] == [approval.model_dump(mode="json")]
    assert bench.lab.audit.verify(strict=True).intact


def refusals():
    """(name, what differs from the good case, the reason that must be among those given)."""

    def other_key(b, c, d):
        stranger = new_key("stranger", b.lab.path.parent / "elsewhere")
        return d, [b.approval(c, d, key=stranger)]

    def other_candidate(b, c, d):
        other = b.candidate("Another line.\n")
        return d, [b.approval(other, b.decisions(other))]

    def expired(b, c, d):
        approval = b.approval(c, d, days=1)
        b.clock.time += 86_400 * 2
        return d, [approval]

    def changed_after_signing(b, c, d):
        approval = b.approval(c, d)
        text = approval.text.replace(candidate=c.pack.digest, reason="and more")
        return d, [approval.replace(text=text)]

    return [
        ("nobody signed", lambda b, c, d: (d, []), "no valid approval in role release_owner"),
        ("other key", other_key, "wrong key: "),
        ("other candidate", other_candidate, "other candidate: signed for sha256:"),
        ("other evidence", lambda b, c, d: (d, [b.approval(c, d, evidence="sha256:0")]),
         "other evidence: signed for sha256:0"),
        ("other policy", lambda b, c, d: (d, [b.approval(c, d, policy="sha256:0")]),
         "other policy: signed under sha256:0"),
        ("rollback scope", lambda b, c, d: (d, [b.approval(c, d, scope="rollback")]),
         "other scope: signed for rollback, not promote"),
        ("expired", expired, "expired 1.0 days ago"),
        ("changed after signing", changed_after_signing, "bad signature"),
        ("one gate missing", lambda b, c, d: (d[:1], [b.approval(c, d)]),
         "the root policy requires a decision by anytime"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "spoil", "reason"), refusals(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_one_missing_leg_refuses_and_changes_nothing(bench, name, spoil, reason):
    """Each flaw alone is a recorded refusal with its reason; every live byte is as before."""
    candidate = bench.candidate()
    decisions, approvals = spoil(bench, candidate, bench.decisions(candidate))
    before = bench.bytes()
    done = bench.lab.promote(decisions, approvals)
    assert not done.promoted
    assert any(found.startswith(reason) or reason in found for found in done.reasons)
    assert bench.bytes() == before
    assert bench.lab.live == PACK
    assert acts(bench)[-1] == "refuse"


def test_a_harmful_candidate_cannot_be_signed_in(bench):
    """A person's signature does not turn a rejection into a promotion."""
    candidate = bench.candidate()
    decisions = bench.decisions(candidate, bench.evidence(candidate, gained=5, lost=60))
    done = bench.lab.promote(decisions, [bench.approval(candidate, decisions)])
    assert not done.promoted
    assert done.reasons[0].startswith("paired: reject_harmful")


def test_new_authority_is_refused_by_the_root_policy_even_when_signed(bench):
    """A patch that grants itself authority fails B_root, whatever its evidence and approvals."""
    candidate = bench.candidate("Submit at once.\n", GRANT)
    decisions = bench.decisions(candidate)
    done = bench.lab.promote(decisions, [bench.approval(candidate, decisions)])
    assert not done.promoted
    assert "new permissions: authority:submit" in done.reasons


def test_a_decision_that_this_lab_did_not_make_is_no_evidence(bench):
    """A decision edited by hand, or made elsewhere, is an authority error before anything runs."""
    candidate = bench.candidate()
    decisions = bench.decisions(candidate, bench.evidence(candidate, gained=1))
    forged = [d.replace(conclusion=Conclusion.ACCEPT) for d in decisions]
    with pytest.raises(AuthorityError, match="got decisions not on this lab's record: anytime"):
        bench.lab.promote(forged, [bench.approval(candidate, decisions)])


def test_a_candidate_judged_against_an_older_incumbent_is_refused(bench):
    """After another promotion the evidence is about a comparison that no longer matters."""
    first, second = bench.candidate("One.\n"), bench.candidate("Two.\n")
    decisions = bench.decisions(second)
    assert bench.promote(first).promoted
    done = bench.lab.promote(decisions, [bench.approval(second, decisions)])
    assert done.reasons == ("the candidate was judged against a pack that is not live any more",)


def test_laxer_parameters_than_the_policys_are_refused(bench):
    """A decision made with a larger regression budget carries no promotion."""
    candidate = bench.candidate()
    evidence = bench.evidence(candidate, gained=110, lost=3)
    lax = [
        bench.lab.gate(candidate, "paired", evidence=evidence, r_max=5),
        bench.lab.gate(candidate, "anytime", evidence=evidence),
    ]
    done = bench.lab.promote(lax, [bench.approval(candidate, lax)])
    assert "paired: r_max 5 is laxer than the root policy's 1" in done.reasons


def signed_rollback(bench, **changes):
    live = bench.lab.parts.releases.live
    stated = {
        "role": "release_owner",
        "candidate": live.previous,
        "evidence": live.pack,
        "policy": bench.lab.policy.digest,
        "now": bench.clock.now(),
        "scope": "rollback",
    }
    return sign_approval(bench.key, **(stated | changes))


def test_rollback_restores_every_byte_and_the_approval_fits_again(bench):
    """Back, and forward again with the same signature: same candidate, evidence, incumbent."""
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    approval = bench.approval(candidate, decisions)
    bench.lab.promote(decisions, [approval])
    assert bench.lab.rollback([signed_rollback(bench)], "worse in practice").promoted
    assert bench.lab.live == PACK
    assert bench.lab.promote(decisions, [approval]).promoted


def test_rollback_needs_its_own_signature(bench):
    """A promotion's approval does not authorise going back."""
    bench.promote()
    live = bench.lab.live
    done = bench.lab.rollback([signed_rollback(bench, scope="promote")], "no")
    assert not done.promoted
    assert (
        "approval of release_owner: other scope: signed for promote, not rollback" in done.reasons
    )
    assert bench.lab.live == live


def test_there_is_nothing_before_the_first_release(bench):
    """Rollback of a lab with one release says so."""
    with pytest.raises(StoreError, match="got a lab without an earlier release"):
        bench.lab.rollback([], "why")


def test_a_new_candidate_after_a_rollback_gets_a_free_version(bench):
    """The withdrawn release owns agent/lead@2, so the next change is lead@3."""
    bench.promote()
    bench.lab.rollback([signed_rollback(bench)], "withdrawn")
    other = bench.candidate("Another way.\n")
    assert other.pack.component_of("agents/lead.md") == "agent/lead@3"
    assert bench.promote(other).promoted


def test_the_root_policy_changes_only_by_its_owners_signature(bench):
    """Unsigned it stays; signed it is pinned anew and the audit log says so."""
    new = RootPolicy(objective="stricter", approvals=bench.lab.policy.approvals)
    with pytest.raises(AuthorityError, match=r"change of the root policy: .*; got no approval"):
        bench.lab.change_policy(new, [])
    old = bench.lab.policy.digest
    signed = sign_approval(
        bench.key, role="policy_owner", candidate=new.digest, evidence=old, policy=old,
        now=bench.clock.now(), scope="policy",
    )  # fmt: skip
    assert bench.lab.change_policy(new, [signed]).objective == "stricter"
    assert acts(bench)[-1] == "policy"


def test_a_policy_file_edited_by_hand_is_not_opened(tmp_path):
    """The pinned digest is what counts; the message says how to change a policy."""
    bench = Bench(tmp_path)
    path = bench.lab.path / "root_policy.toml"
    path.write_text(path.read_text().replace("r_max = 1", "r_max = 99"))
    with pytest.raises(PolicyError, match=r"changes by `Lab\.change_policy` and an approval"):
        type(bench.lab)(bench.lab.path, model="embedded")


class Yes(PairedGate):
    """A rule object that takes a shipped name and accepts everything."""

    def decide(self, evidence):
        return super().decide(evidence).replace(conclusion=Conclusion.ACCEPT)


def test_a_rule_that_borrows_a_name_carries_no_promotion(bench):
    """Decisions are made again from the evidence before they count."""
    candidate = bench.candidate()
    evidence = bench.evidence(candidate, gained=1, lost=50)
    decisions = [
        bench.lab.gate(candidate, Yes(delta_min=0.05, r_max=1), evidence=evidence),
        bench.lab.gate(candidate, "anytime", evidence=evidence),
    ]
    done = bench.lab.promote(decisions, [bench.approval(candidate, decisions)])
    assert "paired: the rule does not conclude this from the evidence" in done.reasons


def test_an_anytime_gate_at_a_level_of_ones_own_carries_no_promotion(bench):
    """A level that the ledger did not price would be an error budget without an account."""
    candidate = bench.candidate()
    evidence = bench.evidence(candidate)
    decisions = [
        bench.lab.gate(candidate, "paired", evidence=evidence),
        bench.lab.gate(candidate, "anytime", evidence=evidence, level=0.05),
    ]
    done = bench.lab.promote(decisions, [bench.approval(candidate, decisions)])
    assert done.reasons == (
        "anytime: its level was not fixed by the ledger before the gate looked",
    )


def test_imported_evidence_needs_the_policys_leave(tmp_path):
    """By default only evidence from this lab's own trials carries a promotion."""
    rules = {"rules": ("paired", "anytime"), "delta_min": 0.05, "r_max": 1}
    bench = Bench(tmp_path, evaluator=rules)
    done = bench.promote()
    assert done.reasons == ("the evidence was not measured by this lab's own trials",)
