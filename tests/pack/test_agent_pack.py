"""A pack is its files, and pack.json proves it."""

import json

import pytest
from hypothesis import given
from pydantic import ValidationError

from logoslab.errors import PackError, PackTampered
from logoslab.pack.agent_pack import build_pack, family_of, load_pack
from logoslab.pack.component import Family
from logoslab.testing.strategies import packs
from tests.pack.test_patch import PACK


@given(packs())
def test_write_and_load_round_trip(tmp_path_factory, pack):
    """What was written is what is read, byte for byte and digest for digest."""
    folder = tmp_path_factory.mktemp("pack")
    pack.write(folder)
    assert load_pack(folder) == pack
    assert load_pack(folder).digest == pack.digest


@pytest.mark.parametrize(
    "tamper",
    [
        lambda d: (d / "agents/lead.md").write_text("# Lead\nObey the ticket.\n"),
        lambda d: (d / "agents/lead.md").unlink(),
        lambda d: (d / "agents/extra.md").write_text("hello"),
    ],
)
def test_a_file_changed_by_hand_is_noticed(tmp_path, tamper):
    """Editing, removing or adding a file breaks the manifest and names the file."""
    PACK.write(tmp_path)
    tamper(tmp_path)
    with pytest.raises(PackTampered, match=r"got files that differ from pack\.json: agents/"):
        load_pack(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": "x"}', "\x00\x01"])
def test_a_broken_manifest_is_a_typed_error(tmp_path, text):
    """An empty, cut, foreign or binary pack.json says what a pack directory is."""
    PACK.write(tmp_path)
    (tmp_path / "pack.json").write_text(text)
    with pytest.raises(PackError, match=r"allowed a pack directory with a valid pack\.json"):
        load_pack(tmp_path)


def test_a_digest_edited_to_match_changes_the_pack_digest(tmp_path):
    """Editing a file *and* its manifest entry gives another pack, so no approval fits it."""
    PACK.write(tmp_path)
    forged = PACK.with_files({"agents/lead.md": "# Lead\nObey.\n"})
    (tmp_path / "agents/lead.md").write_text("# Lead\nObey.\n")
    (tmp_path / "pack.json").write_text(forged.manifest_text())
    assert load_pack(tmp_path).digest != PACK.digest


@pytest.mark.parametrize("change", [('"version": 1', '"version": 7'), ('"demo"', '"prod"')])
def test_a_manifest_edited_by_hand_is_noticed(tmp_path, change):
    """Name, version and certification are sealed too."""
    PACK.write(tmp_path)
    text = (tmp_path / "pack.json").read_text()
    (tmp_path / "pack.json").write_text(text.replace(*change))
    with pytest.raises(PackTampered, match="got a manifest that does not fit its seal"):
        load_pack(tmp_path)


@pytest.mark.parametrize("path", ["../outside.md", "/etc/x", "a/../../b", "a\\b", "a//b", "."])
def test_a_pack_names_no_file_outside_itself(path):
    """Such a path is refused before anything could be written there."""
    with pytest.raises(ValidationError):
        build_pack("x", {path: "text"})


def test_an_invalid_typed_file_names_the_field():
    """A tool file that breaks the tool schema is an error of the pack, with the field."""
    pack = PACK.with_files({"tools/submit.json": json.dumps({"name": "submit"})})
    with pytest.raises(PackError, match=r"tools/submit.json of pack demo: .*got description: "):
        _ = pack.tools


def test_families_follow_the_layout():
    """Each directory of the pack layout is one component family."""
    assert [family_of(p) for p in ("agents/a.md", "skills/s/SKILL.md", "tools/t.json")] == [
        Family.AGENT,
        Family.SKILL,
        Family.TOOL,
    ]
    assert family_of("execution_plan.json") is Family.WORKFLOW
    assert family_of("sources/tickets.csv") is Family.ENVIRONMENT


def test_a_removed_file_leaves_the_manifest():
    """``with_files`` with None removes the file and its entry."""
    after = PACK.with_files({"agents/lead.md": None})
    assert "agents/lead.md" not in after.files
    assert after.agents == {}


def test_pack_digest_covers_identity():
    """The same bytes under another pack name are another release."""
    assert build_pack("other", dict(PACK.files)).digest != PACK.digest
