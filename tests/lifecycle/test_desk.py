"""The desk: who may rule in which role, what waits for whom, what is on record."""

import asyncio

import pytest

from logoslab.errors import AuthorityError, EvidenceError, StoreError
from logoslab.gate import SAFETY_ROLE
from logoslab.human import new_key
from logoslab.lifecycle.candidate import make_candidate
from logoslab.lifecycle.lab import Lab
from logoslab.pack.patch import AddField, Append, Patch
from logoslab.pack.task import Task
from logoslab.testing.models import ScriptedModel
from tests.lifecycle.make import PACK, Bench


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def asked(bench, *edits):
    """A candidate that waits for its people."""
    candidate = bench.candidate("Be brief.\n", *edits)
    return candidate, bench.lab.request_approval(candidate, bench.decisions(candidate)).change


def rulings(bench):
    return [r for r in bench.lab.parts.audit.records() if r.act == "ruling"]


def two_roles(tmp_path):
    """A lab whose policy knows a safety owner, and that person's key."""
    owner, safety = (new_key(name, tmp_path / "people") for name in ("owner", "safety"))
    roles = {"release_owner": (owner.id,), SAFETY_ROLE: (safety.id,)}
    bench = Bench(tmp_path, approvals={"roles": roles})
    bench.key = owner
    for key in (owner, safety):
        bench.lab.add_key(key.public)
    return bench, safety


SAFETY_EDIT = AddField(path="genome.json", pointer="/safety/note", value="careful")


def test_a_safety_edit_waits_for_both_roles_and_each_desk_sees_its_own(tmp_path):
    """The change leaves the release owner's desk when they sign and stays on the safety owner's."""
    bench, safety = two_roles(tmp_path)
    candidate, change = asked(bench, SAFETY_EDIT)
    assert change.roles == ("release_owner", SAFETY_ROLE)
    desks = bench.lab.desk(bench.key), bench.lab.desk(safety, SAFETY_ROLE)
    assert [len(desk.pending()) for desk in desks] == [1, 1]
    desks[0].decide(change.id, "approve", "read it")
    assert [len(desk.pending()) for desk in desks] == [0, 1]
    desks[1].decide(change.id, "approve", "safe")
    assert [len(desk.pending()) for desk in desks] == [0, 0]
    signed = bench.lab.approvals(candidate)
    assert [(a.text.role, a.text.key) for a in signed] == [
        ("release_owner", bench.key.id), (SAFETY_ROLE, safety.id)
    ]  # fmt: skip
    assert [(r.detail["role"], r.detail["key"]) for r in rulings(bench)] == [
        ("release_owner", bench.key.id), (SAFETY_ROLE, safety.id)
    ]  # fmt: skip


def test_an_ordinary_edit_waits_for_the_policys_roles_only(bench):
    """Without a safety surface nobody but the required roles is asked."""
    assert asked(bench)[1].roles == ("release_owner",)


@pytest.mark.parametrize("choice", ["approve", "reject", "narrow"])
def test_a_key_that_the_policy_does_not_list_rules_nothing(bench, tmp_path, choice):
    """Another person's key, or the right key at another role's desk: refused, nothing written."""
    _, change = asked(bench)
    stranger = new_key("stranger", tmp_path / "elsewhere")
    log = (bench.lab.path / "audit.jsonl").read_bytes()
    with pytest.raises(AuthorityError) as caught:
        bench.lab.desk(stranger).decide(change.id, choice, "mine", change.footprint.files)
    assert str(caught.value) == (
        "desk of release_owner: allowed a key that the root policy lists for this role: "
        f"{bench.key.id}; got key {stranger.id}, listed for no role. Sit at the desk of a role "
        "that lists the key, or add it to the policy. Change it with `Lab.change_policy` "
        "and an approval in its role policy_owner."
    )
    with pytest.raises(AuthorityError, match="listed for release_owner, policy_owner"):
        bench.lab.desk(bench.key, SAFETY_ROLE).decide(change.id, choice, "mine")
    assert bench.lab.queue.get(change.id).rulings == ()
    assert (bench.lab.path / "audit.jsonl").read_bytes() == log


def test_a_repeated_ruling_changes_nothing(bench):
    """The same word later: one ruling, one record, and the first signature."""
    _, change = asked(bench)
    desk = bench.lab.desk(bench.key)
    first = desk.decide(change.id, "approve", "read it")
    bench.clock.time += 60
    assert desk.decide(change.id, "approve", "read it") == first
    assert len(rulings(bench)) == 1


@pytest.mark.parametrize("comes_next", ["the person", "another ruling", "the promotion"])
def test_a_ruling_whose_record_was_cut_off_is_recorded_by_whoever_comes_next(
    bench, monkeypatch, comes_next
):
    """A process that dies between queue and log loses nothing: the record follows, once."""
    candidate, change = asked(bench)
    other = bench.candidate("Another.\n")
    decisions = bench.decisions(candidate)
    second = bench.lab.request_approval(other, bench.decisions(other)).change
    desk = bench.lab.desk(bench.key)

    def dies(*args):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(bench.lab.parts.audit, "append", dies)
        with pytest.raises(KeyboardInterrupt):
            desk.decide(change.id, "approve", "read it")
    assert rulings(bench) == []
    if comes_next == "the person":
        desk.decide(change.id, "approve", "read it")
    elif comes_next == "another ruling":
        desk.decide(second.id, "reject", "no")
    else:
        assert bench.lab.promote(decisions, bench.lab.approvals(candidate)).promoted
    record = rulings(bench)[0]
    assert record.subject == candidate.pack.digest
    assert record.detail == {
        "proposal": change.id, "act": "approve", "reason": "read it", "who": "owner",
        "role": "release_owner", "key": bench.key.id, "at": bench.clock.now(), "keep": [],
    }  # fmt: skip
    assert sum(r.detail["proposal"] == change.id for r in rulings(bench)) == 1


def test_a_key_that_the_lab_does_not_know_signs_no_checkpoint(tmp_path):
    """A listed person whose public key is missing rules, and the log stays verifiable."""
    bench = Bench(tmp_path, audit={"checkpoint_every": 1})
    _, change = asked(bench)
    (bench.lab.path / "keys" / f"{bench.key.id}.pub").unlink()
    bench.lab.desk(bench.key).decide(change.id, "reject", "no")
    assert bench.lab.audit.verify(strict=True).checkpoints == 0
    log = (bench.lab.path / "audit.jsonl").read_bytes()
    with pytest.raises(AuthorityError) as caught:
        bench.lab.audit.checkpoint(bench.key)
    assert str(caught.value) == (
        "checkpoint of the audit log: allowed a key that this lab knows: none yet; "
        f"got key {bench.key.id}. Let the lab know the person's public key with `Lab.add_key`."
    )
    assert (bench.lab.path / "audit.jsonl").read_bytes() == log
    assert bench.lab.add_key(bench.key.public) == bench.key.id
    bench.lab.audit.checkpoint(bench.key)
    assert bench.lab.audit.verify(strict=True).checkpoints == 1


def test_a_rollback_signed_at_the_desk_is_enough(bench, tmp_path):
    """The desk knows what goes back to what; a stranger and an empty history are refused."""
    with pytest.raises(StoreError, match="got a lab without an earlier release"):
        bench.lab.desk(bench.key).sign_rollback("why")
    bench.promote()
    with pytest.raises(AuthorityError, match="desk of release_owner"):
        bench.lab.desk(new_key("eve", tmp_path / "eve")).sign_rollback("mine")
    signed = bench.lab.desk(bench.key).sign_rollback("worse in practice")
    assert (signed.text.scope, signed.text.reason) == ("rollback", "worse in practice")
    assert bench.lab.rollback([signed], "worse in practice").promoted
    assert bench.lab.live == PACK


def test_nothing_is_put_before_people_without_decisions_on_it(bench):
    """No decision, another candidate's, or two bodies of evidence: said, and nothing queued."""
    candidate, other = bench.candidate("One.\n"), bench.candidate("Two.\n")
    with pytest.raises(EvidenceError) as caught:
        bench.lab.request_approval(candidate, [])
    assert str(caught.value) == (
        "decisions on candidate \"add 'One.\\\\n'\": allowed at least one decision, all about this "
        "candidate on one body of evidence; got 0 decisions on 0 bodies of evidence. Gate the "
        "candidate first and pass the decisions that `Lab.gate` returned."
    )
    with pytest.raises(EvidenceError, match=f"got decisions about {other.pack.digest}"):
        bench.lab.request_approval(candidate, bench.decisions(other))
    mixed = [
        bench.lab.gate(candidate, "paired", evidence=bench.evidence(candidate, gained=gained))
        for gained in (50, 60)
    ]
    with pytest.raises(EvidenceError, match="got 2 decisions on 2 bodies of evidence"):
        bench.lab.request_approval(candidate, mixed)
    assert bench.lab.queue.items() == []


def unproposed(bench):
    """A candidate that was made without asking the lab."""
    patch = Patch(title="by hand", base=PACK.digest, proposer="test",
                  edits=(Append(path="agents/lead.md", text="Be kind.\n"),))  # fmt: skip
    return make_candidate(patch, PACK, bench.lab.policy, lambda pack: pack)


def test_a_candidate_that_was_gated_but_never_proposed_can_be_promoted(bench):
    """The gate keeps what it judged, so the promotion finds it."""
    candidate = unproposed(bench)
    assert bench.promote(candidate).promoted
    assert bench.lab.live == candidate.pack


def test_a_candidate_whose_document_is_gone_is_a_typed_error(bench):
    """Not an IndexError: the digest is named with a next step."""
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    (bench.lab.path / "candidates" / f"{candidate.digest[7:]}.json").unlink()
    with pytest.raises(StoreError, match=f"candidates {candidate.digest}: .*no such document"):
        bench.lab.promote(decisions, [bench.approval(candidate, decisions)])


def test_a_lab_is_a_context_that_writes_its_traces(tmp_path, monkeypatch):
    """On leaving, what the writer would have kept for another minute is in the database."""
    monkeypatch.setattr("logoslab.store.writer.PAUSE", 60.0)
    with Lab(tmp_path / "lab", model=ScriptedModel([])) as lab:
        lab.parts.traces.record_call("sha256:k", "{}")
    assert len(Lab(tmp_path / "lab", model=ScriptedModel([])).sql("SELECT * FROM calls")) == 1


def test_runs_are_listed(bench):
    """One row a run, as the command line shows them."""
    asyncio.run(bench.lab.run(None, [Task(id="a")], progress=False))
    assert [(run.run, run.tasks) for run in bench.lab.runs()] == [("run-001", 1)]
