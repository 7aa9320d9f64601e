"""Keys stay with their person, and a signature authorises exactly one act."""

from __future__ import annotations

import os
import pickle
import stat
from pathlib import Path
from typing import Any

import pytest

from logoslab.errors import AuthorityError, InvalidValue
from logoslab.human import (
    PersonKey,
    check_approval,
    config_folder,
    key_id,
    load_key,
    new_key,
    sign_approval,
)
from logoslab.pack.policy import RootPolicy

DAY = 86_400.0
NOW = 1_000 * DAY


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config folder of the test's own."""
    monkeypatch.setenv("LOGOSLAB_CONFIG", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def ada() -> PersonKey:
    """The release owner's key."""
    return new_key("ada")


def policy_for(key: PersonKey, **approvals: Any) -> RootPolicy:
    """A policy under which this key is the release owner."""
    roles = {"release_owner": [key.id], "safety_owner": ["0" * 16]}
    return RootPolicy.model_validate(
        {"objective": "review", "approvals": {"roles": roles, **approvals}}
    )


def test_a_key_is_private_to_its_owner(ada: PersonKey, config: Path) -> None:
    """Mode 0600 in the config folder, and neither repr nor pickle gives it away."""
    path = config / "keys" / "ada.pem"
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_key("ada").public == ada.public
    assert ada.id == key_id(ada.public)
    assert repr(ada) == f"PersonKey(name='ada', id='{ada.id}')"
    with pytest.raises(TypeError, match="does not travel"):
        pickle.dumps(ada)


def test_a_key_is_never_overwritten(ada: PersonKey) -> None:
    """A second key of the name is refused and the first still loads."""
    with pytest.raises(AuthorityError) as caught:
        new_key("ada")
    assert str(caught.value) == (
        "new key ada: allowed a name that is not in use; keys are never overwritten; got a key of "
        "that name. Use load_key('ada'), or choose another name."
    )
    assert load_key("ada").id == ada.id


@pytest.mark.skipif(os.name == "nt", reason="Windows has no POSIX file modes")
def test_a_key_that_others_can_read_is_refused(ada: PersonKey, config: Path) -> None:
    """A readable key must be treated as leaked."""
    (config / "keys" / "ada.pem").chmod(0o644)
    with pytest.raises(AuthorityError) as caught:
        load_key("ada")
    assert str(caught.value) == (
        "key ada: allowed an Ed25519 private key that only its owner can read; got a file that "
        "others can read (mode 644). Treat it as leaked: take its id out of the root policy and "
        "make a new key."
    )


def test_what_is_no_key_is_refused(config: Path) -> None:
    """Absent, garbage, and a key of another kind."""
    with pytest.raises(AuthorityError, match=r"got no such key\. Make one with new_key\('bob'\)"):
        load_key("bob")
    (config / "keys").mkdir(parents=True)
    path = config / "keys" / "bob.pem"
    path.write_text("not a key")
    path.chmod(0o600)
    with pytest.raises(AuthorityError, match="a file that is no private key"):
        load_key("bob")


@pytest.mark.parametrize("name", ["", "../ada", "a/b", "a.pem", "-a", "x" * 65])
def test_a_name_cannot_choose_a_path(name: str) -> None:
    """Names are letters, digits, _ and -; nothing is written for another."""
    with pytest.raises(InvalidValue):
        new_key(name)


@pytest.mark.parametrize("mark", ["root_policy.toml", "traces.duckdb"])
def test_a_key_never_enters_a_lab(tmp_path: Path, mark: str) -> None:
    """A folder under a lab is refused, however deep."""
    lab = tmp_path / "lab"
    (lab / "deep" / "er").mkdir(parents=True)
    (lab / mark).touch()
    with pytest.raises(InvalidValue) as caught:
        new_key("ada", lab / "deep" / "er")
    assert str(caught.value) == (
        "key folder: allowed a folder outside every lab: what runs in a lab must not reach a key; "
        "got a folder inside the lab lab. Unset LOGOSLAB_CONFIG, or point it outside the lab."
    )
    assert not list(lab.rglob("*.pem"))


def test_the_config_folder_follows_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    """LOGOSLAB_CONFIG first, then the platform's own place."""
    monkeypatch.delenv("LOGOSLAB_CONFIG")
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CONFIG_HOME", "conf")
    assert config_folder() == Path("conf/logoslab")
    monkeypatch.setattr("sys.platform", "darwin")
    assert config_folder() == Path.home() / "Library/Application Support/logoslab"


def checked(key: PersonKey, under: RootPolicy, **changes: Any) -> tuple[bool, str]:
    """Sign for candidate c on evidence e, then check for what ``changes`` say."""
    signing = {
        "role": "release_owner", "candidate": "c", "evidence": "e", "policy": under.digest,
        "now": NOW, "days": 7.0, "reason": "read the diff",
    }  # fmt: skip
    checking: dict[str, Any] = {
        "candidate": "c", "evidence": "e", "policy": under, "keys": {key.id: key.public},
        "now": NOW + DAY, "scope": "promote",
    }  # fmt: skip
    sign = {k.removeprefix("sign_"): v for k, v in changes.items() if k.startswith("sign_")}
    check = {k: v for k, v in changes.items() if not k.startswith("sign_")}
    approval = sign_approval(key, **{**signing, **sign})
    check_of = check.pop("alter", lambda a: a)
    found = check_approval(check_of(approval), **{**checking, **check})
    return found.valid, found.reason


def test_a_good_approval_is_valid(ada: PersonKey) -> None:
    """Right key, role, digests, scope, time."""
    assert checked(ada, policy_for(ada)) == (True, "valid")


def test_each_failure_has_its_reason(ada: PersonKey) -> None:
    """One thing wrong at a time."""
    policy, eve = policy_for(ada), new_key("eve")
    other = policy_for(ada, max_age_days=29)

    def forged(approval: Any) -> Any:
        return approval.replace(text=approval.text.replace(reason="changed"))

    cases: list[tuple[dict[str, Any], str]] = [
        ({"sign_role": "king"}, "unknown role: the root policy has no role king"),
        ({"sign_role": "safety_owner"}, f"wrong key: {ada.id} may not sign as safety_owner"),
        ({"keys": {}}, f"unknown key: the lab has no public key {ada.id}"),
        ({"keys": {ada.id: eve.public}}, f"unknown key: the lab has no public key {ada.id}"),
        ({"alter": forged}, "bad signature: it was not made with this key over this text"),
        ({"scope": "rollback"}, "other scope: signed for promote, not rollback"),
        ({"candidate": "d"}, "other candidate: signed for c"),
        ({"evidence": "f"}, "other evidence: signed for e"),
        ({"policy": other}, f"other policy: signed under {policy.digest}"),
        ({"policy_digest": "sha256:x"}, f"other policy: signed under {policy.digest}"),
        ({"now": NOW - DAY}, "not yet valid: it was issued in the future"),
        ({"now": NOW + 8 * DAY}, "expired 1.0 days ago"),
        ({"sign_days": 90.0, "now": NOW + 31 * DAY}, "expired 1.0 days ago"),
    ]
    for change, reason in cases:
        assert checked(ada, policy, **change) == (False, reason)
    assert checked(eve, policy) == (False, f"wrong key: {eve.id} may not sign as release_owner")


def test_someone_elses_signature_under_a_listed_key_does_not_hold(ada: PersonKey) -> None:
    """Eve signs a text that names Ada's key."""
    policy, eve = policy_for(ada), new_key("eve")

    def steal(approval: Any) -> Any:
        return approval.replace(signature=eve.sign(approval.text.message()).hex())

    assert checked(ada, policy, alter=steal)[1].startswith("bad signature")


def test_a_lifetime_must_be_positive(ada: PersonKey) -> None:
    """An approval that never expires, or already has, cannot be made."""
    for days in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidValue):
            checked(ada, policy_for(ada), sign_days=days)
