"""Typed edits, their refusals and their footprint."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import PatchError
from logoslab.pack.agent_pack import build_pack
from logoslab.pack.patch import (
    AddField,
    Append,
    Delete,
    InsertAfter,
    Patch,
    RemoveField,
    Replace,
    SetField,
    edit_adapter,
)
from logoslab.pack.policy import RootPolicy
from logoslab.testing.strategies import packs, text_patches

TOOL = {
    "name": "submit",
    "description": "Submit.",
    "input_schema": {"type": "object"},
    "output_schema": {"type": "object"},
    "effect": "read_only",
    "binding": {"kind": "human"},
}
FILES = {
    "agents/lead.md": "# Lead\nDispatch phases.\n",
    "tools/submit.json": json.dumps(TOOL),
    "genome.json": json.dumps({"safety": {"authority": []}}),
    "execution_plan.json": json.dumps({"phases": []}),
    "verifiers.json": "[]",
    "probes.json": "[]",
}
PACK = build_pack("demo", FILES)
POLICY = RootPolicy(objective="review")


def patch(*edits):
    return Patch(title="try", base=PACK.digest, proposer="test", edits=edits)


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (Append(path="agents/lead.md", text="More.\n"), "# Lead\nDispatch phases.\nMore.\n"),
        (
            InsertAfter(path="agents/lead.md", anchor="# Lead\n", text="You lead.\n"),
            "# Lead\nYou lead.\nDispatch phases.\n",
        ),
        (Replace(path="agents/lead.md", anchor="phases", text="work"), "# Lead\nDispatch work.\n"),
        (Delete(path="agents/lead.md", anchor="# Lead\n"), "Dispatch phases.\n"),
    ],
)
def test_text_edits(edit, after):
    """Each text edit does what its name says, to one file."""
    assert patch(edit).apply(PACK).files == {**FILES, "agents/lead.md": after}


@pytest.mark.parametrize(
    ("edit", "after"),
    [
        (SetField(path="tools/submit.json", pointer="/effect", value="destructive"), "destructive"),
        (AddField(path="tools/submit.json", pointer="/auth", value="api_key"), "api_key"),
        (RemoveField(path="tools/submit.json", pointer="/effect"), None),
    ],
)
def test_structured_edits(edit, after):
    """Set, add and remove address one JSON field by pointer."""
    document = json.loads(patch(edit).apply(PACK).files["tools/submit.json"])
    assert document.get(edit.pointer[1:]) == after


def test_list_edits():
    """``/-`` appends to a list; an index sets or removes."""
    add = AddField(path="genome.json", pointer="/safety/authority/-", value="submit")
    drop = RemoveField(path="genome.json", pointer="/safety/authority/0")
    assert json.loads(patch(add).apply(PACK).files["genome.json"])["safety"]["authority"] == [
        "submit"
    ]
    assert (
        json.loads(patch(add, drop).apply(PACK).files["genome.json"])["safety"]["authority"] == []
    )


@pytest.mark.parametrize("anchor", ["absent", "e"])
def test_an_absent_or_ambiguous_anchor_is_refused(anchor):
    """An anchor must occur exactly once: 0 and 4 occurrences are refused by count."""
    with pytest.raises(PatchError) as caught:
        patch(Replace(path="agents/lead.md", anchor=anchor, text="x")).apply(PACK)
    assert str(caught.value) == (
        f"replace on agents/lead.md: allowed an anchor that occurs exactly once; got anchor "
        f"{anchor!r} {FILES['agents/lead.md'].count(anchor)} times. "
        "Choose a longer anchor from the incumbent's text."
    )


@pytest.mark.parametrize(
    "edit",
    [
        SetField(path="tools/submit.json", pointer="/missing", value=1),
        AddField(path="tools/submit.json", pointer="/effect", value=1),
        RemoveField(path="tools/submit.json", pointer="/missing"),
        SetField(path="tools/submit.json", pointer="/effect/deep", value=1),
        SetField(path="agents/lead.md", pointer="/x", value=1),
        AddField(path="genome.json", pointer="/safety/authority/0", value=1),
        RemoveField(path="genome.json", pointer="/safety/authority/0"),
        Append(path="agents/nobody.md", text="x"),
        Append(path="../outside.md", text="x"),
    ],
)
def test_an_edit_that_does_not_fit_is_refused(edit):
    """Wrong operation, pointer, file kind or file: typed, and never applied in part."""
    with pytest.raises(PatchError):
        patch(Append(path="agents/lead.md", text="first"), edit).apply(PACK)


def test_a_patch_fits_only_the_pack_it_was_written_against():
    """After any change of the incumbent the patch must be written again."""
    other = PACK.with_files({"agents/lead.md": "# New\n"})
    with pytest.raises(PatchError, match="allowed its base sha256:"):
        patch(Append(path="agents/lead.md", text="x")).apply(other)


def test_versions_rise_only_where_bytes_change():
    """The pack and the edited component go to version 2; everything else keeps its version."""
    after = patch(Append(path="agents/lead.md", text="x")).apply(PACK)
    assert after.version == 2
    assert {p: c.version for p, c in after.components.items() if c.version > 1} == {
        "agents/lead.md": 2
    }


def test_footprint_names_new_permissions_and_safety_surfaces():
    """Raising an effect class and granting authority both show, under their safety surface."""
    grant = AddField(path="genome.json", pointer="/safety/authority/-", value="submit")
    raise_effect = SetField(
        path="tools/submit.json", pointer="/effect", value="external_side_effect"
    )
    footprint = patch(grant, raise_effect).footprint(PACK, POLICY)
    assert footprint.permissions == ("authority:submit", "effect:external_side_effect:submit")
    assert footprint.safety_surfaces == ("genome.json#/safety",)
    assert footprint.tools == ("submit",)
    assert footprint.files == ("genome.json", "tools/submit.json")


def test_replacing_a_whole_structured_file_counts_as_touching_its_safety_surface():
    """A text edit on genome.json cannot slip past the pointer that guards a part of it."""
    edit = Replace(path="genome.json", anchor='"authority": []', text='"authority": ["submit"]')
    assert patch(edit).footprint(PACK, POLICY).safety_surfaces == (
        "genome.json#/safety",
        "genome.json#/sandbox",
    )


@given(st.data())
def test_a_patch_applies_wholly_or_not_at_all(data):
    """Any text patch either changes exactly its file or raises, and the pack stays as it was."""
    pack = data.draw(packs())
    before = pack.digest
    drawn = data.draw(text_patches(pack))
    try:
        after = drawn.apply(pack)
    except PatchError:
        pass
    else:
        changed = {p for p in after.files if after.files[p] != pack.files.get(p)}
        assert changed <= {drawn.edits[0].path}
    assert pack.digest == before


def test_edits_travel_as_json():
    """An edit read back from JSON is the same edit."""
    edit = AddField(path="genome.json", pointer="/a", value={"b": [1]})
    assert edit_adapter.validate_json(edit.model_dump_json()) == edit


def test_diff_shows_both_sides():
    """The diff names incumbent and candidate and shows the changed lines."""
    diff = patch(Replace(path="agents/lead.md", anchor="phases", text="work")).diff(PACK)
    assert diff == (
        "--- incumbent/agents/lead.md\n+++ candidate/agents/lead.md\n@@ -1,2 +1,2 @@\n # Lead\n"
        "-Dispatch phases.\n+Dispatch work.\n"
    )
