"""Public keys of a lab: an id is its key's digest, and a private key has no place here."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from logoslab.errors import InvalidValue, StoreError
from logoslab.pack.signature import signature_holds
from logoslab.store import KeyRing, key_id

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()


def test_a_key_is_found_under_its_id(tmp_path: Path) -> None:
    """The id is 16 hex digits of the SHA-256 of the raw key; adding twice changes nothing."""
    ring = KeyRing(tmp_path / "keys")
    assert ring.all() == {}
    name = ring.add(PUBLIC)
    assert name == ring.add(PUBLIC) == key_id(PUBLIC) == hashlib.sha256(PUBLIC).hexdigest()[:16]
    assert ring.get(name) == PUBLIC
    assert ring.all() == {name: PUBLIC}


def test_an_unknown_key_names_the_known_ones(tmp_path: Path) -> None:
    """The refusal says which keys the lab has; a path is not an id."""
    ring = KeyRing(tmp_path / "keys")
    with pytest.raises(StoreError, match="got a lab that knows no key"):
        ring.get("0000")
    (tmp_path / "outside.pub").write_text(PUBLIC.hex())
    known = ring.add(PUBLIC)
    for name in ("0000", "../outside"):
        with pytest.raises(StoreError) as refusal:
            ring.get(name)
        assert str(refusal.value) == (
            f"public key {name}: allowed an id with a file in the lab's keys folder; got a lab "
            f"that knows {known}. Add the person's public key to the lab first."
        )


def test_only_a_raw_public_key_is_taken(tmp_path: Path) -> None:
    """Anything of another length is refused and nothing is written."""
    with pytest.raises(InvalidValue) as refusal:
        KeyRing(tmp_path / "keys").add(b"short")
    assert str(refusal.value) == (
        "public key: allowed the 32 raw bytes of an Ed25519 public key; got 5 bytes. Export it "
        "with `public_bytes_raw()`; never pass the private key."
    )
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize(
    "content",
    ["", "zz", PUBLIC.hex()[:-2], Ed25519PrivateKey.from_private_bytes(b"x" * 32)
     .private_bytes_raw().hex(), "é"],
    ids=["empty", "no hex", "short", "a private key", "no ascii"],
)  # fmt: skip
def test_a_file_that_is_not_its_key_is_refused(tmp_path: Path, content: str) -> None:
    """An exchanged or damaged file is refused by its id, without showing its content."""
    ring = KeyRing(tmp_path / "keys")
    name = ring.add(PUBLIC)
    (ring.folder / f"{name}.pub").write_text(content, "utf-8")
    for read in (lambda: ring.get(name), ring.all):
        with pytest.raises(StoreError) as refusal:
            read()
        assert str(refusal.value) == (
            f"public key file {name}.pub: allowed 64 hex digits whose key id is the file's name; "
            "got content that is not the public key of that id. Remove the file and add the key "
            "again from its owner; if it holds a private key, replace that key."
        )


def test_a_signature_holds_for_one_key_and_one_message() -> None:
    """Another key, message or signature, or text that is no signature, does not hold."""
    signature = PRIVATE.sign(b"m").hex()
    other = Ed25519PrivateKey.from_private_bytes(b"y" * 32).public_key().public_bytes_raw()
    assert signature_holds(PUBLIC, b"m", signature)
    assert not signature_holds(other, b"m", signature)
    assert not signature_holds(PUBLIC, b"n", signature)
    assert not signature_holds(PUBLIC, b"m", PRIVATE.sign(b"n").hex())
    assert not signature_holds(PUBLIC, b"m", "None")
