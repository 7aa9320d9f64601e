"""Key names and Ed25519 signatures, against the vectors of RFC 8032."""

import hashlib

import pytest

from logoslab import human, store
from logoslab.pack.signature import key_id, signature_holds

# RFC 8032 §7.1, TEST 2: public key, message, signature.
PUBLIC = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
MESSAGE = bytes.fromhex("72")
SIGNATURE = (
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_a_key_is_named_alike_in_every_room():
    """One function; its value is 16 hex digits of SHA-256."""
    assert key_id(PUBLIC) == hashlib.sha256(PUBLIC).hexdigest()[:16]
    assert store.key_id is human.key_id is key_id


def test_the_published_signature_holds():
    """RFC 8032's own signature over its own message."""
    assert signature_holds(PUBLIC, MESSAGE, SIGNATURE)


@pytest.mark.parametrize(
    ("public", "message", "signature"),
    [
        (PUBLIC, b"s", SIGNATURE),
        (PUBLIC, MESSAGE, "93" + SIGNATURE[2:]),
        (PUBLIC, MESSAGE, SIGNATURE[:-2]),
        (PUBLIC, MESSAGE, "no hex"),
        (PUBLIC[:-1], MESSAGE, SIGNATURE),
        (b"", MESSAGE, SIGNATURE),
    ],
)
def test_anything_else_does_not_hold(public, message, signature):
    """Another message, signature or key, and bytes that are none of these."""
    assert not signature_holds(public, message, signature)
