"""Rules by name, the listing, and rules that other packages bring."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest
from pydantic import Field

from logoslab.errors import InvalidValue
from logoslab.gate import (
    RULES,
    AnytimeGate,
    PairedGate,
    PairedRule,
    all_rules,
    judge,
    registry,
    rule_named,
    rules,
)
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.policy import Evaluator
from tests.gate.make import evidence


class Majority(PairedRule):
    """Accept ⇔ more tasks are fixed than lost: a rule that another package might bring."""

    name: ClassVar[str] = "majority"
    source: ClassVar[str] = "a third party"

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        found = int((pairs.difference > 0).sum()) - int((pairs.difference < 0).sum())
        conclusion = Conclusion.ACCEPT if found > 0 else Conclusion.REJECT_INSUFFICIENT
        return self._conclude(evidence, conclusion, f"{found} more", tasks=len(pairs.tasks))


class Namesake(Majority):
    """Takes a name that is in use."""

    name: ClassVar[str] = "paired"


class Nameless(PairedRule):
    """Says neither its name nor its source."""

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        raise NotImplementedError


class Unfinished(PairedRule):
    """Says who it is, and cannot judge."""

    name: ClassVar[str] = "unfinished"
    source: ClassVar[str] = "a third party"


class Wordless(Majority):
    """Its name is no name."""

    name: ClassVar[str] = None  # type: ignore[assignment]


class Demanding(Majority):
    """Has a parameter without a default."""

    name: ClassVar[str] = "demanding"

    share: float = Field(ge=0, le=1, description="a share")


class FakeEntry:
    """An entry point that loads a value or raises."""

    dist = None

    def __init__(self, name: str, loads: Any) -> None:
        self.name, self._loads = name, loads

    def load(self) -> Any:
        """What the package exports."""
        if isinstance(self._loads, Exception):
            raise self._loads
        return self._loads


Install = Callable[..., None]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Pretend that packages with these entry points are installed."""

    def pretend(**loads: Any) -> None:
        entries = [FakeEntry(name, value) for name, value in loads.items()]
        monkeypatch.setattr(registry, "entry_points", lambda group: entries)
        registry._plugins.cache_clear()

    yield pretend
    registry._plugins.cache_clear()


def test_unknown_names_list_the_allowed_ones(install: Install) -> None:
    """The message says which rules and parameters there are."""
    install(majority=Majority)
    with pytest.raises(InvalidValue) as caught:
        rule_named("vibes")
    assert (
        str(caught.value)
        == InvalidValue(
            "admission rule",
            got="vibes",
            allowed=", ".join([*RULES, "majority"]),
            next_step="Choose one of these names, or pass a rule object.",
        ).args[0]
    )
    with pytest.raises(InvalidValue) as caught:
        rule_named("mcnemar", gamma=1)
    assert str(caught.value) == (
        "parameters of rule mcnemar: allowed metric, m_fail, level; got gamma. "
        "Correct the parameter names."
    )


def test_a_misspelt_name_suggests_the_near_one() -> None:
    """One letter off is answered with the name that was meant."""
    with pytest.raises(InvalidValue, match=r"got mcnemer\. Did you mean mcnemar\?"):
        rule_named("mcnemer")


def test_a_value_out_of_range_quotes_the_range() -> None:
    """The range in the message is the one that the field enforces."""
    with pytest.raises(InvalidValue) as caught:
        rule_named("bootstrap_interval", draws=5)
    assert str(caught.value) == (
        "bootstrap_interval draws: allowed a whole number ≥ 100 and ≤ 1e+06; got 5. "
        "Choose a value in this domain."
    )


def test_the_evaluator_fills_in_and_single_parameters_override() -> None:
    """ρ_max comes from the root policy, the level from the ledger."""
    rule = rule_named("anytime", Evaluator(rho_max=0.2, r_max=3), level=0.01)
    assert isinstance(rule, AnytimeGate)
    assert (rule.rho_max, rule.level, rule.alpha) == (0.2, 0.01, 0.05)


def test_judging_by_name_and_by_object_is_one_thing() -> None:
    """A rule object has its own parameters; others beside it are refused."""
    given = evidence([0, 1], [1, 1])
    assert judge(given, "paired", r_max=1) == judge(given, PairedGate(r_max=1))
    with pytest.raises(InvalidValue) as caught:
        judge(given, PairedGate(), r_max=1)
    assert str(caught.value) == (
        "parameters beside a rule object paired: allowed none: the object has its own; got r_max. "
        "Set them when you make the rule."
    )


def test_a_rule_prints_what_was_set() -> None:
    """Defaults are left out, so that a list of variants stays readable."""
    assert repr(PairedGate()) == str(PairedGate()) == "PairedGate()"
    assert f"{PairedGate(r_max=1, delta_min=0.1)}" == "PairedGate(delta_min=0.1, r_max=1)"


def test_the_listing_tells_needs_parameters_and_source() -> None:
    """One row a rule; every parameter with its default and range, nothing empty."""
    listing = rules().set_index("rule")
    assert list(listing.index) == list(RULES)
    assert (listing[["accepts", "parameters", "claim", "source"]] != "").all(axis=None)
    assert listing.loc["mcnemar", "needs"] == "arms incumbent + candidate; binary"
    assert listing.loc["minibatch_sum", "parameters"] == (
        "metric=score (a name): metric that is compared; "
        "m_fail=0.0 (a number): value of a trial that returned nothing; "
        "size=3 (a whole number ≥ 1): tasks of the minibatch"
    )
    assert listing["promotes"].sum() == 2


def test_an_installed_rule_is_found_and_listed(install: Install) -> None:
    """It judges by name and stands in the listing beside the shipped ones."""
    install(majority=Majority)
    assert judge(evidence([0, 0, 1], [1, 1, 0]), "majority").accepted
    assert "majority" in set(rules()["rule"])


@pytest.mark.parametrize(
    ("loads", "got", "allowed"),
    [
        (ImportError("no module x"), "ImportError: no module x", "a class that loads"),
        (42, "42", "a subclass of logoslab.gate.Rule"),
        (Nameless, "a rule without name", "a rule with name and source"),
        (Namesake, "the name 'paired', which is in use", "a name of its own"),
    ],
)
def test_a_broken_plugin_is_named_and_breaks_nothing_else(
    install: Install, loads: Any, got: str, allowed: str
) -> None:
    """Asked for, it is a typed error; listed, a warning; every other rule works as before."""
    install(bad=loads, majority=Majority)
    message = (
        f"rule 'bad' of package unknown: allowed {allowed}; got {got}. "
        "Correct or uninstall that package."
    )
    with pytest.raises(InvalidValue) as caught:
        rule_named("bad")
    assert str(caught.value) == message
    with pytest.warns(UserWarning, match="left out rule") as warned:
        assert list(all_rules()) == [*RULES, "majority"]
    assert [str(w.message) for w in warned] == [f"left out {message}"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(rule_named("paired"), PairedGate)
        assert isinstance(rule_named("majority"), Majority)


def test_a_plugin_that_cannot_judge_or_has_no_name_is_left_out(install: Install) -> None:
    """An abstract class and a name that is none stop neither the listing nor a gate."""
    install(one=Unfinished, two=Wordless)
    with pytest.warns(UserWarning, match="a rule without") as caught:
        assert set(all_rules()) == set(RULES)
    assert len(caught) == 2
    with pytest.raises(InvalidValue, match="a rule without _judge"):
        rule_named("one")


def test_a_rule_without_defaults_is_no_default_rule(install: Install) -> None:
    """It is listed and can be named; what runs every rule with its defaults goes on without it."""
    install(demanding=Demanding)
    assert set(all_rules()) == {*RULES, "demanding"}
    assert set(registry.default_rules()) == set(RULES)
    assert rule_named("demanding", share=0.5).params["share"] == 0.5
