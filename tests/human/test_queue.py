"""The approval queue, risk classes and scripted people."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from logoslab.errors import AuthorityError, InvalidValue, StoreError
from logoslab.human import (
    ApprovalQueue,
    NobodyAnswers,
    PendingChange,
    QueueItem,
    Ruling,
    ScriptedHuman,
    new_key,
    risk_of,
    sign_approval,
)
from logoslab.pack.patch import Footprint
from logoslab.ports import Human

TOUCHED = Footprint(files=("tools/draft.json", "execution_plan.json"), tools=("draft",))


def change(name: str = "p1", **more: Any) -> PendingChange:
    """A pending tool repair."""
    base: dict[str, Any] = {
        "id": name, "candidate": "sha256:c", "evidence": "sha256:e", "title": "Repair <draft>",
        "diff": "-a\n+b\n", "risk": "medium", "footprint": TOUCHED, "summary": {"paired": 0.5},
        "effects": ("draft:transactional_write",), "submitted": 1.0,
    }  # fmt: skip
    return PendingChange(**{**base, **more})


def ruling(act: Any = "reject", **more: Any) -> Ruling:
    """Ada's word."""
    base = {"act": act, "reason": "seen", "who": "ada", "role": "release_owner", "at": 2.0}
    return Ruling(**{**base, **more})


def test_a_queued_change_survives_a_restart(tmp_path: Path) -> None:
    """A new queue on the same folder has the item, then the ruling."""
    ApprovalQueue(tmp_path / "approvals").submit(change())
    again = ApprovalQueue(tmp_path / "approvals")
    assert [item.change for item in again.pending()] == [change()]
    again.decide("p1", ruling())
    third = ApprovalQueue(tmp_path / "approvals")
    assert third.pending() == []
    assert third.get("p1").ruling == ruling()


def test_submitting_and_ruling_are_idempotent(tmp_path: Path) -> None:
    """The same proposal and the same ruling, at a later time, change nothing."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change())
    first = queue.decide("p1", ruling())
    assert queue.submit(change(submitted=9.0)) == first
    assert queue.decide("p1", ruling(at=9.0)) == first
    assert len(list(tmp_path.glob("*.json"))) == 1


def test_one_id_cannot_carry_two_changes(tmp_path: Path) -> None:
    """A ruling on one diff must not be read as a ruling on another."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change())
    with pytest.raises(AuthorityError) as caught:
        queue.submit(change(diff="-a\n+evil\n"))
    assert str(caught.value) == (
        "proposal p1: allowed one id for one candidate on one body of evidence; got the same id "
        "with other content. Submit the new content under its own id."
    )


def test_a_ruling_stands(tmp_path: Path) -> None:
    """Reject, then approve: refused."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change())
    queue.decide("p1", ruling())
    with pytest.raises(AuthorityError) as caught:
        queue.decide("p1", ruling("approve"))
    assert str(caught.value) == (
        "proposal p1: allowed one ruling a role, and none after a role rejected or narrowed; got "
        "approve in role release_owner after reject by ada in role release_owner. "
        "Submit the change again under a new id."
    )
    with pytest.raises(AuthorityError, match="an id that is not in the queue"):
        queue.decide("p2", ruling())


def test_narrowing_keeps_files_of_the_change_only(tmp_path: Path) -> None:
    """A file that the change does not edit cannot be kept; narrowing approves nothing."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change())
    with pytest.raises(AuthorityError, match=r"got files genome\.json"):
        queue.decide("p1", ruling("narrow", keep=("genome.json",)))
    kept = queue.decide("p1", ruling("narrow", keep=("tools/draft.json",)))
    assert kept.ruling is not None
    assert kept.ruling.approval is None


def test_an_approval_in_a_ruling_must_be_of_this_change(tmp_path: Path) -> None:
    """A signature over another candidate is refused at the queue already."""
    key = new_key("ada", tmp_path / "config")
    signed = {
        name: sign_approval(
            key, role="release_owner", candidate=name, evidence="sha256:e", policy="p", now=1.0
        )
        for name in ("sha256:c", "sha256:d")
    }
    queue = ApprovalQueue(tmp_path / "approvals")
    queue.submit(change())
    with pytest.raises(AuthorityError, match="got an approval of sha256:d"):
        queue.decide("p1", ruling("approve", key=key.id, approval=signed["sha256:d"]))
    with pytest.raises(AuthorityError) as caught:
        queue.decide("p1", ruling("approve", approval=signed["sha256:c"]))
    assert str(caught.value) == (
        "proposal p1: allowed one by key none in role release_owner, as ruled; got an approval by "
        f"key {key.id} in role release_owner. Sign in the role and with the key of the ruling."
    )
    item = queue.decide("p1", ruling("approve", key=key.id, approval=signed["sha256:c"]))
    assert item.ruling is not None
    assert item.ruling.approval == signed["sha256:c"]


TWO = ("release_owner", "safety_owner")


def test_a_change_waits_until_each_of_its_roles_has_approved(tmp_path: Path) -> None:
    """Two roles: the first approval leaves it pending for the other, the second ends the wait."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change(roles=TWO))
    first = queue.decide("p1", ruling("approve"))
    assert [item.waits_for for item in queue.pending()] == [("safety_owner",)]
    other = ruling("approve", who="bob", role="safety_owner", key="k")
    done = queue.decide("p1", other)
    assert queue.pending() == []
    assert (first.ruling, done.ruling) == (ruling("approve"), other)
    assert queue.get("p1").rulings == (ruling("approve"), other)
    assert queue.decide("p1", ruling("approve", at=9.0)) == done
    assert queue.decide("p1", other.replace(at=9.0)) == done


@pytest.mark.parametrize("closing", [{"act": "reject"}, {"act": "narrow", "keep": TOUCHED.files}])
def test_one_role_can_end_the_wait(tmp_path: Path, closing: dict[str, Any]) -> None:
    """A rejection or narrowing closes the change, before and after another role's approval."""
    for name, after in (("early", False), ("late", True)):
        queue = ApprovalQueue(tmp_path / name)
        queue.submit(change(roles=TWO))
        if after:
            queue.decide("p1", ruling("approve"))
        queue.decide("p1", ruling(**closing, who="bob", role="safety_owner"))
        assert queue.pending() == []
        if not after:
            with pytest.raises(AuthorityError, match="approve in role release_owner after "):
                queue.decide("p1", ruling("approve"))


@pytest.mark.parametrize("other", [{"reason": "more"}, {"who": "eve"}, {"key": "k"}])
def test_another_word_in_the_same_role_is_refused(tmp_path: Path, other: dict[str, Any]) -> None:
    """Only the same act, reason and person repeat a ruling; a role speaks once."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change(roles=TWO))
    queue.decide("p1", ruling("approve"))
    with pytest.raises(AuthorityError, match="allowed one ruling a role"):
        queue.decide("p1", ruling("approve", **other))
    assert queue.get("p1").rulings == (ruling("approve"),)


def test_a_role_that_the_change_does_not_need_cannot_rule(tmp_path: Path) -> None:
    """Nobody closes or approves a change in a role of their own invention."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change())
    with pytest.raises(AuthorityError) as caught:
        queue.decide("p1", ruling(role="bystander"))
    assert str(caught.value) == (
        "proposal p1: allowed a ruling in role release_owner; got a ruling in role bystander. "
        "Rule in a role that the change needs."
    )
    assert len(queue.pending()) == 1


def test_a_file_with_two_rulings_of_a_role_is_refused() -> None:
    """At most one ruling a role, whoever wrote the file."""
    with pytest.raises(ValueError, match="at most one ruling a role"):
        QueueItem(change=change(), rulings=(ruling(), ruling(who="eve")))


@pytest.mark.parametrize(
    "wrong",
    [
        {"act": "narrow"},
        {"act": "reject", "keep": ("a",)},
        {"reason": ""},
        {"who": ""},
        {"role": ""},
    ],
)
def test_half_a_ruling_is_refused(wrong: dict[str, Any]) -> None:
    """A reason and a name are required; narrow says what stays."""
    with pytest.raises(ValueError):
        ruling(**wrong)


def test_no_id_can_choose_a_path(tmp_path: Path) -> None:
    """An id with dots and slashes stays inside the folder."""
    queue = ApprovalQueue(tmp_path / "approvals")
    queue.submit(change("../escape"))
    assert [p.name for p in tmp_path.iterdir()] == ["approvals"]
    assert queue.get("../escape").change.id == "../escape"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """The queue refuses to guess what a broken file said."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change())
    path = next(tmp_path.glob("*.json"))
    path.write_text("{")
    with pytest.raises(StoreError, match=f"approval file {path.name}"):
        queue.pending()


def test_a_write_that_dies_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failure before the rename leaves the item pending and readable."""
    queue = ApprovalQueue(tmp_path)
    queue.submit(change())

    def dies(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", dies)
    with pytest.raises(OSError, match="disk full"):
        queue.decide("p1", ruling())
    monkeypatch.undo()
    assert ApprovalQueue(tmp_path).pending()[0].change == change()


def test_two_people_at_once_make_one_ruling(tmp_path: Path) -> None:
    """Eight racing rulings of two kinds: exactly one kind stands, the others are refused."""
    ApprovalQueue(tmp_path).submit(change())

    def rule(who: str) -> str:
        try:
            ApprovalQueue(tmp_path).decide("p1", ruling(who=who))
        except AuthorityError:
            return "refused"
        return who

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(rule, ["ada", "bob"] * 4))
    standing = ApprovalQueue(tmp_path).get("p1").ruling
    assert standing is not None
    assert set(found) == {standing.who, "refused"}


def test_a_lock_held_elsewhere_is_a_typed_error(tmp_path: Path) -> None:
    """Waiting ends with what to do."""
    from filelock import FileLock

    with FileLock(tmp_path / "queue.lock"), pytest.raises(StoreError) as caught:
        ApprovalQueue(tmp_path, patience=0.05).submit(change())
    assert str(caught.value) == (
        "lock on queue: allowed one writer at a time; got still held elsewhere after 0.05 s. "
        "Wait for the other process, or stop it, and try again."
    )


SAFE = Footprint(files=("a",))


@pytest.mark.parametrize(
    ("footprint", "edits", "delta", "risk"),
    [
        (SAFE, 1, None, "low"),
        (SAFE, 1, 0.0, "low"),
        (SAFE, 5, None, "medium"),
        (SAFE, 1, -0.01, "medium"),
        (SAFE, 1, -0.05, "medium"),
        (SAFE, 1, -0.06, "high"),
        (SAFE, 1, float("nan"), "high"),
        (Footprint(files=("v",), safety_surfaces=("verifiers.json",)), 1, 0.5, "high"),
        (Footprint(files=("t",), permissions=("authority:submit",)), 1, 0.5, "high"),
    ],
)
def test_risk_by_hand(footprint: Footprint, edits: int, delta: float | None, risk: str) -> None:
    """Eq. 71 at ε_hi = 0.05 and n_edit = 5, at and around each edge."""
    assert risk_of(footprint, edits, delta) == risk


def test_risk_thresholds_have_a_domain() -> None:
    """A non-positive threshold would call everything high or nothing medium."""
    for wrong in ({"eps_hi": 0.0}, {"n_edit": 0}):
        with pytest.raises(InvalidValue):
            risk_of(SAFE, 1, **wrong)


def test_people_who_are_scripted_or_away() -> None:
    """The longest fitting part answers; otherwise the question stays open."""
    away: Human = NobodyAnswers()
    assert away.ask("Approve?", {}) is None
    script = ScriptedHuman({"control": "ok", "control review of SEC-1": "no"})
    assert script.ask("control review of SEC-1: accept?", {}) == "no"
    assert script.ask("control review of SEC-2: accept?", {}) == "ok"
    assert script.ask("anything else?", {}) is None
    assert len(script.asked) == 3
