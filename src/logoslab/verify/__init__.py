"""Whether an output may be accepted: typed verdicts, hard checks, acceptance evidence (Eq. 47)."""

from logoslab.verify.checks import (
    CopiedSpanCheck,
    ExactCheck,
    ExecutionCheck,
    SchemaCheck,
    SecurityCheck,
    verifiers_for,
)
from logoslab.verify.identity import code_digest
from logoslab.verify.scorer import ExactScorer, Part, fields_equal, step_echoes
from logoslab.verify.stack import Requirement, VerifierStack

__all__ = [
    "CopiedSpanCheck",
    "ExactCheck",
    "ExactScorer",
    "ExecutionCheck",
    "Part",
    "Requirement",
    "SchemaCheck",
    "SecurityCheck",
    "VerifierStack",
    "code_digest",
    "fields_equal",
    "step_echoes",
    "verifiers_for",
]
