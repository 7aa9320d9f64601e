"""Decision records: a lab's decision goes out, and anybody makes it again from the bundle."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from logoslab.errors import LogoslabError
from logoslab.gate import rule_on_record
from logoslab.gate.asking import asked
from logoslab.interop.intoto import Record, statements_of, write_record
from logoslab.lifecycle.parts import Parts
from logoslab.pack.approval import Approval
from logoslab.pack.base import Frozen
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.signature import key_id, signature_holds

# The same sums on another processor may differ in their last digits.
CLOSE = 1e-9


class Check(Frozen):
    """One thing that was checked, whether it holds, and what was seen."""

    name: str
    holds: bool
    detail: str


def export_record(
    parts: Parts, decision: Decision, path: str | Path, approvals: Sequence[Approval] = ()
) -> Record:
    """Write a decision of this lab with its evidence, policy digest and approvals.

    Parameters
    ----------
    parts : Parts
        ``lab.parts``.
    decision : Decision
        One that ``Lab.gate`` returned.
    path : path
    approvals : sequence of Approval
        E.g. ``lab.approvals(decision.candidate)``; the signers' public keys go along.

    Raises
    ------
    StoreError
        When the lab has no such evidence.
    """
    known, signers = parts.public_keys, {a.text.key for a in approvals}
    return write_record(
        decision,
        parts.evidence.get(decision.evidence, Evidence),
        path,
        at=parts.clock.now(),
        policy=parts.policy.digest,
        approvals=approvals,
        keys={name: known[name] for name in sorted(signers & set(known))},
    )


def verify_record(record: Record) -> tuple[Check, ...]:
    """Every check that a third party can make of a record, from its content alone.

    The bytes fit their digests; the rule, run again with the recorded parameters over the bundled
    evidence, gives the same decision; the statements say what the decision says; each approval is
    a signature over this candidate and evidence. What they cannot show is who wrote the file.
    """
    decision, evidence = record.decision, record.evidence
    return (
        _equal("seal", record.seal, record.own_seal()),
        _equal("evidence digest", decision.evidence, evidence.digest),
        _equal("packs", [decision.incumbent, decision.candidate],
               [evidence.incumbent, evidence.candidate]),
        _equal("scorer", decision.scorer, evidence.scorer),
        _equal("verifiers", decision.verifiers, evidence.verifiers),
        *_decided_again(decision, evidence),
        *_stated_again(record),
        *(_approved(record, approval) for approval in record.approvals),
    )  # fmt: skip


def _decided_again(decision: Decision, evidence: Evidence) -> Iterator[Check]:
    try:
        params: dict[str, Any] = dict(decision.params)
        again = asked(rule_on_record(decision.rule, **params), evidence)
    except LogoslabError as cause:
        yield Check(name="decision", holds=False, detail=f"cannot recompute: {cause}")
        return
    for name in ("conclusion", "reason", "params", "claim", "tasks"):
        yield _equal(name, getattr(decision, name), getattr(again, name))
    for name in ("numbers", "path"):
        yield _equal(name, getattr(decision, name), getattr(again, name), _close)


def _stated_again(record: Record) -> Iterator[Check]:
    again = statements_of(
        record.decision,
        record.evidence,
        at=record.at,
        policy=record.policy,
        verifier=record.verifier,
    )
    yield _equal("statements", len(record.statements), len(again))
    for said, made in zip(record.statements, again, strict=False):
        name = str(made["predicateType"]).split("/")[-2]
        yield _equal(f"statement {name}", said, made)


def _approved(record: Record, approval: Approval) -> Check:
    text, public = approval.text, _bytes(record.keys.get(approval.text.key, ""))
    name = f"approval of {text.role}"
    if key_id(public) != text.key:
        return Check(name=name, holds=False, detail=f"no public key {text.key} in the record")
    if not signature_holds(public, text.message(), approval.signature):
        return Check(name=name, holds=False, detail=f"not signed by key {text.key}")
    signed = [text.candidate, text.evidence, text.policy]
    mine = [record.decision.candidate, record.decision.evidence, record.policy]
    found = _equal(name, signed, mine)
    return found.replace(detail=f"signed by key {text.key}") if found.holds else found


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""


def _equal(
    name: str, said: Any, made: Any, same: Callable[[Any, Any], bool] | None = None
) -> Check:
    where = _difference(said, made, same or (lambda a, b: bool(a == b)))
    if where is None:
        return Check(name=name, holds=True, detail="as recomputed")
    place, got, want = where
    return Check(
        name=name,
        holds=False,
        detail=f"{place.lstrip('.') or 'the record'} says {_short(got)}, recomputed {_short(want)}",
    )


def _difference(
    said: Any, made: Any, same: Callable[[Any, Any], bool], at: str = ""
) -> tuple[str, Any, Any] | None:
    """The first place where two JSON values differ, and both values there."""
    if isinstance(said, Mapping) and isinstance(made, Mapping):
        pairs = [(f".{k}", said.get(k), made.get(k)) for k in sorted({*said, *made})]
        if set(said) == set(made):
            found = (_difference(a, b, same, at + k) for k, a, b in pairs)
            return next((f for f in found if f is not None), None)
        return at, sorted(said), sorted(made)
    if isinstance(said, list | tuple) and isinstance(made, list | tuple):
        if len(said) != len(made):
            return f"{at} length", len(said), len(made)
        rows = (_difference(a, b, same, f"{at}[{i}]") for i, (a, b) in
                enumerate(zip(said, made, strict=True)))  # fmt: skip
        return next((f for f in rows if f is not None), None)
    return None if same(said, made) else (at, said, made)


def _close(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(one == other)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
