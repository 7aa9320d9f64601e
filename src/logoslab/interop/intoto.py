"""Decisions as in-toto Statements, bundled with what a third party needs to make them again.

Field names follow the published specifications: Statement v1 and ResourceDescriptor
(in-toto/attestation, spec/v1), the test-result predicate v0.1, and the SLSA verification summary
v1. Digests are SHA-256 over canonical JSON (RFC 8785); a digest becomes a URI as ``ni:`` names of
RFC 6920. Statements are not signed here: wrap them in an envelope of your own to say who made them.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field, JsonValue, ValidationError

from logoslab.errors import EvidenceError, InvalidValue, SourceError
from logoslab.files import write_atomic
from logoslab.pack.approval import Approval
from logoslab.pack.base import Frozen, digest, first_error_of
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence

STATEMENT: Final = "https://in-toto.io/Statement/v1"
TEST_RESULT: Final = "https://in-toto.io/attestation/test-result/v0.1"
SUMMARY: Final = "https://slsa.dev/verification_summary/v1"
VERIFIER: Final = "https://github.com/logoslab/logoslab"
ACCEPTED: Final = "LOGOSLAB_GATE_ACCEPTED"
LAST_SECOND: Final = 253_402_300_799.0  # 9999-12-31T23:59:59Z, the last that a timestamp can hold
MAX_BYTES: Final = 500_000_000

Json = dict[str, JsonValue]
_DIGEST = re.compile(r"(?:^|\s)sha256:([0-9a-f]{64})$")


class Record(Frozen):
    """One decision with everything that it rests on.

    Attributes
    ----------
    statements : tuple of dict
        The test-result and the verification-summary Statement.
    decision, evidence : Decision, Evidence
    approvals : tuple of Approval
    keys : dict
        Key id → hex public key of who approved. The id is made from the key, so trust in an id
        is trust in the key.
    policy : str or None
        Digest of the root policy; None outside a lab.
    at : float
        When the decision was written down, seconds since the epoch.
    verifier : str
        URI of who verified.
    seal : str
        Digest of everything above. It shows an accident; whoever can write the file can seal it
        again, and then the other checks speak.
    """

    kind: Literal["logoslab.record"] = "logoslab.record"
    version: Literal[1] = 1
    statements: tuple[Json, ...]
    decision: Decision
    evidence: Evidence
    approvals: tuple[Approval, ...] = ()
    keys: dict[str, str] = Field(default_factory=dict)
    policy: str | None = None
    at: float = Field(ge=0, le=LAST_SECOND)
    verifier: str = VERIFIER
    seal: str = ""

    def own_seal(self) -> str:
        """The seal that the content has."""
        parts = self.model_dump(mode="json", exclude={"seal", "decision", "evidence"})
        return digest({**parts, "decision": self.decision.digest, "evidence": self.evidence.digest})


def write_record(
    decision: Decision,
    evidence: Evidence,
    path: str | Path,
    *,
    at: float,
    policy: str | None = None,
    approvals: Sequence[Approval] = (),
    keys: Mapping[str, bytes] | None = None,
    verifier: str = VERIFIER,
) -> Record:
    """Write one JSON bundle that ``logoslab verify`` checks, atomically.

    Parameters
    ----------
    decision : Decision
        One that names no scorer gets the evidence's.
    evidence : Evidence
        What it judged. The bundle holds every trial: it is the full record, not for a proposer.
    path : path
    at : float
        Seconds since the epoch, to the year 9999.
    policy : str, optional
        Digest of the root policy.
    approvals : sequence of Approval
    keys : mapping, optional
        Key id → raw public key of the signers.
    verifier : str
        URI of who verified.

    Raises
    ------
    EvidenceError
        When the decision rests on other evidence.
    InvalidValue
        When ``at`` is no such time.
    SourceError
        When the file cannot be written.
    """
    if not (isinstance(at, int | float) and 0 <= at <= LAST_SECOND):
        raise InvalidValue(
            "at of a decision record",
            got=at,
            allowed="seconds since the epoch, to the year 9999",
            next_step="Pass a clock's now().",
        )
    if decision.evidence != evidence.digest:
        raise EvidenceError(
            "decision record",
            got=f"a decision on evidence {decision.evidence}",
            allowed=f"a decision on the evidence given, {evidence.digest}",
            next_step="Pass the evidence that the decision judged.",
        )
    if decision.scorer == "unstated":
        decision = decision.replace(scorer=evidence.scorer, verifiers=evidence.verifiers)
    record = Record(
        statements=statements_of(decision, evidence, at=at, policy=policy, verifier=verifier),
        decision=decision,
        evidence=evidence,
        approvals=tuple(approvals),
        keys={name: public.hex() for name, public in (keys or {}).items()},
        policy=policy,
        at=at,
        verifier=verifier,
    )
    record = record.replace(seal=record.own_seal())
    try:
        write_atomic(Path(path), record.model_dump_json().encode())
    except (OSError, ValueError) as cause:  # ValueError: a name with a zero in it
        raise SourceError(
            f"decision record {Path(path).name}",
            got=str(cause),
            allowed="a file that can be written",
            next_step="Choose another path.",
        ) from cause
    return record


def read_record(path: str | Path) -> Record:
    """Read what :func:`write_record` wrote. Nothing is checked but its form.

    Raises
    ------
    SourceError
        When the file is missing, too large, not JSON, or not a record.
    """
    file = Path(path)
    try:
        if not file.is_file():
            raise _unreadable(file, "no such file")
        if file.stat().st_size > MAX_BYTES:
            raise _unreadable(file, "more than 500 MB")
        data = file.read_bytes()
    except OSError as cause:
        raise _unreadable(file, str(cause)) from cause
    try:
        json.loads(data, object_pairs_hook=_once, parse_constant=_no_number)
        return Record.model_validate_json(data, strict=True)
    except ValidationError as cause:
        raise _unreadable(file, first_error_of(cause)) from cause
    except (ValueError, RecursionError) as cause:
        raise _unreadable(file, str(cause).splitlines()[0]) from cause


def statements_of(
    decision: Decision, evidence: Evidence, *, at: float, policy: str | None, verifier: str
) -> tuple[Json, Json]:
    """The test-result Statement and the verification summary that rests on it.

    The subject is the candidate: its pack, or, for results that came from files, the trials of
    its arm.
    """
    subject = _subject(decision, evidence)
    test = _statement(subject, TEST_RESULT, _test_result(decision, evidence, policy))
    accepted = decision.accepted
    summary: Json = {
        "verifier": {"id": verifier},
        "timeVerified": datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z"),
        "resourceUri": _uri(subject["digest"]["sha256"]),
        "policy": _policy(decision, policy),
        "inputAttestations": [_descriptor("test-result", digest(test))],
        "verificationResult": "PASSED" if accepted else "FAILED",
        "verifiedLevels": [ACCEPTED if accepted else "FAILED"],
        "slsaVersion": "1.0",
    }
    return test, _statement(subject, SUMMARY, summary)


def _statement(subject: Any, kind: str, predicate: Json) -> Json:
    return {
        "_type": STATEMENT,
        "subject": [subject],
        "predicateType": kind,
        "predicate": predicate,
    }


def _test_result(decision: Decision, evidence: Evidence, policy: str | None) -> Json:
    """PASSED is an accept, WARNED an accept with tolerated regressions, else FAILED."""
    passed, failed, warned = _tests(decision, evidence)
    result = "FAILED"
    if decision.conclusion is Conclusion.ACCEPT:
        result = "WARNED" if failed else "PASSED"
    configuration: list[JsonValue] = [
        _rule(decision),
        *([] if policy is None else [_policy(decision, policy)]),
        _descriptor("decision", decision.digest, conclusion=decision.conclusion.value),
        _descriptor("evidence", evidence.digest, sampling=evidence.sampling),
        _named("incumbent", decision.incumbent),
        _named("scorer", decision.scorer),
        *(_named("verifier", verifier) for verifier in decision.verifiers),
    ]
    return {
        "result": result,
        "configuration": configuration,
        "passedTests": list(passed),
        "warnedTests": list(warned),
        "failedTests": list(failed),
    }


def _tests(decision: Decision, evidence: Evidence) -> tuple[list[str], list[str], list[str]]:
    """Tasks that did not fall, tasks that fell by more than eps_reg, tasks without a baseline."""
    asked = {k: v for k, v in decision.params.items() if isinstance(v, int | float)}
    metric = str(decision.params.get("metric", "score"))
    try:
        m_fail, eps_reg = float(asked.get("m_fail", 0.0)), float(asked.get("eps_reg", 0.0))
        pairs = evidence.pairs(metric, m_fail=m_fail)
    except (EvidenceError, OverflowError):  # overflow: numbers that no rule takes, nor was given
        return [], [], []
    fell = pairs.difference < -eps_reg - 1e-12
    kept = [task for task, down in zip(pairs.tasks, fell, strict=True) if not down]
    lost = [task for task, down in zip(pairs.tasks, fell, strict=True) if down]
    return kept, lost, list(pairs.left_out)


def _subject(decision: Decision, evidence: Evidence) -> Any:
    if _DIGEST.search(decision.candidate):
        return _descriptor("candidate", decision.candidate)
    ran = [t.model_dump(mode="json") for t in evidence.trials if t.arm == "candidate"]
    return _descriptor(f"trials of {decision.candidate}", digest(ran))


def _rule(decision: Decision) -> Json:
    what: Json = {"rule": decision.rule, "params": decision.params}
    return _descriptor("admission rule", digest(what), **what)


def _policy(decision: Decision, policy: str | None) -> Json:
    """The root policy; outside a lab the rule with its parameters is all the policy there is."""
    return _rule(decision) if policy is None else _named("root policy", policy)


def _named(kind: str, text: str) -> Json:
    """A descriptor of something known as ``sha256:…``, ``name sha256:…`` or a name alone."""
    found = _DIGEST.search(text)
    if found:
        return _descriptor(kind, f"sha256:{found[1]}", name=text[: found.start()] or kind)
    return {"name": kind, "content": base64.b64encode(text.encode()).decode()}


def _descriptor(kind: str, of: str, **annotations: JsonValue) -> Json:
    hexadecimal = of.removeprefix("sha256:")
    found: Json = {"name": kind, "uri": _uri(hexadecimal), "digest": {"sha256": hexadecimal}}
    return {**found, "annotations": annotations} if annotations else found


def _uri(hexadecimal: str) -> str:
    name = base64.urlsafe_b64encode(bytes.fromhex(hexadecimal)).rstrip(b"=").decode()
    return f"ni:///sha-256;{name}"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """One value a name: a second one would be read by some readers and not by others."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object that gives one name two values")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text}, which is no JSON number")


def _unreadable(file: Path, got: str) -> SourceError:
    return SourceError(
        f"decision record {file.name}",
        got=got,
        allowed="a JSON file that `write_record` wrote",
        next_step="Ask for the file again from whoever made the decision.",
    )
