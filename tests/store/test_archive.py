"""The archive: bytes for ever, and one owner for each identity."""

from __future__ import annotations

from pathlib import Path

import pytest

from logoslab.errors import ArchiveConflict, InvalidValue, PackTampered, StoreError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.component import Component, Family
from logoslab.store import Archive, ArchivedPack

SKILL = "skills/intake/SKILL.md"


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(tmp_path / "archive")


def _files(archive: Archive) -> dict[str, bytes]:
    return {
        p.relative_to(archive.folder).as_posix(): p.read_bytes()
        for p in archive.folder.rglob("*")
        if p.is_file() and p.suffix != ".lock"
    }


def test_a_component_comes_back_by_its_identity(archive: Archive) -> None:
    """Put twice, get once; two identities may share bytes."""
    one = Component(family=Family.PROMPT, name="a.b-c", version=3, text="naïve\r\n")
    two = one.replace(name="other", version=1)
    assert archive.put(one) == archive.put(one) == archive.put(two) == one.content_digest
    assert archive.get("prompt/a.b-c@3") == one
    assert archive.get("prompt/other@1") == two
    assert len([name for name in _files(archive) if name.startswith("objects/")]) == 1


def test_the_same_identity_with_other_bytes_is_refused(archive: Archive) -> None:
    """The first bytes stay; nothing of the second is written."""
    one = Component(family=Family.SKILL, name="intake", version=2, text="first")
    archive.put(one)
    before = _files(archive)
    with pytest.raises(ArchiveConflict) as refusal:
        archive.put(one.replace(text="second"))
    assert str(refusal.value) == (
        "component skill/intake@2: allowed the bytes it has named since its release, "
        f"{one.content_digest}; got bytes {one.replace(text='second').content_digest}. "
        "Make the change again on the live pack; it then gets a new version."
    )
    assert _files(archive) == before


def test_a_pack_comes_back_by_its_digest(archive: Archive, pack: AgentPack) -> None:
    """Every byte and every version of it."""
    digest = archive.put_pack(pack)
    assert digest == pack.digest == archive.put_pack(pack)
    assert archive.get_pack(digest) == pack
    assert archive.packs() == (ArchivedPack(digest, "review", 1),)


def test_two_candidates_of_one_incumbent_live_side_by_side(
    archive: Archive, pack: AgentPack
) -> None:
    """Both are skill/intake@2 with other bytes; neither owns it until one is released."""
    archive.release(pack)
    left, right = (pack.with_files({SKILL: f"{pack.files[SKILL]}{x}\n"}) for x in ("left", "right"))
    assert left.component_of(SKILL) == right.component_of(SKILL) == "skill/intake@2"
    archive.put_pack(left)
    archive.put_pack(right)
    assert [p.version for p in archive.packs()] == [1, 2, 2]
    with pytest.raises(StoreError):
        archive.get("skill/intake@2")
    archive.release(right)
    assert archive.get("skill/intake@2").text == right.files[SKILL]
    before = _files(archive)
    with pytest.raises(ArchiveConflict):
        archive.release(left)
    assert _files(archive) == before
    assert archive.get_pack(left.digest) == left


def test_a_refused_release_claims_nothing(archive: Archive, pack: AgentPack) -> None:
    """One conflict among several components: the others stay unclaimed."""
    archive.put(pack.components[SKILL].replace(text="other"))
    with pytest.raises(ArchiveConflict):
        archive.release(pack)
    with pytest.raises(StoreError):
        archive.get("agent/reviewer@1")


def test_a_candidate_after_a_rollback_gets_a_free_number(archive: Archive, pack: AgentPack) -> None:
    """skill/intake@2 and @3 belong to withdrawn releases, so the next change of @1 is @4; equal
    bytes keep their number and untouched components theirs."""
    second = pack.with_files({SKILL: "---\nname: intake\ndescription: d\n---\nTwo.\n"})
    third = second.with_files({SKILL: "---\nname: intake\ndescription: d\n---\nThree.\n"})
    for release in (pack, second, third):
        archive.release(release)
    again = pack.with_files({SKILL: "---\nname: intake\ndescription: d\n---\nNew.\n"})
    candidate = archive.renumbered(again)
    assert candidate.component_of(SKILL) == "skill/intake@4"
    assert candidate.component_of("agents/reviewer.md") == "agent/reviewer@1"
    assert candidate.files == again.files
    archive.release(candidate)
    assert archive.renumbered(second) == second


def test_what_is_not_there_is_said(archive: Archive) -> None:
    """An unknown pack and component, and references that are none."""
    with pytest.raises(StoreError) as refusal:
        archive.get_pack(f"sha256:{'0' * 64}")
    assert str(refusal.value) == (
        f"pack sha256:{'0' * 64}: allowed the digest of a pack in the archive; got nothing of that "
        "name in the archive. List what there is with `packs()`."
    )
    with pytest.raises(StoreError) as refusal:
        archive.get("skill/intake@1")
    assert str(refusal.value) == (
        "component skill/intake@1: allowed an identity that a compiled or promoted pack owns; got "
        "nothing of that name in the archive. List what there is with `packs()`."
    )
    assert archive.packs() == ()
    for bad in ("", "skill", "../x", "skill/..", "skill/a/b@1", "skill\\x/y@1"):
        with pytest.raises(InvalidValue, match="component reference: allowed family/name@version"):
            archive.get(bad)
    for bad in ("", "sha256:..", "sha256:" + "Z" * 64, "../" * 21 + "a"):
        with pytest.raises(InvalidValue, match="digest: allowed sha256: and 64 hex digits"):
            archive.get_pack(bad)


@pytest.mark.parametrize("kind", ["objects", "packs"])
def test_changed_bytes_are_not_handed_out(archive: Archive, pack: AgentPack, kind: str) -> None:
    """One byte changed in any file of the archive: the pack is refused."""
    digest = archive.release(pack)
    for path in (archive.folder / kind).iterdir():
        whole = path.read_bytes()
        path.write_bytes(whole[:-2] + bytes([whole[-2] ^ 1]) + whole[-1:])
        with pytest.raises(PackTampered):
            archive.get_pack(digest)
        path.write_bytes(whole)
    assert archive.get_pack(digest) == pack


def test_a_component_or_manifest_that_was_exchanged_is_not_handed_out(
    archive: Archive, pack: AgentPack
) -> None:
    """Valid in itself, but not what its digest names: the message in full."""
    digest = archive.release(pack)
    path = archive.folder / "packs" / f"{digest.removeprefix('sha256:')}.json"
    path.write_bytes(path.read_bytes().replace(b'"review"', b'"reviem"'))
    with pytest.raises(PackTampered) as refusal:
        archive.get_pack(digest)
    assert str(refusal.value) == (
        f"archive file {path.name}: allowed the bytes that were archived; got bytes that do not "
        "match its digest. Restore the archive from a copy; nothing in it is ever edited."
    )
    for thing in (archive.folder / "objects").iterdir():
        thing.write_bytes(b"other")
    with pytest.raises(PackTampered):
        archive.get("skill/intake@1")


def test_what_a_killed_writer_left_is_no_obstacle(archive: Archive, pack: AgentPack) -> None:
    """A half-written temporary file is not an archived one and the next put succeeds."""
    digest = archive.put_pack(pack)
    target = archive.folder / "packs" / f"{digest.removeprefix('sha256:')}.json"
    target.rename(target.with_name(f"{target.name}.tmp"))
    assert archive.packs() == ()
    assert archive.put_pack(pack) == digest
    assert archive.get_pack(digest) == pack
