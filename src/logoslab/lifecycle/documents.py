"""Immutable JSON documents of a lab, kept under their own digest."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from logoslab.errors import PackTampered, StoreError
from logoslab.files import write_atomic
from logoslab.pack.base import Frozen

V = TypeVar("V", bound=Frozen)


class Documents:
    """``lab/<kind>/<hex>.json``: evidence, decisions, candidates, approvals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, value: Frozen) -> str:
        """Keep a value and return its digest. Keeping it again is harmless."""
        path = self._path(value.digest)
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, value.model_dump_json().encode())
        return value.digest

    def get(self, digest: str, kind: type[V]) -> V:
        """The value of a digest, checked.

        Raises
        ------
        StoreError
            When there is none.
        PackTampered
            When the file was changed.
        """
        path = self._path(digest)
        if not path.is_file():
            raise StoreError(
                f"{self.folder.name} {digest}",
                got="no such document",
                allowed="the digest of a document that this lab wrote",
                next_step="Use the value that the lab returned, in the lab that returned it.",
            )
        try:
            value = kind.model_validate_json(path.read_bytes())
        except ValidationError:
            value = None
        if value is None or value.digest != digest:
            raise PackTampered(
                f"{self.folder.name} {path.name}",
                got="bytes that do not match its digest",
                allowed="the bytes that the lab wrote",
                next_step="Restore the file from a copy, or produce the document again.",
            )
        return value

    def has(self, digest: str) -> bool:
        """Whether a document of this digest is kept."""
        return self._path(digest).is_file()

    def all(self, kind: type[V]) -> list[V]:
        """Every document, in order of digest."""
        return [self.get(f"sha256:{p.stem}", kind) for p in sorted(self.folder.glob("*.json"))]

    def _path(self, digest: str) -> Path:
        return self.folder / f"{digest.removeprefix('sha256:')}.json"
