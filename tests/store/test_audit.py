"""The audit log: every change is seen, every crash is survived, and they are told apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logoslab.errors import AuditTampered, InvalidValue
from logoslab.files import write_atomic
from logoslab.pack.base import digest_bytes
from logoslab.store import AuditLog, Finding, audit, key_id
from logoslab.store.chain import GENESIS
from tests.store.conftest import Script, Still

PRIVATE = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = PRIVATE.public_key().public_bytes_raw()
KEYS = {key_id(PUBLIC): PUBLIC}


def _fill(log: AuditLog) -> AuditLog:
    """Five records, the fourth a checkpoint."""
    log.append("compile", "sha256:a", {"cost": 0.5, "who": "naïve", "n": None})
    log.append("decide", "sha256:b", {"accepted": True})
    log.append("approve", "sha256:b")
    log.checkpoint(key_id(PUBLIC), PRIVATE.sign)
    log.append("promote", "sha256:b", {"from": "sha256:a"})
    return log


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    return _fill(AuditLog(tmp_path / "audit.jsonl", Still()))


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> AuditLog:
    return _fill(AuditLog(tmp_path_factory.mktemp("lab") / "audit.jsonl", Still()))


def test_an_intact_log(log: AuditLog) -> None:
    """Five records, one checkpoint over the first three, nothing found, one record unsigned."""
    report = log.verify(KEYS, strict=True)
    assert report.intact
    assert (report.records, report.checkpoints, report.signed_through) == (5, 1, 2)
    assert not report.torn
    assert log.head().unsigned == 1
    acts = [record.act for record in log.records()]
    assert acts == ["compile", "decide", "approve", "checkpoint", "promote"]


def test_the_chain_as_anybody_can_check_it(log: AuditLog) -> None:
    """By hand: a hash is SHA-256 of the line's sorted compact JSON without its hash, and ``prev``
    is the hash before."""
    prev = GENESIS
    for line in log.path.read_text("utf-8").splitlines():
        record = json.loads(line)
        claimed = record.pop("hash")
        compact = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        assert record["prev"] == prev
        assert digest_bytes(compact.encode()) == claimed
        prev = claimed


def test_an_empty_log_is_intact(tmp_path: Path) -> None:
    """Nothing recorded, nothing signed, nothing wrong."""
    report = AuditLog(tmp_path / "audit.jsonl", Still()).verify({}, strict=True)
    assert (report.records, report.signed_through) == (0, None)


Edit = Callable[[list[bytes]], list[bytes]]


@pytest.mark.parametrize(
    ("edit", "line", "reason"),
    [
        (lambda x: [x[0], x[1].replace(b"true", b"false"), *x[2:]], 2,
         "edited: its hash does not fit its content"),
        (lambda x: [x[0], x[1].replace(b'"act"', b' "act"'), *x[2:]], 2,
         "edited: not a record of this log"),
        (lambda x: [x[0], b"?" * len(x[1][:-1]) + b"\n", *x[2:]], 2,
         "edited: not a record of this log"),
        (lambda x: x[1:], 1, "1 record(s) removed before it"),
        (lambda x: [x[0], *x[3:]], 2, "2 record(s) removed before it"),
        (lambda x: x[:-1], 5, "1 record(s) removed at the end"),
        (lambda x: [], 1, "5 record(s) removed at the end"),
        (lambda x: [x[0], x[2], x[1], *x[3:]], 2, "1 record(s) removed before it"),
        (lambda x: [x[0], x[0], *x[1:]], 2, "repeated or out of order"),
        (lambda x: [*x, x[-1]], 6, "repeated or out of order"),
        (lambda x: [*x[:-1], x[-1][:-1]], 5, "1 record(s) removed at the end"),
        (lambda x: [*x[:-1], x[-1][:-9]], 5, "1 record(s) removed at the end"),
        (lambda x: [*x[:2], b"\n", *x[2:]], 3, "edited: not a record of this log"),
        (lambda x: [*x[:2], b"[" * 100_000 + b"\n", *x[2:]], 3, "edited: not a record of this log"),
        (lambda x: [b"\xff" + x[0], *x[1:]], 1, "edited: not a record of this log"),
    ],
    ids=["word", "space", "garbage", "first", "middle", "last", "all", "swapped", "doubled",
         "last doubled", "no newline", "cut", "blank line", "deep", "no utf-8"],
)  # fmt: skip
def test_tampering_names_the_line_and_the_reason(
    log: AuditLog, edit: Edit, line: int, reason: str
) -> None:
    """Edited, removed, reordered, repeated and cut records are found, and nothing is added to such
    a log."""
    log.path.write_bytes(b"".join(edit(log.path.read_bytes().splitlines(keepends=True))))
    before = log.path.read_bytes(), log.head_path.read_bytes()
    first = log.verify(KEYS).findings[0]
    assert first == Finding(line=line, reason=reason)
    for act in (
        lambda: log.verify(KEYS, strict=True),
        lambda: log.append("promote", "x"),
        lambda: log.checkpoint("k", PRIVATE.sign),
    ):
        with pytest.raises(AuditTampered, match="allowed an unbroken chain"):
            act()
    assert (log.path.read_bytes(), log.head_path.read_bytes()) == before


def test_one_edit_is_one_finding(log: AuditLog) -> None:
    """A break is reported where it is, not on every line after it; the message in full."""
    raw = log.path.read_bytes()
    log.path.write_bytes(raw.replace(b'"who"', b'"whe"'))
    assert log.verify(KEYS).findings == (
        Finding(line=1, reason="edited: its hash does not fit its content"),
    )
    with pytest.raises(AuditTampered) as refusal:
        log.verify(KEYS, strict=True)
    assert str(refusal.value) == (
        "audit log audit.jsonl: allowed an unbroken chain of records up to the acknowledged one; "
        "got line 1: edited: its hash does not fit its content. Restore the log and its head file "
        "from a copy; until then nothing can be promoted or rolled back."
    )
    log.path.write_bytes(raw.replace(b'"who"', b'"whe"').replace(b"decide", b"decode"))
    with pytest.raises(AuditTampered, match=r"its content \(and 1 more\)\."):
        log.verify(KEYS, strict=True)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_single_byte_change_is_detected(filled: AuditLog, data: st.DataObject) -> None:
    """Whatever byte of the log or of its head file becomes another one, verify finds it."""
    path = data.draw(st.sampled_from([filled.path, filled.head_path]))
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != whole[at]))
    try:
        path.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
        assert not filled.verify(KEYS).intact
    finally:
        path.write_bytes(whole)
    assert filled.verify(KEYS).intact


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_removed_or_added_byte_is_detected(filled: AuditLog, data: st.DataObject) -> None:
    """Shorter by any piece, or longer by any byte before the end: verify finds it."""
    whole = filled.path.read_bytes()
    at = data.draw(st.integers(0, len(whole) - 1))
    to = data.draw(st.integers(at + 1, len(whole)))
    byte = data.draw(st.binary(min_size=1, max_size=3))
    try:
        for changed in (whole[:at] + whole[to:], whole[:at] + byte + whole[at:]):
            filled.path.write_bytes(changed)
            assert not filled.verify(KEYS).intact
    finally:
        filled.path.write_bytes(whole)


def _old_head(log: AuditLog, tmp_path: Path) -> bytes:
    """The head file as it was before the last record."""
    other = AuditLog(tmp_path / "other" / "audit.jsonl", Still())
    other.append("compile", "sha256:a", {"cost": 0.5, "who": "naïve", "n": None})
    other.append("decide", "sha256:b", {"accepted": True})
    other.append("approve", "sha256:b")
    other.checkpoint(key_id(PUBLIC), PRIVATE.sign)
    return other.head_path.read_bytes()


def test_every_crash_within_a_line_is_survived(log: AuditLog, tmp_path: Path) -> None:
    """For every length of a torn last line: no tampering is reported, no record is lost, and the
    next append keeps the piece in a repair record."""
    head, whole = _old_head(log, tmp_path), log.path.read_bytes()
    lines = whole.splitlines(keepends=True)
    kept = b"".join(lines[:-1])
    for cut in range(1, len(lines[-1]), 7):
        torn = lines[-1][:cut]
        log.path.write_bytes(kept + torn)
        log.head_path.write_bytes(head)
        report = log.verify(KEYS, strict=True)
        assert (report.records, report.torn) == (4, True)
        log.append("promote", "sha256:b")
        report = log.verify(KEYS, strict=True)
        assert (report.records, report.torn) == (6, False)
        assert log.path.read_bytes().startswith(kept)
        repair, promoted = log.records()[-2:]
        assert (repair.act, repair.detail) == ("repair", {"torn": torn.decode()})
        assert promoted.act == "promote"


def test_a_crash_between_log_and_head_is_survived(log: AuditLog, tmp_path: Path) -> None:
    """A whole record that the head does not know is kept, even when the next append crashes too."""
    whole = log.path.read_bytes()
    log.head_path.write_bytes(_old_head(log, tmp_path))
    assert log.verify(KEYS, strict=True).records == 5
    log.path.write_bytes(whole + b'{"act":"x"')
    log.append("rollback", "sha256:a")
    assert [r.act for r in log.records()][-3:] == ["promote", "repair", "rollback"]
    assert log.verify(KEYS, strict=True).records == 7


def test_two_crashes_in_a_row_are_survived(
    log: AuditLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The head lags by one record; the next append dies before its head is written too."""
    log.head_path.write_bytes(_old_head(log, tmp_path))

    def dies(path: Path, data: bytes) -> None:
        if b'"seq":5' in data:
            raise KeyboardInterrupt
        write_atomic(path, data)

    monkeypatch.setattr(audit, "write_atomic", dies)
    with pytest.raises(KeyboardInterrupt):
        log.append("rollback", "sha256:a")
    monkeypatch.undo()
    assert log.verify(KEYS, strict=True).records == 6
    log.append("rollback", "sha256:a")
    assert log.verify(KEYS, strict=True).records == 7


def test_a_consistent_record_in_the_place_of_another_is_found(log: AuditLog) -> None:
    """A replaced record with a right hash of its own breaks the link that follows it."""
    lines = log.path.read_bytes().splitlines(keepends=True)
    record = log.records()[1].replace(subject="sha256:EVIL")
    lines[1] = record.replace(hash=record.own_hash()).line()
    log.path.write_bytes(b"".join(lines))
    assert log.verify(KEYS).findings[0] == Finding(
        line=3, reason="the record before it was replaced"
    )


def test_a_crash_in_the_very_first_line_is_survived(tmp_path: Path) -> None:
    """A log that holds only a piece of a record starts anew with its repair."""
    log = AuditLog(tmp_path / "audit.jsonl", Still())
    log.path.write_bytes(b'{"act":')
    assert log.verify({}, strict=True).torn
    log.append("compile", "sha256:a")
    assert [r.act for r in log.records()] == ["repair", "compile"]
    assert log.verify({}, strict=True).records == 2


def test_records_beyond_the_head_are_found(log: AuditLog, tmp_path: Path) -> None:
    """A deleted head file, or one from two records ago, does not pass for a crash."""
    head = log.head_path.read_bytes()
    log.head_path.unlink()
    reason = "added after the acknowledged end, or audit.head was set back"
    assert log.verify(KEYS).findings == (Finding(line=1, reason=reason),)
    log.head_path.write_bytes(head)
    log.append("rollback", "x")
    log.append("rollback", "y")
    log.head_path.write_bytes(head)
    assert log.verify(KEYS).findings == (Finding(line=6, reason=reason),)


def test_a_whole_rewrite_fails_at_the_checkpoint(log: AuditLog) -> None:
    """Whoever can write both files can make a consistent chain, but not the signature in it."""
    records = log.records()
    forged = AuditLog(log.path.parent / "forged" / "audit.jsonl", Still())
    forged.append("compile", "sha256:EVIL")
    for record in records[1:3]:
        forged.append(record.act, record.subject, record.detail)
    old_signature = bytes.fromhex(str(records[3].detail["signature"]))
    forged.checkpoint(records[3].subject, lambda message: old_signature)
    assert forged.verify(KEYS).findings == (
        Finding(line=4, reason=f"the signature of key {key_id(PUBLIC)} does not hold"),
    )
    assert forged.verify({}).findings == (
        Finding(line=4, reason=f"signed by the unknown key {key_id(PUBLIC)}"),
    )


@pytest.mark.parametrize("act", ["checkpoint", "repair"])
def test_the_logs_own_acts_are_reserved(log: AuditLog, act: str) -> None:
    """Nobody writes a checkpoint without a signature or a repair without a crash."""
    with pytest.raises(InvalidValue) as refusal:
        log.append(act, "x")
    assert str(refusal.value) == (
        f"audit act: allowed any other word; got {act}. Call `checkpoint` to sign the log; repairs "
        "are written by themselves."
    )


def test_a_detail_that_is_not_json_leaves_the_log_alone(log: AuditLog) -> None:
    """NaN cannot be hashed canonically; nothing is half-written."""
    before = log.path.read_bytes()
    with pytest.raises(InvalidValue):
        log.append("decide", "x", {"p": float("nan")})
    assert log.path.read_bytes() == before
    assert log.verify(KEYS).intact


def test_two_processes_write_one_chain(tmp_path: Path, script: Script) -> None:
    """Forty records from two processes at once are one unbroken chain."""
    body = """
    log = AuditLog(lab / "audit.jsonl", Still())
    for n in range(20):
        log.append("decide", sys.argv[2], {"n": n})
    """
    for process in [script(body, "a"), script(body, "b")]:
        assert process.communicate()[1] == ""
    log = AuditLog(tmp_path / "audit.jsonl", Still())
    assert log.verify({}, strict=True).records == 40
    for name in "ab":
        assert [r.detail["n"] for r in log.records() if r.subject == name] == list(range(20))
