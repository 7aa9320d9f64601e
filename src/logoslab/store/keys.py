"""Public keys of a lab: ``lab/keys/<key id>.pub``. Private keys never enter a lab."""

from __future__ import annotations

from pathlib import Path

from logoslab.errors import InvalidValue, StoreError
from logoslab.files import locked, write_atomic
from logoslab.pack.signature import key_id

RAW_BYTES = 32


class KeyRing:
    """The public keys that a lab knows. Which of them may sign for what is root policy.

    Parameters
    ----------
    folder : Path
        ``lab/keys``; made by the first :meth:`add`.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, public: bytes) -> str:
        """Keep a raw 32-byte Ed25519 public key and return its id.

        Raises
        ------
        InvalidValue
            When the bytes are not a raw public key.
        """
        if len(public) != RAW_BYTES:
            raise InvalidValue(
                "public key",
                got=f"{len(public)} bytes",
                allowed="the 32 raw bytes of an Ed25519 public key",
                next_step="Export it with `public_bytes_raw()`; never pass the private key.",
            )
        name = key_id(public)
        path = self._path(name)
        with locked(path):
            write_atomic(path, f"{public.hex()}\n".encode())
        return name

    def get(self, name: str) -> bytes:
        """The raw public key of an id.

        Raises
        ------
        StoreError
            When the lab has no such key, or the file's content does not have this id.
        """
        path = self._path(name)
        known = sorted(p.stem for p in self.folder.glob("*.pub"))
        if path.stem not in known:
            raise StoreError(
                f"public key {name}",
                got=f"a lab that knows {', '.join(known) or 'no key'}",
                allowed="an id with a file in the lab's keys folder",
                next_step="Add the person's public key to the lab first.",
            )
        return _checked(path)

    def all(self) -> dict[str, bytes]:
        """Id → raw public key, every file checked. Raises :class:`StoreError` as :meth:`get`."""
        return {path.stem: _checked(path) for path in sorted(self.folder.glob("*.pub"))}

    def _path(self, name: str) -> Path:
        return self.folder / f"{Path(name).name}.pub"


def _checked(path: Path) -> bytes:
    """The key in a file, if its id is the file's name."""
    try:
        public = bytes.fromhex(path.read_bytes().decode("ascii").strip())
    except ValueError:
        public = b""
    if len(public) != RAW_BYTES or key_id(public) != path.stem:
        raise StoreError(
            f"public key file {path.name}",
            got="content that is not the public key of that id",
            allowed="64 hex digits whose key id is the file's name",
            next_step="Remove the file and add the key again from its owner; "
            "if it holds a private key, replace that key.",
        )
    return public
