"""Decision: what an admission rule concludes. It promotes nothing."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from pydantic import Field, JsonValue

from logoslab.pack.base import Frozen


class Conclusion(StrEnum):
    """The six answers a rule can give. Only ``accept`` lets a promotion be considered."""

    ACCEPT = "accept"
    REJECT_HARMFUL = "reject_harmful"
    REJECT_INSUFFICIENT = "reject_insufficient"
    UNDECIDED = "undecided"
    CONFLICT = "conflict"
    NOT_APPLICABLE = "not_applicable"


AGGREGATES: Final = ("mean_difference", "regressions", "fixed", "missing")
"""Numbers of a decision that may leave the firewall: counts and means over all tasks."""


class Decision(Frozen):
    """A rule's conclusion with every number it rests on: the full evidence record.

    Attributes
    ----------
    rule, params : str, dict
        Which rule, with which parameters.
    conclusion : Conclusion
    reason : str
        In plain words.
    numbers : dict
        Named quantities (``mean_difference``, ``regressions``, ``p_gain``…); None is unmeasured.
    path : dict
        Named sequences task by task (``log_wealth_gain``…) for figures; may be empty.
    claim : str
        The claim that the sampling contract supports, or "audit account only".
    incumbent, candidate, evidence : str
        Digests of what was compared and of the evidence.
    tasks : int
        How many tasks the decision used.
    scorer, verifiers : str, tuple of str
        What measured: as the evidence names it.
    """

    rule: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    conclusion: Conclusion
    reason: str
    numbers: dict[str, float | None] = Field(default_factory=dict)
    path: dict[str, tuple[float, ...]] = Field(default_factory=dict)
    claim: str = "audit account only"
    incumbent: str
    candidate: str
    evidence: str
    tasks: int = Field(ge=0)
    scorer: str = "unstated"
    verifiers: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the conclusion is ``accept``."""
        return self.conclusion is Conclusion.ACCEPT

    def proposal_view(self, withheld: str = "") -> ProposalView:
        """The part a proposer may see: verdict, aggregates and hashes (LOGOS §3.6.4).

        No task, no reason (it may name a slice) and no number that one example could set.

        Parameters
        ----------
        withheld : str
            Why the aggregates stay inside as well; empty lets them out.
        """
        return ProposalView(
            rule=self.rule,
            conclusion=self.conclusion,
            incumbent=self.incumbent,
            candidate=self.candidate,
            evidence=self.evidence,
            tasks=self.tasks,
            aggregates={}
            if withheld
            else {k: self.numbers[k] for k in AGGREGATES if k in self.numbers},
            withheld=withheld,
        )


class ProposalView(Frozen):
    """A gate decision as a proposer may see it.

    Attributes
    ----------
    aggregates : dict
        Those of :data:`AGGREGATES` that the decision has; empty when withheld.
    withheld : str
        Why there are no aggregates; empty when they were released.
    """

    rule: str
    conclusion: Conclusion
    incumbent: str
    candidate: str
    evidence: str
    tasks: int
    aggregates: dict[str, float | None] = Field(default_factory=dict)
    withheld: str = ""
