"""Asking a rule that anybody may have written: what counts as one, and as its answer."""

from __future__ import annotations

from typing import Any

import numpy as np

from logoslab.errors import InvalidValue, LogoslabError
from logoslab.gate.batch import Batch, Outcomes
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence
from logoslab.ports import AdmissionRule


def require_rule(given: Any) -> AdmissionRule:
    """The object, if it is a rule: not a class, with a name and ``decide``.

    Raises
    ------
    InvalidValue
    """
    named = isinstance(getattr(given, "name", None), str)
    if isinstance(given, type) or not (named and callable(getattr(given, "decide", None))):
        raise InvalidValue(
            "admission rule",
            got=repr(given),
            allowed="a rule's name, or an object with name and decide",
            next_step="Pass a rule object, such as PairedGate().",
        )
    found: AdmissionRule = given
    return found


def asked(rule: AdmissionRule, evidence: Evidence) -> Decision:
    """What a rule concludes of evidence.

    Raises
    ------
    InvalidValue
        When this is no evidence, or the rule breaks or answers with anything but a Decision.
    EvidenceError
        When the rule refuses the evidence.
    """
    if not isinstance(evidence, Evidence):
        raise InvalidValue(
            f"evidence for rule {rule.name}",
            got=repr(evidence),
            allowed="an Evidence",
            next_step="Make one with Evidence.from_frame or evidence_from_scores.",
        )
    try:
        answer: object = rule.decide(evidence)
    except LogoslabError:
        raise
    except Exception as cause:
        raise _broken(rule, f"{type(cause).__name__}: {cause}") from cause
    if not isinstance(answer, Decision):
        raise _broken(rule, repr(answer))
    return answer


def asked_many(rule: AdmissionRule, batch: Batch) -> Outcomes:
    """What a rule concludes of each row of a batch; one that judges no batches goes row by row.

    Raises
    ------
    InvalidValue
        When the rule breaks or its answer is not one known conclusion a row.
    """
    many = getattr(rule, "decide_many", None)
    if many is None:
        return Outcomes.of([asked(rule, batch.evidence(k)) for k in range(len(batch))])
    try:
        answer = many(batch)
    except LogoslabError:
        raise
    except Exception as cause:
        raise _broken(rule, f"{type(cause).__name__}: {cause}") from cause
    if not (isinstance(answer, Outcomes) and _complete(answer, len(batch))):
        raise _broken(rule, f"{answer!r} for {len(batch)} rows")
    return answer


def _complete(answer: Outcomes, rows: int) -> bool:
    """Whether there is one of the six conclusions and one count of tasks for each row."""
    words, tasks = np.asarray(answer.conclusions), np.asarray(answer.tasks)
    if words.shape != (rows,) or tasks.shape != (rows,):
        return False
    whole = np.issubdtype(tasks.dtype, np.integer) and bool((tasks >= 0).all())
    return whole and bool(np.isin(words, [c.value for c in Conclusion]).all())


def _broken(rule: AdmissionRule, got: str) -> InvalidValue:
    return InvalidValue(
        f"answer of rule {rule.name}",
        got=got,
        allowed="a Decision; of a batch, Outcomes with one conclusion and count of tasks a row",
        next_step="Correct the rule, or leave it out.",
    )
