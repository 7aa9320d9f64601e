"""The archive: component bytes by content, packs by digest, and who owns which identity.

Two candidates that branch from one incumbent both make version n + 1 of a component, with other
bytes. So bytes are kept under their own digest, and a candidate owns nothing: :meth:`put_pack`
keeps it. Only what is compiled or promoted owns its identities for ever: :meth:`release` claims
them, all or none, before the live pointer moves. A candidate made after a rollback would take a
number that a withdrawn release owns; :meth:`renumbered` gives it the next free one, before it is
judged and signed.

``objects/<hex>`` component bytes · ``packs/<hex>.json`` manifests ·
``identities/<family>/<name>@<version>`` the content digest that owns the identity.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import NamedTuple

from logoslab.errors import ArchiveConflict, InvalidValue, PackTampered, StoreError
from logoslab.files import locked, write_atomic
from logoslab.pack.agent_pack import AgentPack, Entry, parse_manifest
from logoslab.pack.base import digest_bytes
from logoslab.pack.component import Component


class ArchivedPack(NamedTuple):
    """A pack in the archive."""

    digest: str
    name: str
    version: int


class Archive:
    """``lab/archive``: immutable; nothing is ever overwritten or removed.

    Parameters
    ----------
    folder : Path
        Made by the first write.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    # ---- components

    def put(self, component: Component) -> str:
        """Keep a component, claim its identity, and return its content digest.

        Raises
        ------
        ArchiveConflict
            When the identity already names other bytes. Nothing is written.
        """
        with locked(self.folder / "archive"):
            self._claim([component])
        return component.content_digest

    def get(self, ref: str) -> Component:
        """The component that owns ``family/name@version``.

        Raises
        ------
        StoreError
            When nothing that was compiled or promoted has this identity.
        PackTampered
            When its bytes on disk were changed.
        """
        owner = self._owner(ref)
        if owner is None:
            raise _absent(f"component {ref}", "an identity that a compiled or promoted pack owns")
        identity, version = ref.rsplit("@", 1)
        family, name = identity.split("/", 1)
        text = self._object(owner)
        return Component.model_validate(
            {"family": family, "name": name, "version": int(version), "text": text}
        )

    # ---- packs

    def put_pack(self, pack: AgentPack) -> str:
        """Keep a pack, candidate or not, and return its digest. It claims no identity.

        A digest covers what shapes behaviour; of two packs with one digest the first is kept.
        """
        with locked(self.folder / "archive"):
            for text in pack.files.values():
                self._keep(self._object_path(digest_bytes(text.encode())), text.encode())
            self._keep(self._pack_path(pack.digest), pack.manifest_text().encode())
        return pack.digest

    def release(self, pack: AgentPack) -> str:
        """Keep a pack and claim the identity of each of its components, all or none.

        Call it before the pack goes live. Doing it again is harmless.

        Raises
        ------
        ArchiveConflict
            When an identity already names other bytes. Nothing is claimed.
        """
        kept = self.put_pack(pack)
        with locked(self.folder / "archive"):
            self._claim(list(pack.components.values()))
        return kept

    def get_pack(self, digest: str) -> AgentPack:
        """The pack of a digest, every byte checked.

        Raises
        ------
        StoreError
            When the archive has no such pack.
        PackTampered
            When a file of it on disk was changed.
        """
        path = self._pack_path(digest)
        if not path.is_file():
            raise _absent(f"pack {digest}", "the digest of a pack in the archive")
        try:
            manifest = parse_manifest(path.read_bytes())
        except (ValueError, PackTampered) as cause:
            raise _tampered(path.name) from cause
        files = {e.path: self._object(e.content_digest) for e in manifest.entries}
        pack = AgentPack(manifest=manifest, files=files)
        if pack.digest != digest:
            raise _tampered(path.name)
        return pack

    def packs(self) -> tuple[ArchivedPack, ...]:
        """Every pack in the archive, by name and version."""
        found = (
            (f"sha256:{path.stem}", parse_manifest(path.read_bytes()))
            for path in (self.folder / "packs").glob("*.json")
        )
        return tuple(
            sorted(
                (ArchivedPack(digest, m.name, m.version) for digest, m in found),
                key=lambda pack: (pack.name, pack.version, pack.digest),
            )
        )

    def renumbered(self, pack: AgentPack) -> AgentPack:
        """The same pack, where a component whose number is taken by other bytes gets a free one."""
        entries = tuple(self._free(entry) for entry in pack.manifest.entries)
        return pack.replace(manifest=pack.manifest.replace(entries=entries))

    # ---- files

    def _free(self, entry: Entry) -> Entry:
        for version in count(entry.version):
            owner = self._owner(f"{entry.family}/{entry.name}@{version}")
            if owner in (None, entry.content_digest):
                return entry.replace(version=version)
        raise AssertionError("count() has no end")

    def _claim(self, components: list[Component]) -> None:
        """Own identities. All are checked before one is written, so a refusal leaves no trace."""
        for component in components:
            owner = self._owner(component.ref)
            if owner not in (None, component.content_digest):
                raise ArchiveConflict(
                    f"component {component.ref}",
                    got=f"bytes {component.content_digest}",
                    allowed=f"the bytes it has named since its release, {owner}",
                    next_step="Make the change again on the live pack; it then gets a new version.",
                )
        for component in components:
            data = component.text.encode()
            self._keep(self._object_path(component.content_digest), data)
            self._keep(self._identity_path(component.ref), component.content_digest.encode())

    def _keep(self, path: Path, data: bytes) -> None:
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, data)

    def _owner(self, ref: str) -> str | None:
        path = self._identity_path(ref)
        return path.read_text("ascii") if path.is_file() else None

    def _object(self, content_digest: str) -> str:
        path = self._object_path(content_digest)
        if not path.is_file():
            raise _absent(f"object {path.name}", "bytes that were archived")
        data = path.read_bytes()
        if digest_bytes(data) != content_digest:
            raise _tampered(path.name)
        return data.decode()

    def _object_path(self, content_digest: str) -> Path:
        return self.folder / "objects" / _hex(content_digest)

    def _pack_path(self, digest: str) -> Path:
        return self.folder / "packs" / f"{_hex(digest)}.json"

    def _identity_path(self, ref: str) -> Path:
        family, _, name = ref.partition("/")
        if not name or {family, name} & {".", ".."} or "/" in name or "\\" in ref:
            raise InvalidValue(
                "component reference",
                got=ref,
                allowed="family/name@version",
                next_step="Use `Component.ref`.",
            )
        return self.folder / "identities" / family / name


def _hex(digest: str) -> str:
    name = digest.removeprefix("sha256:")
    if len(name) != 64 or set(name) - set("0123456789abcdef"):
        raise InvalidValue(
            "digest",
            got=digest,
            allowed="sha256: and 64 hex digits",
            next_step="Use the digest that the archive returned.",
        )
    return name


def _absent(which: str, allowed: str) -> StoreError:
    return StoreError(
        which,
        got="nothing of that name in the archive",
        allowed=allowed,
        next_step="List what there is with `packs()`.",
    )


def _tampered(name: str) -> PackTampered:
    return PackTampered(
        f"archive file {name}",
        got="bytes that do not match its digest",
        allowed="the bytes that were archived",
        next_step="Restore the archive from a copy; nothing in it is ever edited.",
    )
