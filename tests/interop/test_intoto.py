"""Decisions as in-toto statements: published field names, one bundle, and every tamper named."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue, LogoslabError, SourceError
from logoslab.gate import RULES, AnytimeGate, Guarded, PairedGate, SafetyAxis, measured_by
from logoslab.human import new_key, sign_approval
from logoslab.interop.intoto import Record, read_record, statements_of, write_record
from logoslab.lifecycle.records import export_record, verify_record
from logoslab.pack.base import digest
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.policy import RootPolicy
from tests.gate.make import evidence
from tests.lifecycle.make import Bench

OLD, NEW, POLICY = (f"sha256:{c * 64}" for c in "abc")
AT = 482196050.52  # 1985-04-12T23:20:50.52Z, the timestamp in the specification's example


def judged(rule: Any = None, **more: Any) -> tuple[Decision, Evidence]:
    """Six tasks: four fixed, one kept, one regressed."""
    base = evidence([0, 0, 0, 0, 1, 1], [1, 1, 1, 1, 1, 0]).replace(
        incumbent=OLD, candidate=NEW, scorer=f"exact sha256:{'d' * 64}",
        verifiers=(f"schema sha256:{'e' * 64}",), **more,
    )  # fmt: skip
    return measured_by((rule or PairedGate(r_max=1)).decide(base), base), base


def written(path: Path, rule: Any = None, **more: Any) -> dict[str, Any]:
    """The bundle as JSON."""
    decision, base = judged(rule)
    write_record(decision, base, path, at=AT, policy=POLICY, **more)
    return dict(json.loads(path.read_bytes()))


def failing(record: Record) -> list[str]:
    return [check.name for check in verify_record(record) if not check.holds]


def test_the_test_result_statement_has_the_published_fields() -> None:
    """Statement v1 and test-result v0.1: names, enums, and a descriptor's digest or content."""
    decision, base = judged()
    test, _ = statements_of(decision, base, at=AT, policy=POLICY, verifier="https://v.example")
    assert set(test) == {"_type", "subject", "predicateType", "predicate"}
    assert test["_type"] == "https://in-toto.io/Statement/v1"
    assert test["predicateType"] == "https://in-toto.io/attestation/test-result/v0.1"
    uri = "ni:///sha-256;" + base64.urlsafe_b64encode(b"\xcc" * 32).decode().rstrip("=")
    subject: Any = test["subject"]
    assert [s["digest"] for s in subject] == [{"sha256": "b" * 64}]
    predicate: Any = test["predicate"]
    assert set(predicate) == {"result", "configuration", "passedTests", "warnedTests",
                              "failedTests"}  # fmt: skip
    assert predicate["result"] == "WARNED"  # accepted, with one tolerated regression
    assert predicate["passedTests"] == ["t000", "t001", "t002", "t003", "t004"]
    assert (predicate["failedTests"], predicate["warnedTests"]) == (["t005"], [])
    found = {d["name"]: d for d in predicate["configuration"]}
    assert set(found) == {"admission rule", "root policy", "decision", "evidence", "incumbent",
                          "scorer", "verifier"}  # fmt: skip
    assert found["root policy"]["uri"] == uri.replace("zMzM" * 10 + "zMw", uri.split(";")[1])
    assert found["evidence"]["digest"] == {"sha256": base.digest.removeprefix("sha256:")}
    assert found["decision"]["digest"] == {"sha256": decision.digest.removeprefix("sha256:")}
    assert found["scorer"] == {
        "name": "scorer",
        "uri": found["scorer"]["uri"],
        "digest": {"sha256": "d" * 64},
        "annotations": {"name": "exact"},
    }
    assert found["admission rule"]["annotations"]["params"]["r_max"] == 1
    assert all({"uri", "digest", "content"} & set(d) for d in predicate["configuration"])


def test_the_verification_summary_has_the_published_fields() -> None:
    """SLSA verification summary v1: required fields, policy with a uri, no SLSA_ custom level."""
    decision, base = judged()
    test, summary = statements_of(
        decision, base, at=AT, policy=POLICY, verifier="https://v.example"
    )
    assert summary["predicateType"] == "https://slsa.dev/verification_summary/v1"
    assert summary["subject"] == test["subject"]
    predicate: Any = summary["predicate"]
    assert set(predicate) == {
        "verifier", "timeVerified", "resourceUri", "policy", "inputAttestations",
        "verificationResult", "verifiedLevels", "slsaVersion",
    }  # fmt: skip
    assert predicate["verifier"] == {"id": "https://v.example"}
    assert predicate["timeVerified"] == "1985-04-12T23:20:50.520000Z"
    assert predicate["policy"]["digest"] == {"sha256": "c" * 64}
    assert predicate["policy"]["uri"].startswith("ni:///sha-256;")
    # ni:///sha-256 of RFC 6920 is base64url without padding.
    assert predicate["resourceUri"] == "ni:///sha-256;" + base64.urlsafe_b64encode(
        bytes.fromhex("b" * 64)
    ).decode().rstrip("=")
    assert predicate["inputAttestations"][0]["digest"] == {
        "sha256": digest(test).removeprefix("sha256:")
    }
    assert predicate["verificationResult"] == "PASSED"
    assert predicate["verifiedLevels"] == ["LOGOSLAB_GATE_ACCEPTED"]


@pytest.mark.parametrize(("r_max", "result"), [(0, "FAILED"), (1, "WARNED")])
def test_a_rejection_failed(r_max: int, result: str) -> None:
    """Whatever is not accepted FAILED, in both statements."""
    decision, base = judged(PairedGate(r_max=r_max))
    test, summary = statements_of(decision, base, at=AT, policy=None, verifier="https://v.example")
    predicates: Any = test["predicate"], summary["predicate"]
    assert predicates[0]["result"] == result
    passed = decision.accepted
    assert predicates[1]["verificationResult"] == ("PASSED" if passed else "FAILED")
    assert (predicates[1]["verifiedLevels"] == ["FAILED"]) == (not passed)


def test_results_from_files_are_their_own_subject() -> None:
    """Without a pack digest the subject is the candidate's trials, so it has a digest still."""
    base = evidence([0, 0], [1, 1])
    decision = PairedGate().decide(base)
    test, summary = statements_of(decision, base, at=AT, policy=None, verifier="https://v.example")
    subject: Any = test["subject"]
    assert subject[0]["name"] == "trials of candidate"
    assert len(subject[0]["digest"]["sha256"]) == 64
    other = base.replace(trials=tuple(t.replace(order=9) for t in base.trials))
    again, _ = statements_of(decision, other, at=AT, policy=None, verifier="https://v.example")
    assert again["subject"] != subject
    predicate: Any = summary["predicate"]
    assert predicate["policy"]["name"] == "admission rule"  # all the policy there is


@pytest.mark.parametrize(
    "rule",
    [
        PairedGate(r_max=1),
        AnytimeGate(level=0.01),
        Guarded(PairedGate(r_max=1, safety_veto=False), SafetyAxis(role=None, margin=0.3)),
    ],
)
def test_a_record_is_read_as_written_and_holds(tmp_path: Path, rule: Any) -> None:
    """Round trip: the same values, and every check of a third party holds."""
    decision, base = judged(rule)
    wrote = write_record(decision, base, tmp_path / "r.json", at=AT, policy=POLICY)
    record = read_record(tmp_path / "r.json")
    assert record == wrote
    assert (record.decision, record.evidence.digest) == (decision, base.digest)
    assert failing(record) == []


def test_a_decision_that_names_no_scorer_gets_the_evidences(tmp_path: Path) -> None:
    """A rule used outside a lab leaves the scorer unstated; the record states it."""
    decision, base = judged()
    plain = decision.replace(scorer="unstated", verifiers=())
    record = write_record(plain, base, tmp_path / "r.json", at=AT)
    assert record.decision == decision
    assert failing(record) == []


def test_a_decision_on_other_evidence_is_not_written(tmp_path: Path) -> None:
    """Nothing is bundled that does not belong together, and no file is left."""
    decision, base = judged()
    other = base.replace(notes={"a": 1})
    with pytest.raises(EvidenceError, match="Pass the evidence that the decision judged"):
        write_record(decision, other, tmp_path / "r.json", at=AT)
    assert not (tmp_path / "r.json").exists()


def signed(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    key = new_key("owner", tmp_path / "config")
    _, base = judged()
    said = {"candidate": NEW, "evidence": base.digest, "policy": POLICY, "now": 1.0, **changes}
    approval = sign_approval(key, role="release_owner", **said)
    return written(tmp_path / "r.json", approvals=[approval], keys={key.id: key.public})


def test_an_approval_is_checked_by_its_key(tmp_path: Path) -> None:
    """The signature holds over this candidate, evidence and policy; the id is the key's hash."""
    signed(tmp_path)
    checks = verify_record(read_record(tmp_path / "r.json"))
    assert all(check.holds for check in checks)
    assert checks[-1].name == "approval of release_owner"
    assert checks[-1].detail.startswith("signed by key ")


def test_a_key_under_another_keys_id_signs_nothing(tmp_path: Path) -> None:
    """Whoever bundles a key of their own under a trusted id is found out: the id is its hash."""
    owner, forger = (new_key(name, tmp_path / "config") for name in ("owner", "forger"))
    _, base = judged()
    said = {"candidate": NEW, "evidence": base.digest, "policy": POLICY, "now": 1.0}
    true = sign_approval(owner, role="release_owner", **said)  # type: ignore[arg-type]
    false = true.replace(signature=forger.sign(true.text.message()).hex())
    written(tmp_path / "r.json", approvals=[false], keys={owner.id: forger.public})
    (found,) = [c for c in verify_record(read_record(tmp_path / "r.json")) if not c.holds]
    assert found.detail == f"no public key {owner.id} in the record"
    written(tmp_path / "r.json", approvals=[false], keys={owner.id: owner.public})
    assert failing(read_record(tmp_path / "r.json")) == ["approval of release_owner"]


@pytest.mark.parametrize("change", [{"candidate": OLD}, {"evidence": OLD}, {"policy": OLD}])
def test_an_approval_of_something_else_fails(tmp_path: Path, change: dict[str, str]) -> None:
    """A true signature over another act authorises nothing here."""
    signed(tmp_path, **change)
    assert failing(read_record(tmp_path / "r.json")) == ["approval of release_owner"]


@pytest.mark.parametrize(
    ("where", "value", "names"),
    [
        (("evidence", "trials", 0, "value"), 1.0, "evidence digest"),
        (("decision", "conclusion"), "reject_harmful", "conclusion"),
        (("decision", "params", "r_max"), 3, "statement test-result"),
        (("decision", "params", "r_max"), 0, "conclusion"),
        (("decision", "params", "extra"), 0, "decision"),
        (("decision", "numbers", "regressions"), 0.0, "numbers"),
        (("decision", "evidence"), OLD, "evidence digest"),
        (("decision", "candidate"), OLD, "packs"),
        (("decision", "scorer"), "judge", "scorer"),
        (("decision", "rule"), "accept_all", "decision"),
        (("decision", "rule"), "not_installed", "decision"),
        (("statements", 0, "subject", 0, "digest", "sha256"), "0" * 64, "statement test-result"),
        (("statements", 1, "predicate", "verificationResult"), "FAILED",
         "statement verification_summary"),
        (("policy",), OLD, "statement test-result"),
        (("at",), 5.0, "statement verification_summary"),
        (("seal",), OLD, "seal"),
    ],
)  # fmt: skip
def test_each_tamper_is_named(tmp_path: Path, where: Any, value: Any, names: str) -> None:
    """Sealed again by whoever changed it, the record still says what does not fit."""
    bundle = written(tmp_path / "r.json")
    put(bundle, where, value)
    if where != ("seal",):
        reseal(bundle)
    (tmp_path / "r.json").write_text(json.dumps(bundle))
    assert names in failing(read_record(tmp_path / "r.json"))


def test_a_rule_that_is_not_installed_cannot_be_recomputed(tmp_path: Path) -> None:
    """It is said, and it is no pass."""
    bundle = written(tmp_path / "r.json")
    put(bundle, ("decision", "rule"), "not_installed")
    record = Record.model_validate(bundle)
    (found,) = [c for c in verify_record(record) if c.name == "decision"]
    assert found.detail.startswith("cannot recompute: admission rule: allowed paired, anytime")


@pytest.mark.parametrize("params", [{"name": "x"}, {"self": 1}, {"m_fail": None}, {"safety": 3}])
def test_params_that_no_rule_takes_are_a_finding(tmp_path: Path, params: dict[str, Any]) -> None:
    """Made-up parameters are refused in words, never with a traceback."""
    bundle = written(tmp_path / "r.json")
    put(bundle, ("decision", "params"), params)
    assert "decision" in failing(Record.model_validate(bundle))


def leaves(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a JSON value that holds a plain value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, child in inner:
        if isinstance(child, dict | list):
            yield from leaves(child, (*at, key))
        else:
            yield (*at, key)


def put(bundle: Any, where: Any, value: Any) -> None:
    for key in where[:-1]:
        bundle = bundle[key]
    bundle[where[-1]] = value


def take(bundle: Any, where: Any) -> Any:
    for key in where:
        bundle = bundle[key]
    return bundle


def reseal(bundle: dict[str, Any]) -> None:
    """What a forger does who knows how."""
    bundle["seal"] = Record.model_validate(bundle).own_seal()


def changed(value: Any) -> Any:
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    return value[:-1] + ("0" if value[-1:] != "0" else "1")


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), again=st.booleans())
def test_no_single_change_goes_unseen(tmp_path: Path, data: st.DataObject, again: bool) -> None:
    """Change any one value of a record, sealed again or not: it is not read, or a check fails."""
    if not (tmp_path / "signed.json").exists():
        (tmp_path / "signed.json").write_text(json.dumps(signed(tmp_path)))
    bundle = json.loads((tmp_path / "signed.json").read_text())
    where = data.draw(st.sampled_from(sorted(leaves(bundle), key=str)))
    other = copy.deepcopy(bundle)
    put(other, where, changed(take(bundle, where)))
    try:
        if again:
            reseal(other)
    except (ValueError, LogoslabError):
        return
    if other == bundle:
        return  # the seal itself, sealed again
    (tmp_path / "other.json").write_text(json.dumps(other))
    try:
        record = read_record(tmp_path / "other.json")
    except SourceError:
        return
    assert failing(record), where


@pytest.mark.parametrize(
    ("content", "got"),
    [
        (b"not json", "Expecting value"),
        (b"[]", "Input should be an object"),
        (b'{"kind": "logoslab.record"}', "statements: Field required"),
        (b'{"at": "\xff"}', "'utf-8' codec can't decode"),
        (b'{"at": NaN}', "NaN, which is no JSON number"),
        (b'{"at": 1, "at": 2}', "an object that gives one name two values"),
        (b"[" * 100_000, "recursion"),
    ],
)
def test_what_is_no_record_is_a_typed_error(tmp_path: Path, content: bytes, got: str) -> None:
    """Unreadable is not the same as not holding."""
    (tmp_path / "r.json").write_bytes(content)
    with pytest.raises(SourceError) as caught:
        read_record(tmp_path / "r.json")
    assert got in str(caught.value.got)
    assert caught.value.which == "decision record r.json"


def test_a_missing_record_and_a_text_for_a_number_are_refused(tmp_path: Path) -> None:
    """Types are strict: a value that would have to be guessed at is not read."""
    with pytest.raises(SourceError, match="no such file"):
        read_record(tmp_path / "none.json")
    bundle = written(tmp_path / "r.json")
    put(bundle, ("evidence", "trials", 0, "value"), "0")
    (tmp_path / "r.json").write_text(json.dumps(bundle))
    with pytest.raises(SourceError, match=r"evidence\.trials\.0\.value"):
        read_record(tmp_path / "r.json")


def test_a_lab_exports_its_decision_with_policy_and_approvals(tmp_path: Path) -> None:
    """What a lab decided and a person signed can be checked elsewhere."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    approval = bench.approval(candidate, decisions)
    for decision in decisions:
        export_record(bench.lab.parts, decision, tmp_path / "r.json", [approval])
        record = read_record(tmp_path / "r.json")
        assert failing(record) == []
        assert record.policy == bench.lab.policy.digest
        assert set(record.keys) == {bench.key.id}
    assert isinstance(bench.lab.policy, RootPolicy)


@pytest.mark.parametrize("at", [float("nan"), float("inf"), -1, 1e18, "x", None])
def test_a_time_that_is_none_is_refused(tmp_path: Path, at: Any) -> None:
    """What no timestamp can hold is a typed error, and nothing is written."""
    decision, base = judged()
    with pytest.raises(InvalidValue, match="at of a decision record"):
        write_record(decision, base, tmp_path / "r.json", at=at)
    assert not list(tmp_path.iterdir())


def test_a_place_that_takes_no_file_is_named(tmp_path: Path) -> None:
    """A folder, a name with a zero and one of 5,000 letters, to write to and to read."""
    decision, base = judged()
    for place in (tmp_path, tmp_path / "a\0", tmp_path / ("x" * 5_000)):
        with pytest.raises(SourceError, match="decision record"):
            write_record(decision, base, place, at=AT)
        with pytest.raises(SourceError, match="decision record"):
            read_record(place)


@pytest.mark.parametrize("name", ["evaluator", "name", "self"])
@pytest.mark.parametrize("value", ["x", {"alpha": 0.9}])
def test_a_parameter_that_was_slipped_in_fails_the_decision(
    tmp_path: Path, name: str, value: Any
) -> None:
    """A parameter named like one of ours, in a record that was sealed again, is a failed check."""
    decision, base = judged()
    forged = decision.replace(params={**decision.params, name: value})
    write_record(forged, base, tmp_path / "r.json", at=AT)
    assert failing(read_record(tmp_path / "r.json")) == ["decision"]


@pytest.mark.parametrize("name", ["m_fail", "eps_reg"])
def test_a_number_beyond_floats_is_a_typed_error(tmp_path: Path, name: str) -> None:
    """10 to the 400 as a parameter has no canonical form and no float."""
    decision, base = judged()
    forged = decision.replace(params={**decision.params, name: 10**400})
    with pytest.raises(LogoslabError):
        write_record(forged, base, tmp_path / "r.json", at=AT)


def test_a_third_partys_rule_that_breaks_is_a_failed_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Making the decision again runs their code: what it raises is told, and nothing passes."""

    class Breaks(PairedGate):
        name: ClassVar[str] = "breaks"

        def decide(self, evidence: Evidence) -> Decision:
            raise KeyError("boom")

    decision, base = judged()
    forged = decision.replace(rule="breaks")
    write_record(forged, base, tmp_path / "r.json", at=AT)
    record = read_record(tmp_path / "r.json")
    assert failing(record) == ["decision"]
    monkeypatch.setitem(RULES, "breaks", Breaks)
    (check,) = (c for c in verify_record(record) if not c.holds)
    assert (check.name, "KeyError: 'boom'" in check.detail) == ("decision", True)
