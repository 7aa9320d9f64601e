"""Signatures: the short name of a public key, and whether a signature holds."""

from __future__ import annotations

import hashlib


def key_id(public: bytes) -> str:
    """The short name of a raw Ed25519 public key: 16 hex digits of its SHA-256."""
    return hashlib.sha256(public).hexdigest()[:16]


def signature_holds(public: bytes, message: bytes, signature: str) -> bool:
    """Whether a hex Ed25519 signature over a message was made with this key's private half.

    Bytes that are no key and text that is no signature hold nothing; neither is an error.
    """
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(public).verify(bytes.fromhex(signature), message)
    except (InvalidSignature, ValueError):
        return False
    return True
