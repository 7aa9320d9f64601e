"""An admission rule under a safety axis, and a rule made again from what is on record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from logoslab.errors import InvalidValue
from logoslab.gate.asking import asked, require_rule
from logoslab.gate.batch import SCORE
from logoslab.gate.measurement import measured_by
from logoslab.gate.registry import rule_named
from logoslab.gate.safety import SafetyAxis
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.needs import Needs
from logoslab.pack.policy import Evaluator
from logoslab.ports import AdmissionRule

SAFETY: Final = "safety"
"""Name under which a decision's params hold the axis."""


class Guarded:
    """An admission rule under a safety axis: itself an admission rule, by its inner rule's name.

    A veto turns any conclusion into ``reject_harmful``. Evidence that lacks what a limit needs is
    ``not_applicable``, unless the rule itself found harm. The axis goes on record in the
    decision's params, so the decision can be made again.

    Parameters
    ----------
    rule : AdmissionRule
    axis : SafetyAxis

    Raises
    ------
    InvalidValue
        When the rule is none or is guarded already: the record holds one axis.
    """

    def __init__(self, rule: AdmissionRule, axis: SafetyAxis) -> None:
        if isinstance(rule, Guarded) or not isinstance(axis, SafetyAxis):
            raise InvalidValue(
                "guarded rule",
                got=f"{rule!r} under {axis!r}",
                allowed="a rule that no axis guards yet, and a SafetyAxis",
                next_step="Put every limit into one SafetyAxis(...).",
            )
        self.rule, self.axis = require_rule(rule), axis

    @property
    def name(self) -> str:
        """The inner rule's name: what may promote stays what may promote."""
        return self.rule.name

    @property
    def source(self) -> str:
        """The inner rule's source and the axis's."""
        return f"{self.rule.source}; safety axis: LOGOS §3.6.4"

    @property
    def needs(self) -> Needs:
        """What the inner rule reads."""
        found: Needs = getattr(self.rule, "needs", Needs())
        return found

    @property
    def metric(self) -> str:
        """The metric that the inner rule reads."""
        return str(getattr(self.rule, "metric", SCORE))

    def decide(self, evidence: Evidence) -> Decision:
        """The inner rule's decision with every safety number, and what the axis makes of it."""
        decision, safety = asked(self.rule, evidence), self.axis.judge(evidence)
        conclusion, reason = decision.conclusion, decision.reason
        if safety.vetoes:
            conclusion = Conclusion.REJECT_HARMFUL
            reason = f"safety veto: {'; '.join(safety.vetoes)}"
        elif safety.lacking and conclusion is not Conclusion.REJECT_HARMFUL:
            conclusion = Conclusion.NOT_APPLICABLE
            reason = f"safety was not measured: {'; '.join(safety.lacking)}"
        return measured_by(decision, evidence).replace(
            params={**decision.params, SAFETY: self.axis.model_dump(mode="json")},
            conclusion=conclusion,
            reason=reason,
            numbers={**decision.numbers, **safety.numbers},
        )


def rule_on_record(
    name: str, evaluator: Evaluator | None = None, /, **params: Any
) -> AdmissionRule:
    """:func:`rule_named`, under the safety axis that the params hold as ``safety``, if any.

    Parameters
    ----------
    name : str
    evaluator : Evaluator, optional
    **params
        As a decision has them; ``safety`` is a :class:`SafetyAxis` or its JSON.

    Raises
    ------
    InvalidValue
        As :func:`rule_named`, and when ``safety`` is no axis.
    """
    axis = params.pop(SAFETY, None)
    rule = rule_named(name, evaluator, **params)
    return rule if axis is None else Guarded(rule, _axis(axis))


def _axis(given: Any) -> SafetyAxis:
    if isinstance(given, SafetyAxis):
        return given
    if not isinstance(given, Mapping):
        raise InvalidValue(
            "safety axis",
            got=given,
            allowed="a SafetyAxis, or its limits by name",
            next_step="Pass SafetyAxis(...).",
        )
    return SafetyAxis(**given)
