"""Verdict of an output verifier (LOGOS Eq. 12) and its metadata (Eq. 46)."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from logoslab.pack.base import Frozen


class Outcome(StrEnum):
    """Only ``pass`` counts as acceptance; everything else rejects."""

    PASS = "pass"
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    ERROR = "error"


HARD_KINDS = frozenset({"schema", "syntax", "lint", "security", "sandbox"})

Kind = Literal[
    "schema", "syntax", "lint", "security", "sandbox",
    "unit_tests", "exact_scorer", "execution", "regression", "learned", "judge",
]  # fmt: skip
Assurance = Literal[
    "deterministic_oracle", "execution", "trained_with_audit", "judge_supported", "heuristic"
]


class VerifierSpec(Frozen):
    """What a pack declares about one of its verifiers.

    ``sufficient`` says whether a pass is enough evidence for ``scope`` on its own.
    """

    name: str
    kind: Kind
    scope: str = "output"
    assurance: Assurance
    sufficient: bool = False
    cost: float = 0.0
    failure_mode: str = ""


class Verdict(Frozen):
    """One verifier's answer, with the reason in words."""

    verifier: str
    kind: Kind
    scope: str
    outcome: Outcome
    detail: str = ""
    sufficient: bool = False


class StackVerdict(Frozen):
    """B_output with all the verdicts that it rests on (LOGOS Eq. 47)."""

    accepted: bool
    reason: str
    verdicts: tuple[Verdict, ...]
