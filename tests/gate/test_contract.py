"""The contract of admission rules over every rule, and the A/A self-test of those with a level."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Self

import numpy as np
import pytest
from pydantic import Field, field_validator, model_validator

from logoslab.gate import (
    RULES,
    AnytimeGate,
    Batch,
    BootstrapInterval,
    EValuePairs,
    McNemar,
    Outcomes,
    PairedRule,
    Rule,
    Sprt,
    Wilcoxon,
    rule_named,
)
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.needs import Needs
from logoslab.stats import mcnemar_exact
from logoslab.testing import rule_checks as checks
from logoslab.testing.checks import (
    a_a_audit,
    admission_rule_checks,
    error_level_checks,
    name_of,
    rule_passes_the_a_a_audit,
)

LEVEL = 0.05
STATE_A_LEVEL: dict[str, Callable[[], Rule]] = {
    "mcnemar": lambda: McNemar(level=LEVEL),
    "wilcoxon": lambda: Wilcoxon(level=LEVEL),
    "anytime": lambda: AnytimeGate(level=LEVEL),
    # With this budget for regressions the gain process alone decides: the sharper audit.
    "anytime_gain": lambda: AnytimeGate(level=LEVEL, rho_max=0.9),
    "e_value_pairs": lambda: EValuePairs(level=LEVEL),
    "sprt": lambda: Sprt(alpha=LEVEL),
}
SHARP = {
    "accept_all": (60, 0.5),
    "mean_improves": (60, 0.5),
    "minibatch_sum": (60, 0.5),
    "paired": (20, 0.95),
}
"""Tasks and success rate at which each rule without a level shows that it has none."""


class PeekingMcNemar(PairedRule):
    """McNemar after every task, stopping at the first p-value at or below the level."""

    name: ClassVar[str] = "peeking_mcnemar"
    source: ClassVar[str] = "what a fixed test must not be used for"

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        up, down = (pairs.difference > 0).cumsum(), (pairs.difference < 0).cumsum()
        low = mcnemar_exact(up, down, alternative="greater").min()
        found = Conclusion.ACCEPT if low <= LEVEL else Conclusion.REJECT_INSUFFICIENT
        return self._conclude(evidence, found, f"smallest p {low:.3g}", tasks=len(pairs.tasks))


class Latency(Rule):
    """Accept ⇔ the candidate's longest trial is within a limit and its score never fell to 0."""

    name: ClassVar[str] = "latency"
    source: ClassVar[str] = "a third party"
    needs: ClassVar[Needs] = Needs(
        arms=("candidate", "control"), roles=("safety",), metrics=("proxy",), replicates=2,
        binary=True, cost=True, latency=True, calls=True, component=True,
    )  # fmt: skip

    limit: float = Field(default=2.0, gt=0, le=9, description="longest trial, seconds")

    def _decide(self, evidence: Evidence) -> Decision:
        mine = [t for t in evidence.trials if t.arm == "candidate" and t.metric == self.metric]
        longest = max(t.latency or 0.0 for t in mine)
        good = longest <= self.limit and any(t.value for t in mine)
        found = Conclusion.ACCEPT if good else Conclusion.REJECT_HARMFUL
        return self._conclude(
            evidence, found, f"longest {longest:g} s", tasks=len({t.task for t in mine}),
            numbers={"longest": longest},
        )  # fmt: skip


THIRD_PARTY: list[Rule] = [PeekingMcNemar(), Latency(), Latency(limit=0.5, metric="speed")]


class _Plain(PairedRule):
    """Accept ⇔ the last task that arrived did not fall."""

    name: ClassVar[str] = "plain"
    source: ClassVar[str] = "tests"

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        found = Conclusion.ACCEPT if self._good(pairs) else Conclusion.REJECT_HARMFUL
        return self._conclude(evidence, found, self._reason(), tasks=len(pairs.tasks))

    def _good(self, pairs: Pairs) -> bool:
        return bool(pairs.difference[-1] >= 0)

    def _reason(self) -> str:
        return "the last task"


class ReadsTheOrder(_Plain):
    """Depends on arrival and does not say so."""


class Silent(_Plain):
    """Gives no reason."""

    def _reason(self) -> str:
        return ""


class TakesAll(_Plain):
    """Accepts what broke everything."""

    def _good(self, pairs: Pairs) -> bool:
        return True


class Sourceless(_Plain):
    """Names no source."""

    source: ClassVar[str] = ""


class Moody(_Plain):
    """Remembers how often it was asked."""

    asked: ClassVar[list[int]] = []

    def _reason(self) -> str:
        self.asked.append(1)
        return f"asked {len(self.asked)} times"


class Guesses(_Plain):
    """Judges without the cost that it says it needs."""

    needs: ClassVar[Needs] = Needs(cost=True)

    def decide(self, evidence: Evidence) -> Decision:
        """Skips the needs."""
        return self._decide(evidence)


class OutOfRange(_Plain):
    """Its default lies outside its own range."""

    share: float = Field(default=2.0, ge=0, le=1, description="a share")


class Lenient(_Plain):
    """Takes every value for a parameter with a range, here by rounding it into the range."""

    share: float = Field(default=0.5, ge=0, le=1, description="a share")

    @field_validator("share", mode="before")
    @classmethod
    def _clipped(cls, value: float) -> float:
        return min(1.0, max(0.0, value)) if value == value else 0.5


class Forgetful(_Plain):
    """Records another parameter than it was made with."""

    share: float = Field(default=0.5, description="a share")

    @model_validator(mode="after")
    def _moved(self) -> Self:
        object.__setattr__(self, "share", self.share / 2)
        return self


class Needy(_Plain):
    """Declines evidence with all its needs."""

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        return self.not_applicable(evidence, "something else is missing")


class OtherInBatches(_Plain):
    """Concludes otherwise when it sees many."""

    def decide_many(self, batch: Batch) -> Outcomes:
        """Accepts all."""
        return Outcomes.first_true([], Conclusion.ACCEPT, 1, len(batch))


class Invents(_Plain):
    """Accepts without a candidate."""

    def decide(self, evidence: Evidence) -> Decision:
        """Accepts."""
        return self._conclude(evidence, Conclusion.ACCEPT, "fine", tasks=1)


BROKEN = [
    (Sourceless, checks.rule_names_itself_and_its_source),
    (OutOfRange, checks.rule_parameters_fit_their_own_ranges),
    (Lenient, checks.rule_refuses_parameters_out_of_range),
    (Needy, checks.rule_judges_evidence_with_all_its_needs),
    (Guesses, checks.rule_declines_evidence_without_a_need),
    (Invents, checks.rule_declines_evidence_without_a_candidate),
    (Moody, checks.rule_is_a_pure_function),
    (Silent, checks.rule_explains_itself),
    (Forgetful, checks.rule_can_be_made_again_from_its_record),
    (ReadsTheOrder, checks.rule_reads_the_order_only_if_it_says_so),
    (TakesAll, checks.rule_never_accepts_what_broke_everything),
    (OtherInBatches, checks.rule_concludes_the_same_of_a_batch),
]


def audit_rng() -> np.random.Generator:
    """A fixed stream of tasks."""
    return np.random.default_rng(20_260)


@pytest.mark.parametrize("check", admission_rule_checks(), ids=name_of)
@pytest.mark.parametrize("name", RULES)
def test_every_rule_keeps_the_contract(name: str, check: Callable[[Rule], None]) -> None:
    """Each registered rule, with its defaults, passes each check."""
    check(rule_named(name))


@pytest.mark.parametrize("check", admission_rule_checks(), ids=name_of)
@pytest.mark.parametrize("rule", THIRD_PARTY, ids=lambda rule: rule.name)
def test_a_third_party_rule_keeps_the_contract(rule: Rule, check: Callable[[Rule], None]) -> None:
    """The same suite holds a rule from outside, whatever it needs and however it is written."""
    check(rule)


@pytest.mark.parametrize(("rule", "check"), BROKEN, ids=lambda part: part.__name__)
def test_each_check_catches_what_it_is_for(rule: type[Rule], check: Callable[[Rule], None]) -> None:
    """A rule that breaks one clause fails the check of that clause."""
    with pytest.raises(AssertionError):
        check(rule())


@pytest.mark.parametrize("check", error_level_checks(), ids=name_of)
@pytest.mark.parametrize("make", STATE_A_LEVEL.values(), ids=list(STATE_A_LEVEL))
@pytest.mark.parametrize(("tasks", "p"), [(60, 0.5), (100, 0.9)])
def test_a_stated_level_holds(
    make: Callable[[], Rule], check: Callable[..., None], tasks: int, p: float
) -> None:
    """Identical arms are adopted no more often than the level says, by an exact bound."""
    check(make(), level=LEVEL, rng=audit_rng(), streams=4_000, tasks=tasks, p=p)


def test_the_bootstrap_interval_holds_half_its_alpha_only_nearly() -> None:
    """At 60 tasks .025 holds; at 6 it is exceeded, and twice that is the most it reaches."""
    rule, rng = BootstrapInterval(draws=1_000), audit_rng()
    assert a_a_audit(rule, level=LEVEL / 2, rng=rng, streams=4_000).passed
    few = a_a_audit(rule, level=LEVEL / 2, rng=rng, streams=4_000, tasks=6)
    assert not few.passed
    assert few.false_adoptions / few.runs == pytest.approx(0.055, abs=0.015)


def test_the_ratio_test_claims_small_effects_only() -> None:
    """With a distant h1 the variance around a lucky mean is too small: .077 at alpha .05."""
    audit = a_a_audit(Sprt(h1=0.3), level=LEVEL, rng=audit_rng(), streams=4_000, tasks=300)
    assert not audit.passed
    assert audit.false_adoptions / audit.runs == pytest.approx(0.077, abs=0.018)


@pytest.mark.parametrize("name", SHARP)
def test_a_rule_without_a_level_fails_the_audit(name: str) -> None:
    """Accepting all, keeping what looks better and the paired gate have no level of .05."""
    tasks, p = SHARP[name]
    with pytest.raises(AssertionError, match=f"{name} accepted"):
        rule_passes_the_a_a_audit(
            rule_named(name), level=LEVEL, rng=audit_rng(), streams=200, tasks=tasks, p=p
        )


def test_accepting_all_is_said_in_full() -> None:
    """0.05²⁰⁰ is 10⁻²⁶⁰·²: the message gives the count and the chance."""
    with pytest.raises(AssertionError) as caught:
        rule_passes_the_a_a_audit(
            rule_named("accept_all"), level=LEVEL, rng=audit_rng(), streams=200, tasks=5
        )
    assert str(caught.value) == (
        "accept_all accepted 200 of 200 candidates that are the incumbent; a rule of level 0.05 "
        "does so with probability 6.2e-261"
    )


def test_peeking_at_a_fixed_test_fails_the_audit() -> None:
    """The same test passes with one look and fails with a look after every task."""
    one_look = a_a_audit(McNemar(level=LEVEL), level=LEVEL, rng=audit_rng())
    every_look = a_a_audit(PeekingMcNemar(), level=LEVEL, rng=audit_rng())
    assert one_look.passed
    assert not every_look.passed
    assert every_look.false_adoptions > 2 * one_look.false_adoptions
