"""Patch: typed edits on a pack, and the footprint a reviewer must see.

Text edits are anchored: the anchor must occur exactly once, or the edit is refused. Structured
edits address a JSON file by pointer. A patch names the pack it was written against.
"""

from __future__ import annotations

import copy
import difflib
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, TypeAdapter

from logoslab.errors import PatchError
from logoslab.pack.agent_pack import AgentPack, pretty_json
from logoslab.pack.base import Frozen
from logoslab.pack.policy import RootPolicy
from logoslab.pack.tool import RestBinding


class Append(Frozen):
    """Add text at the end of a file (or of a section, when ``anchor`` names its heading line)."""

    op: Literal["append"] = "append"
    path: str
    text: str


class InsertAfter(Frozen):
    """Add text right after an anchor."""

    op: Literal["insert_after"] = "insert_after"
    path: str
    anchor: str = Field(min_length=1)
    text: str


class Replace(Frozen):
    """Replace an anchor by text."""

    op: Literal["replace"] = "replace"
    path: str
    anchor: str = Field(min_length=1)
    text: str


class Delete(Frozen):
    """Remove an anchor."""

    op: Literal["delete"] = "delete"
    path: str
    anchor: str = Field(min_length=1)


class SetField(Frozen):
    """Give an existing JSON field another value."""

    op: Literal["set"] = "set"
    path: str
    pointer: str = Field(pattern=r"^(/[^/]+)+$")
    value: JsonValue


class AddField(Frozen):
    """Add a JSON field that is absent, or append to a list with ``/-``."""

    op: Literal["add"] = "add"
    path: str
    pointer: str = Field(pattern=r"^(/[^/]+)+$")
    value: JsonValue


class RemoveField(Frozen):
    """Remove an existing JSON field."""

    op: Literal["remove"] = "remove"
    path: str
    pointer: str = Field(pattern=r"^(/[^/]+)+$")


TextEdit = Append | InsertAfter | Replace | Delete
FieldEdit = SetField | AddField | RemoveField
Edit = Annotated[TextEdit | FieldEdit, Field(discriminator="op")]
edit_adapter: TypeAdapter[Edit] = TypeAdapter(Edit)


class Footprint(Frozen):
    """What a patch touches: the first thing a reviewer and the root policy look at.

    Attributes
    ----------
    files : tuple of str
    tools : tuple of str
        Tools whose specification changes.
    permissions : tuple of str
        Permissions the candidate has and the incumbent has not, e.g. ``effect:submit_exception``.
    safety_surfaces : tuple of str
        Prefixes of ``safety.surfaces`` in the root policy that an edit falls under.
    """

    files: tuple[str, ...]
    tools: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    safety_surfaces: tuple[str, ...] = ()


class Patch(Frozen):
    """A candidate: edits on the incumbent that nobody runs live.

    Attributes
    ----------
    title, rationale : str
        In the proposer's words; data, never instructions.
    base : str
        Digest of the pack it was written against.
    proposer : str
        Which proposer wrote it.
    target : str
        ``family/name@version`` that the failure was attributed to.
    edits : tuple of Edit
    """

    title: str
    rationale: str = ""
    base: str
    proposer: str
    target: str = ""
    edits: tuple[Edit, ...] = Field(min_length=1)

    def apply(self, pack: AgentPack) -> AgentPack:
        """The candidate pack.

        Raises
        ------
        PatchError
            When the patch was written against another pack, an anchor is absent or ambiguous,
            or a pointer does not resolve. The pack given is never changed.
        """
        if pack.digest != self.base:
            raise _refuse(self.title, f"pack {pack.digest}", f"its base {self.base}",
                          "Write the patch again on the present incumbent.")  # fmt: skip
        files = dict(pack.files)
        for edit in self.edits:
            if edit.path not in files:
                raise _refuse(f"{edit.op} on {edit.path}", "no such file",
                              "a file of the pack", "Name one of the pack's files.")  # fmt: skip
            files[edit.path] = _apply(files[edit.path], edit)
        return pack.with_files({p: t for p, t in files.items() if t != pack.files[p]})

    def diff(self, pack: AgentPack) -> str:
        """Unified diff of every file it changes."""
        after = self.apply(pack)
        chunks = [
            "".join(
                difflib.unified_diff(
                    pack.files[path].splitlines(keepends=True),
                    after.files[path].splitlines(keepends=True),
                    f"incumbent/{path}",
                    f"candidate/{path}",
                )
            )
            for path in sorted({edit.path for edit in self.edits})
        ]
        return "".join(chunks)

    def footprint(self, pack: AgentPack, policy: RootPolicy) -> Footprint:
        """Files, tools, new permissions and safety surfaces of this patch."""
        after = self.apply(pack)
        touched = {edit.path for edit in self.edits}
        changed_tools = {
            n for n in {*pack.tools, *after.tools} if pack.tools.get(n) != after.tools.get(n)
        }
        return Footprint(
            files=tuple(sorted(touched)),
            tools=tuple(sorted(changed_tools)),
            permissions=tuple(sorted(permissions(after) - permissions(pack))),
            safety_surfaces=tuple(
                s for s in policy.safety.surfaces if any(_under(edit, s) for edit in self.edits)
            ),
        )


def permissions(pack: AgentPack) -> set[str]:
    """Everything a pack may do: what its tools reach and with which credentials, which of them its
    plan calls, and what its genome grants.

    The entries ``authority`` lists under the genome's ``safety`` and ``tools`` axes count as
    grants, so a pack cannot give itself leave in a place that nobody compares.
    """
    tools = pack.tools.values()
    found = {f"effect:{t.effect.value}:{t.name}" for t in tools}
    found |= {f"credential:{t.auth}:{t.name}" for t in tools if t.auth}
    found |= {f"network:{t.network}:{t.name}" for t in tools if t.network != "none"}
    found |= {
        f"reach:{t.name}:{t.binding.service} {t.binding.method} {t.binding.path}"
        for t in tools
        if isinstance(t.binding, RestBinding)
    }
    found |= {f"step:{step.tool}" for step in pack.plan.tool_steps()}
    for axis in (pack.genome.safety, pack.genome.tools):
        granted = axis.get("authority", [])
        found |= {f"authority:{name}" for name in granted} if isinstance(granted, list) else set()
    return found


def _under(edit: Edit, surface: str) -> bool:
    path, _, pointer = surface.partition("#")
    if not edit.path.startswith(path):
        return False
    edited = getattr(edit, "pointer", "")
    if not pointer or not edited:
        return True
    # An edit above a surface replaces the surface with everything else below it.
    inside, above = f"{edited}/", f"{pointer}/"
    return inside.startswith(above) or above.startswith(inside)


def _apply(text: str, edit: Edit) -> str:
    match edit:
        case Append():
            return text + ("" if text.endswith("\n") or not text else "\n") + edit.text
        case InsertAfter():
            return _anchored(text, edit, lambda anchor: anchor + edit.text)
        case Replace():
            return _anchored(text, edit, lambda _: edit.text)
        case Delete():
            return _anchored(text, edit, lambda _: "")
        case _:
            return _apply_field(text, edit)


def _anchored(text: str, edit: InsertAfter | Replace | Delete, new: Callable[[str], str]) -> str:
    found = text.count(edit.anchor)
    if found != 1:
        raise _refuse(
            f"{edit.op} on {edit.path}",
            f"anchor {edit.anchor!r} {found} times",
            "an anchor that occurs exactly once",
            "Choose a longer anchor from the incumbent's text.",
        )
    return text.replace(edit.anchor, new(edit.anchor))


def _apply_field(text: str, edit: FieldEdit) -> str:
    where = f"{edit.op} {edit.pointer} on {edit.path}"
    try:
        document = copy.deepcopy(json.loads(text))
    except json.JSONDecodeError as cause:
        raise _refuse(where, f"not JSON ({cause})", "a JSON file", "Use a text edit.") from cause
    parent, key = _resolve(document, edit.pointer, where)
    if isinstance(parent, list):
        _edit_list(parent, key, edit, where)
    else:
        _edit_mapping(parent, key, edit, where)
    return pretty_json(document)


def _resolve(document: Any, pointer: str, where: str) -> tuple[Any, str]:
    *parents, key = [p.replace("~1", "/").replace("~0", "~") for p in pointer[1:].split("/")]
    node = document
    for part in parents:
        try:
            node = node[_index(part)] if isinstance(node, list) else node[part]
        except (KeyError, IndexError, ValueError, TypeError) as cause:
            raise _refuse(where, f"no {part!r} on the way", "a pointer into the file",
                          "Read the file and correct the pointer.") from cause  # fmt: skip
    if not isinstance(node, dict | list):
        raise _refuse(where, f"a {type(node).__name__} holds {key!r}", "a mapping or list there",
                      "Read the file and correct the pointer.")  # fmt: skip
    return node, key


def _index(part: str) -> int:
    """A list index in its one spelling: no sign, no leading zero, so no pointer has an alias."""
    if not part.isdecimal() or str(int(part)) != part:
        raise ValueError(part)
    return int(part)


def _edit_mapping(parent: dict[str, Any], key: str, edit: FieldEdit, where: str) -> None:
    present = key in parent
    if present == isinstance(edit, AddField):
        raise _refuse(
            where,
            "a field that is already there" if present else "a field that is absent",
            "set and remove on present fields, add on absent ones",
            "Use the matching operation.",
        )
    if isinstance(edit, RemoveField):
        del parent[key]
    else:
        parent[key] = edit.value


def _edit_list(parent: list[Any], key: str, edit: FieldEdit, where: str) -> None:
    if isinstance(edit, AddField) and key == "-":
        parent.append(edit.value)
        return
    if not key.isdecimal() or int(key) >= len(parent) or isinstance(edit, AddField):
        raise _refuse(where, key, f"an index below {len(parent)}, or add with '-'",
                      "Read the file and correct the pointer.")  # fmt: skip
    if isinstance(edit, RemoveField):
        del parent[int(key)]
    else:
        parent[int(key)] = edit.value


def _refuse(which: str, got: str, allowed: str, next_step: str) -> PatchError:
    return PatchError(which, got=got, allowed=allowed, next_step=next_step)
