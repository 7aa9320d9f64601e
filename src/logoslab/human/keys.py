"""A person's signing keys: Ed25519, in the user's config folder, never in a lab."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from logoslab.errors import AuthorityError, InvalidValue
from logoslab.files import config_folder
from logoslab.pack.signature import key_id

NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-]{0,63}")
LAB_MARKS: Final = ("root_policy.toml", "traces.duckdb", "audit.jsonl")


class PersonKey:
    """A private key in memory. It signs; it is never shown, pickled or written anywhere else."""

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        self.name, self._private = name, private

    @property
    def public(self) -> bytes:
        """The 32 raw bytes of the public key; give these to a lab."""
        return self._private.public_key().public_bytes_raw()

    @property
    def id(self) -> str:
        """What the root policy lists: 16 hex digits of the public key's SHA-256."""
        return key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        """The raw 64-byte signature."""
        return self._private.sign(message)

    def __repr__(self) -> str:
        return f"PersonKey(name={self.name!r}, id={self.id!r})"

    def __reduce__(self) -> str:
        raise TypeError("a private key does not travel; load it where it is needed")


def new_key(name: str, folder: Path | None = None) -> PersonKey:
    """Make a key and keep it in ``<config>/keys/<name>.pem``, readable by its owner only.

    Parameters
    ----------
    name : str
        Letters, digits, ``_`` and ``-``.
    folder : Path, optional
        Instead of the config folder; must not lie in a lab.

    Raises
    ------
    InvalidValue
        When the name is not one, or the folder lies in a lab.
    AuthorityError
        When a key of that name exists: a key is never overwritten.
    """
    path = _path(name, folder)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    private = Ed25519PrivateKey.generate()
    pem = private.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as cause:
        raise AuthorityError(
            f"new key {name}",
            got="a key of that name",
            allowed="a name that is not in use; keys are never overwritten",
            next_step=f"Use load_key({name!r}), or choose another name.",
        ) from cause
    with os.fdopen(handle, "wb") as file:
        file.write(pem)
    return PersonKey(name, private)


def load_key(name: str, folder: Path | None = None) -> PersonKey:
    """Read a key that :func:`new_key` made.

    Raises
    ------
    AuthorityError
        When there is none, others can read it, or it is not an Ed25519 key.
    InvalidValue
        When the name is not one, or the folder lies in a lab.
    """
    path = _path(name, folder)
    if not path.is_file():
        raise _unusable(name, "no such key", f"Make one with new_key({name!r}).")
    if os.name != "nt" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        raise _unusable(
            name,
            f"a file that others can read (mode {stat.S_IMODE(path.stat().st_mode):o})",
            "Treat it as leaked: take its id out of the root policy and make a new key.",
        )
    try:
        private = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as cause:
        raise _unusable(name, "a file that is no private key", "Make a new key.") from cause
    if not isinstance(private, Ed25519PrivateKey):
        raise _unusable(name, f"a {type(private).__name__}", "Make a new key.")
    return PersonKey(name, private)


def _path(name: str, folder: Path | None) -> Path:
    if not NAME.fullmatch(name):
        raise InvalidValue(
            "key name",
            got=name,
            allowed="1 to 64 letters, digits, _ and -, beginning with a letter or digit",
            next_step="Choose such a name.",
        )
    base = (folder if folder is not None else config_folder()).expanduser().resolve()
    for parent in (base, *base.parents):
        if any((parent / mark).exists() for mark in LAB_MARKS):
            raise InvalidValue(
                "key folder",
                got=f"a folder inside the lab {parent.name}",
                allowed="a folder outside every lab: what runs in a lab must not reach a key",
                next_step="Unset LOGOSLAB_CONFIG, or point it outside the lab.",
            )
    return base / "keys" / f"{name}.pem"


def _unusable(name: str, got: str, next_step: str) -> AuthorityError:
    return AuthorityError(
        f"key {name}",
        got=got,
        allowed="an Ed25519 private key that only its owner can read",
        next_step=next_step,
    )
