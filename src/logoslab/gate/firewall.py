"""The holdout firewall: what a proposer may see, and how often one gate split may be used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from pydantic import Field

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.rule import regressed
from logoslab.pack.base import Frozen, digest
from logoslab.pack.decision import Decision
from logoslab.pack.event import Event
from logoslab.pack.evidence import Evidence
from logoslab.pack.policy import Holdout

FRESH = "draw fresh gate tasks"


class Exposure(Frozen):
    """Whether one more use of a split is within the budget; ``remaining`` None is no limit."""

    allowed: bool
    reason: str
    remaining: int | None = Field(ge=0)


class ExposureBudget(Frozen):
    """Use of each gate split against the root policy's maxima (LOGOS Eq. 60).

    Every decision tells the next proposal something about the split, every number that leaves
    tells more, and every accepted regression is harm that the split let through. So a split wears
    out. When it has, it is retired: fresh tasks are the only way on, and the budget has no reset.

    Attributes
    ----------
    max_decisions, max_releases, max_loss : int, int or None, float or None
        As in ``holdout`` of the root policy; None is no limit.
    used, released, lost : dict
        Split digest → decisions, releases of aggregates, and accepted regressions so far.
    """

    max_decisions: int = Field(ge=1)
    max_releases: int | None = Field(default=None, ge=0)
    max_loss: float | None = Field(default=None, ge=0)
    used: dict[str, int] = Field(default_factory=dict)
    released: dict[str, int] = Field(default_factory=dict)
    lost: dict[str, float] = Field(default_factory=dict)

    def ask(self, split: str) -> Exposure:
        """Whether a decision on this split may be made; the reason when not."""
        lost = self.lost.get(split, 0.0)
        if self.max_loss is not None and lost > self.max_loss:
            return _worn(
                f"the gate split has let {lost:g} regressed task(s) through, {self.max_loss:g} "
                "are allowed"
            )
        left = max(0, self.max_decisions - self.used.get(split, 0))
        if not left:
            return _worn(
                f"the gate split has served all {self.max_decisions} decisions that the root "
                "policy allows"
            )
        return Exposure(
            allowed=True, reason=f"{left} of {self.max_decisions} decisions left", remaining=left
        )

    def ask_release(self, split: str) -> Exposure:
        """Whether the aggregates of one more decision on this split may leave the firewall."""
        if self.max_releases is None:
            return Exposure(
                allowed=True, reason="the root policy sets no limit on releases", remaining=None
            )
        left = max(0, self.max_releases - self.released.get(split, 0))
        if left:
            reason = f"{left} of {self.max_releases} releases left"
            return Exposure(allowed=True, reason=reason, remaining=left)
        return Exposure(
            allowed=False,
            reason=f"the root policy allows {self.max_releases} release(s) of aggregates on this "
            "gate split and all are used; only verdicts leave",
            remaining=0,
        )

    def spend(self, split: str, *, loss: float = 0.0) -> ExposureBudget:
        """The budget after one decision on this split, whatever it concluded.

        Parameters
        ----------
        split : str
        loss : float, default 0
            Its :func:`accepted_loss`, at least 0.
        """
        if not loss >= 0:
            raise InvalidValue(
                "loss of a decision",
                got=loss,
                allowed="a number from 0: nothing that was lost comes back",
                next_step="Pass accepted_loss(decision, evidence).",
            )
        return self.replace(
            used={**self.used, split: self.used.get(split, 0) + 1},
            lost={**self.lost, split: self.lost.get(split, 0.0) + loss},
        )

    def release(self, split: str) -> ExposureBudget:
        """The budget after the aggregates of one decision on this split have left."""
        return self.replace(released={**self.released, split: self.released.get(split, 0) + 1})


def _worn(why: str) -> Exposure:
    return Exposure(allowed=False, reason=f"{why}; {FRESH}", remaining=0)


def accepted_loss(decision: Decision, evidence: Evidence) -> int:
    """Regressed tasks that an accepting decision lets through; 0 when it does not accept.

    Counted from the pairs, 1{d_i < 0}, so that it means the same for every rule. A rule that
    accepts evidence without pairs might have let every task through: all of them count.

    Parameters
    ----------
    decision : Decision
    evidence : Evidence
        What it judged.
    """
    if not decision.accepted:
        return 0
    metric, m_fail = decision.params.get("metric", "score"), decision.params.get("m_fail")
    try:
        pairs = evidence.pairs(
            str(metric), m_fail=m_fail if isinstance(m_fail, int | float) else 0.0
        )
    except EvidenceError:
        return len({trial.task for trial in evidence.trials})
    return int(np.count_nonzero(regressed(pairs.difference, 0.0)))


def split_digest(tasks: Iterable[str]) -> str:
    """Identity of a set of tasks: their ids, in any order."""
    return digest(sorted(set(tasks)))


def holdout_digest(holdout: Holdout) -> str:
    """Identity of a gate split as the root policy draws it: its salt and fractions."""
    return digest({"salt": holdout.salt, "fractions": holdout.fractions})


def proposal_trace(trace: Sequence[Event], proposal_tasks: Iterable[str]) -> tuple[Event, ...]:
    """Only the events of proposal-split tasks: all that a proposer is given of a run.

    Events that belong to no task, such as audit entries, are left out too: they may quote a gate.
    """
    allowed = set(proposal_tasks)
    return tuple(event for event in trace if event.task in allowed)
