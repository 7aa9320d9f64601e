"""What measured: numbers of two scorers, or under two sets of verifiers, do not compare."""

from __future__ import annotations

from logoslab.errors import EvidenceError
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence

Measured = Evidence | Decision


def measured_by(decision: Decision, evidence: Evidence) -> Decision:
    """The decision with the scorer and verifiers of the evidence that it judged."""
    return decision.replace(scorer=evidence.scorer, verifiers=evidence.verifiers)


def require_same_measurement(one: Measured, other: Measured) -> None:
    """Refuse to compare what two different scorers or sets of verifiers measured.

    Parameters
    ----------
    one, other : Evidence or Decision
        Each names its scorer and its verifiers.

    Raises
    ------
    EvidenceError
        When the scorers differ or the verifiers differ.
    """
    for what in ("scorer", "verifiers"):
        mine, theirs = getattr(one, what), getattr(other, what)
        if mine != theirs:
            raise EvidenceError(
                f"comparison under one {what}",
                got=f"{_words(mine)} and {_words(theirs)}",
                allowed="values that the same scorer and verifiers measured",
                next_step="Measure both again with one scorer and one set of verifiers.",
            )


def _words(named: str | tuple[str, ...]) -> str:
    return named if isinstance(named, str) else ", ".join(named) or "none"
