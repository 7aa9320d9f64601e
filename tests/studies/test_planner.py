"""The planner: exact where enumeration is possible, honest about simulation everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, binom

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.anytime import AnytimeGate
from logoslab.gate.paired import PairedGate
from logoslab.gate.peers import McNemar
from logoslab.gate.rule import PairedRule
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.needs import Needs
from logoslab.stats import Characteristics
from logoslab.studies.designs import PairedTasks, as_batch, effect_needed, tasks_needed
from logoslab.studies.planner import plan
from logoslab.studies.plans import Plan
from logoslab.studies.surface import surface

EVIL = "<script>alert(1)</script>"


class NeedsFlag(PairedRule):
    """A rule that reads what paired tasks do not have."""

    name: ClassVar[str] = "needs_flag"
    source: ClassVar[str] = "test"
    needs: ClassVar[Needs] = Needs(metrics=("satisfied",))

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        raise AssertionError("it is never asked")


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def trinomial(
    n: int, effect: float, discordance: float, accepts: Callable[[int, int], bool]
) -> float:
    """P(accept) by walking through every number of fixed and broken tasks."""
    fix, lost = (discordance + effect) / 2, (discordance - effect) / 2
    same = 1 - fix - lost
    return sum(
        math.comb(n, b) * math.comb(n - b, c) * fix**b * lost**c * same ** (n - b - c)
        for b in range(n + 1)
        for c in range(n - b + 1)
        if accepts(b, c)
    )


def paired_accepts(n: int, delta_min: float, r_max: int) -> Callable[[int, int], bool]:
    """LOGOS Eq. 59 on counts, written down again: mean gain, budget, and one task fixed."""
    return lambda b, c: c <= r_max and b >= 1 and (b - c) / n >= delta_min - 1e-12


def mcnemar_accepts(level: float) -> Callable[[int, int], bool]:
    """The binomial tail from scipy, not from the rule."""
    return lambda b, c: bool(binom.sf(b - 1, b + c, 0.5) <= level)


@cache
def small_plan() -> Plan:
    """Three rules, two sizes, an effect that 60 tasks find easily."""
    return plan(
        effect=0.3, discordance=0.4, n=(20, 60), price=0.02, rng=seeded(), harm=-0.1,
        rules=("mcnemar", "mean_improves", NeedsFlag(), "paired"), r_max=(0, 2), level=0.05,
    )  # fmt: skip


def test_the_paired_gate_accepts_a_flip_of_coins_one_time_in_four() -> None:
    """20 tasks, 10 % random flips: 0.95^20 − 0.90^20 = 0.2369 exactly, and so simulated."""
    exact = 0.95**20 - 0.90**20
    assert trinomial(20, 0.0, 0.1, paired_accepts(20, 1 / 20, 0)) == pytest.approx(exact)
    found = surface("paired", effects=[0.0], discordance=0.1, n=20, rng=seeded(3),
                    simulations=20_000).iloc[0]  # fmt: skip
    assert found["accept"] == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))


@pytest.mark.parametrize("effect", [-0.1, 0.0, 0.1, 0.25])
@pytest.mark.parametrize(
    ("rule", "accepts"),
    [
        (PairedGate(delta_min=0.05, r_max=2), paired_accepts(30, 0.05, 2)),
        (McNemar(level=0.05), mcnemar_accepts(0.05)),
        (McNemar(level=0.2), mcnemar_accepts(0.2)),
    ],
)
def test_simulated_rates_are_the_enumerated_ones(
    rule: Any, accepts: Callable[[int, int], bool], effect: float
) -> None:
    """Within four standard errors of the sum over the trinomial law, for 30 tasks."""
    exact = trinomial(30, effect, 0.3, accepts)
    found = surface(rule, effects=[effect], discordance=0.3, n=30, rng=seeded(5),
                    simulations=10_000).iloc[0]  # fmt: skip
    assert found["accept"] == pytest.approx(exact, abs=4 * math.sqrt(exact / 10_000) + 1e-4)


def test_a_plan_states_both_rates_of_every_design_with_their_error() -> None:
    """False adoption and power of McNemar hold the enumerated rate inside the printed interval."""
    row = small_plan().frame.set_index("design").loc["mcnemar, n=60, B=1"]
    for name, effect in (("false_adoption", 0.0), ("power", 0.3), ("harm_adoption", -0.1)):
        exact = trinomial(60, effect, 0.4, mcnemar_accepts(0.05))
        assert row[f"{name}_low"] <= exact <= row[f"{name}_high"], name
    assert row["simulations"] == 2_000


def test_evaluations_and_cost_are_hand_arithmetic() -> None:
    """60 tasks, two arms, one run: 120 evaluations, 2.40 at 0.02 each; no price, no cost."""
    row = small_plan().frame.set_index("design").loc["mcnemar, n=60, B=1"]
    assert (row["expected_n"], row["evaluations"]) == (60, 120)
    assert row["cost"] == pytest.approx(2.4)
    free = plan(effect=0.3, discordance=0.4, n=20, replicates=3, rules=["mean_improves"],
                rng=seeded(), simulations=50)  # fmt: skip
    assert free.frame["evaluations"].tolist() == [120]
    assert free.frame["cost"].isna().all()
    assert free.table()[0]["cost"] == "unknown"


def test_the_recommendation_is_the_cheapest_that_keeps_both_promises() -> None:
    """Only designs whose interval ends keep error and power meet; the cheapest of them is named."""
    found = small_plan()
    frame = found.frame
    good = frame[
        (frame["false_adoption_high"] <= 0.05)
        & (frame["harm_adoption_high"] <= 0.05)
        & (frame["power_low"] >= 0.8)
    ]
    assert frame.loc[frame["meets"], "design"].tolist() == good["design"].tolist()
    best = found.recommended
    assert best is not None
    assert (best.rule, best.n) == ("mcnemar", 60)
    assert best.evaluations == good["evaluations"].min()
    assert found.reason.startswith("Take mcnemar on 60 tasks with 1 run(s) a task and arm: ")


def test_a_promise_is_judged_at_the_end_of_its_interval() -> None:
    """4 % measured with an end at 6 % does not hold 5 %; 82 % with an end at 79 % misses 80 %."""
    design = small_plan().designs[0]
    loose = Characteristics(0.04, 0.02, 0.06, 20.0, 0.0, 40.0, 500)
    tight = loose._replace(accept_high=0.05)
    strong = Characteristics(0.82, 0.8, 0.85, 20.0, 0.0, 40.0, 500)
    assert not design.replace(null=loose, harm=None).holds(0.05)
    assert design.replace(null=tight, harm=None).holds(0.05)
    assert not design.replace(null=tight, harm=loose).holds(0.05)
    assert design.replace(gain=strong).finds(0.8)
    assert not design.replace(gain=strong._replace(accept_low=0.79)).finds(0.8)


def test_parameters_are_swept_and_named() -> None:
    """Two values of r_max give two labelled designs of the paired gate at each n."""
    frame = small_plan().frame
    labels = frame.loc[frame["rule"] == "paired", "label"].tolist()
    assert labels == ["paired", "paired", "paired(r_max=2)", "paired(r_max=2)"]


def test_levels_of_one_rule_move_together() -> None:
    """By default the error and three quarters of it; alpha and level of a rule are one level."""
    asked = {"effect": 0.3, "discordance": 0.4, "n": 10, "simulations": 20, "rng": seeded()}
    found = plan(**asked, rules=["mcnemar", "anytime", "accept_all"])
    assert [d.label for d in found.designs] == [
        "mcnemar", "mcnemar(level=0.0375)",
        "anytime", "anytime(alpha=0.0375, level=0.0375)",
        "accept_all",
    ]  # fmt: skip
    one = plan(**asked, rules=["mcnemar"], level=0.01)
    assert [d.label for d in one.designs] == ["mcnemar(level=0.01)"]


def test_a_rule_that_needs_more_than_pairs_is_listed_with_its_need() -> None:
    """needs_flag reads the model's own flag: not planned, and the plan says what is missing."""
    (left,) = small_plan().not_planned
    assert left.label == "needs_flag"
    assert "satisfied" in left.reason
    none = plan(effect=0.1, discordance=0.2, n=10, rules=[NeedsFlag()], rng=seeded())
    assert none.recommended is None
    assert none.reason.startswith("No rule can be planned from paired tasks alone")


def test_scores_that_are_not_binary_are_not_planned_by_binary_rules() -> None:
    """With noise McNemar is refused by its own words; the paired gate asks for delta_min."""
    asked = {"effect": 0.1, "noise": 0.2, "n": 20, "simulations": 50}
    found = plan(**asked, rules=["mcnemar", "paired"], rng=seeded())
    assert [left.label for left in found.not_planned] == ["mcnemar", "paired"]
    assert "Declare delta_min" in found.not_planned[1].reason
    declared = plan(**asked, rules=["paired"], delta_min=0.05, r_max=20, rng=seeded())
    assert [d.label for d in declared.designs] == ["paired(delta_min=0.05, r_max=20)"]


def test_when_none_meets_it_says_why_and_what_would() -> None:
    """(1.645·√0.2 + 0.842·√0.1975)²/0.05² = 493 tasks, by hand; the nearest design is named."""
    found = plan(effect=0.05, discordance=0.2, n=(20, 50), rules=["mcnemar"], rng=seeded())
    assert found.recommended is None
    assert "Of those that hold the error, mcnemar on 50 tasks comes nearest" in found.reason
    assert "needs 493 tasks for this effect at 1 run(s), or 10 run(s) on 50 tasks" in found.reason
    # (1.645 + 0.842)·√(0.2/50) = 0.157
    assert "50 tasks suffice for an effect of 0.157" in found.reason
    loose = plan(effect=0.1, discordance=0.2, n=20, rules=["mean_improves"], rng=seeded())
    assert "none is shown to hold the error" in loose.reason
    few = plan(effect=0.1, discordance=0.2, n=20, rules=["mcnemar"], rng=seeded(), simulations=40)
    assert "40 simulations leave up to 0.088" in few.reason  # 1 − 0.025^(1/40)


def test_the_indifference_region_brackets_the_enumerated_one() -> None:
    """McNemar on 30 tasks: below the region under 5 % are accepted, above it over 80 %."""
    (design,) = plan(effect=0.2, discordance=0.4, n=30, rules=[McNemar()], rng=seeded(2)).designs
    low, high = design.indifferent_from, design.indifferent_to
    assert low is not None
    assert high is not None
    rate = mcnemar_accepts(0.05)
    assert trinomial(30, low, 0.4, rate) == pytest.approx(0.05, abs=0.025)
    assert trinomial(30, high, 0.4, rate) == pytest.approx(0.8, abs=0.045)


def test_a_rule_that_accepts_every_effect_has_no_indifference_region() -> None:
    """accept_all takes even the least effect there is, −0.2; the table says so in words."""
    found = plan(effect=0.1, discordance=0.2, n=20, rules=["accept_all", "mean_improves"],
                 rng=seeded(), simulations=100)  # fmt: skip
    everything, mean = found.designs
    assert (everything.indifferent_from, everything.indifferent_to) == (-0.2, -0.2)
    assert mean.indifferent_from is not None
    assert mean.indifferent_from > -0.2
    said = {line["rule"]: line["indifferent"] for line in found.table()}
    assert said["accept_all"] == "always accepted"
    assert " to " in said["mean_improves"]


def test_a_sequential_rule_stops_early() -> None:
    """The anytime gate uses fewer tasks on average than there are when the gain is large."""
    found = plan(effect=0.5, discordance=0.5, n=100, rules=[AnytimeGate()], rng=seeded(),
                 simulations=300)  # fmt: skip
    (design,) = found.designs
    assert design.gain.mean_used < 70
    assert design.null.mean_used > design.gain.mean_used
    assert design.evaluations == 2 * design.null.mean_used


def test_replicates_average_run_noise() -> None:
    """Four runs of each task halve the deviation of its difference: √0.36/2 = 0.3."""
    law = PairedTasks(0.0, 0.36, replicates=4)
    assert law.deviation == pytest.approx(0.3)
    drawn = law.draw(50)(seeded(), 2_000)
    assert drawn.std() == pytest.approx(0.3, abs=0.003)
    assert set(np.unique(drawn * 4)) <= set(range(-4, 5))


@given(st.floats(-0.6, 0.6), st.floats(0.02, 0.7))
def test_the_continuous_law_has_the_declared_mean_and_deviation(
    effect: float, noise: float
) -> None:
    """Quantiles against scipy's Beta on [-1, 1] with that mean and deviation; always bounded."""
    law = PairedTasks(effect, noise=noise)
    reference = beta(*law._beta(), loc=-1, scale=2)
    assert reference.mean() == pytest.approx(effect, abs=1e-9)
    assert reference.std() == pytest.approx(noise, rel=1e-9)
    at = np.array([0.1, 0.5, 0.9])
    drawn = law.differences(at[:, None])
    assert drawn == pytest.approx(reference.ppf(at), abs=1e-5)
    assert (np.abs(drawn) <= 1).all()


@pytest.mark.parametrize(("effect", "noise"), [(0.0, 0.3), (0.2, 0.01), (-0.6, 0.7), (0.0, 0.95)])
def test_interpolated_quantiles_are_scipys(effect: float, noise: float) -> None:
    """Within 1e-5 over 10,000 uniforms, tails and U-shaped laws included, and never outside."""
    law, uniform = PairedTasks(effect, noise=noise), seeded().random(10_000)
    uniform[:2] = 0.0, np.nextafter(1.0, 0.0)
    drawn = law.differences(uniform[:, None])
    exact = beta(*law._beta(), loc=-1, scale=2).ppf(uniform)
    assert np.abs(drawn - exact)[2:].max() < 1e-5
    assert -1 <= drawn[0] <= drawn.min() < drawn.max() <= drawn[1] <= 1


@given(st.floats(-0.3, 0.3), st.floats(-0.3, 0.3), st.integers(0, 1_000))
def test_a_larger_effect_never_lowers_a_difference(one: float, other: float, seed: int) -> None:
    """Common random numbers: under the same uniforms d rises with the effect, task by task."""
    uniform = seeded(seed).random((40, 2))
    low, high = sorted((one, other))
    law = PairedTasks(0.0, 0.3, replicates=2)
    assert (law.at(low).differences(uniform) <= law.at(high).differences(uniform)).all()


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=1))
def test_scores_of_a_batch_have_the_drawn_differences(values: list[float]) -> None:
    """candidate − incumbent is d again, and both scores lie in [0, 1]."""
    d = np.array([values])
    batch = as_batch(d)
    assert (batch.difference == d).all()
    for scores in (batch.incumbent, batch.candidate):
        assert ((scores >= 0) & (scores <= 1)).all()


@pytest.mark.parametrize("rule", [PairedGate(), McNemar(), AnytimeGate()])
def test_a_surface_rises_with_the_effect(rule: Any) -> None:
    """At the same discordance no larger effect is accepted more seldom, exactly, by one seed."""
    frame = surface(rule, effects=[-0.1, 0.0, 0.1, 0.2, 0.3], discordance=0.3, n=(40, 120),
                    rng=seeded(), simulations=200)  # fmt: skip
    table = frame.pivot(index="n", columns="effect", values="accept").to_numpy()
    assert (np.diff(table, axis=1) >= 0).all()
    assert table[-1, -1] > table[-1, 0]


def test_power_of_a_test_rises_with_tasks_and_a_budget_of_zero_kills_it() -> None:
    """McNemar finds more on more tasks; the paired gate with R_max = 0 accepts ever less."""
    sizes = (20, 80, 160)
    power = {
        name: surface(name, effects=[0.2], discordance=0.4, n=sizes, rng=seeded())["accept"]
        for name in ("mcnemar", "paired")
    }
    assert (np.diff(power["mcnemar"]) > 0).all()
    assert (np.diff(power["paired"]) < 0).all()


def test_an_impossible_point_of_a_surface_is_unmeasured() -> None:
    """Effect 0.3 does not fit beside discordance 0.2: its row stays, without a number."""
    frame = surface("mcnemar", effects=[0.0, 0.3], discordance=(0.2, 0.4), n=20, rng=seeded(),
                    simulations=100)  # fmt: skip
    assert len(frame) == 4
    assert frame["accept"].isna().tolist() == [False, True, False, False]


def test_an_executor_changes_no_number() -> None:
    """Two processes give the same plan and the same surface as one."""
    asked = {"effect": 0.1, "discordance": 0.2, "n": (20, 40), "rules": ["mcnemar", "anytime"],
             "simulations": 100}  # fmt: skip
    grid = {"effects": [0.0, 0.1], "discordance": (0.2, 0.3), "n": (10, 20), "simulations": 100}
    with ProcessPoolExecutor(2) as pool:
        assert plan(**asked, rng=seeded(), executor=pool) == plan(**asked, rng=seeded())
        there = surface("mcnemar", **grid, rng=seeded(), executor=pool)
    assert there.equals(surface("mcnemar", **grid, rng=seeded()))


def test_a_surface_refuses_a_rule_that_needs_more() -> None:
    """The rule's own words, not a surface of zeros."""
    with pytest.raises(EvidenceError, match=r"needs_flag on simulated paired tasks.*satisfied"):
        surface(NeedsFlag(), effects=[0.1], discordance=0.2, n=10, rng=seeded())


def test_the_plan_is_shown_escaped() -> None:
    """A hostile label or reason is text in the HTML, and JSON has null where nothing is known."""
    found = small_plan()
    hostile = found.replace(
        designs=(found.designs[0].replace(label=EVIL),),
        not_planned=(found.not_planned[0].replace(reason=EVIL),),
    )
    assert "<script>" not in hostile._repr_html_()
    assert hostile._repr_html_().count("&lt;script&gt;") >= 2
    read = json.loads(found.replace(price=None, harm=None).to_json())
    assert read["designs"][0]["cost"] is None
    assert read["recommended"]["rule"] == "mcnemar"
    assert read["question"]["effect"] == 0.3


def test_normal_approximations_are_hand_arithmetic() -> None:
    """Discordance 0.2, effect 0.05: 493 tasks at one run, 124 at four; 0.0556 found on 400."""
    law = PairedTasks(0.05, 0.2)
    assert tasks_needed(law, 0.05, 0.8) == 493
    assert tasks_needed(PairedTasks(0.05, 0.2, replicates=4), 0.05, 0.8) == 124
    assert effect_needed(law, 400, 0.05, 0.8) == pytest.approx(2.486475 * math.sqrt(0.2 / 400))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"effect": 0.3}, "effect: allowed at most the discordance 0.2 in size: effect = fixed − "
         "broken; got 0.3. Lower the effect, or raise the discordance."),
        ({"effect": -0.1}, "effect: allowed a gain above 0; got -0.1. State the gain that should "
         "be found."),
        ({"discordance": None}, "discordance and noise: allowed exactly one of them; got "
         "discordance None, noise None. Give discordance for 0/1 scores, noise for any other "
         "score."),
        ({"discordance": 1.5}, "discordance: allowed a share in (0, 1]; got 1.5. Count the tasks "
         "of a pilot on which the two arms differ."),
        ({"discordance": None, "noise": 1.0}, "noise: allowed above 0, with noise² < 1 − effect²: "
         "differences lie in [-1, 1]; got 1.0 with effect 0.1. State the standard deviation of "
         "one paired difference."),
        ({"harm": -0.3}, "effect: allowed at most the discordance 0.2 in size: effect = fixed − "
         "broken; got -0.3. Lower the effect, or raise the discordance."),
        ({"harm": 0.1}, "harm: allowed an effect below 0, or None; got 0.1. State a loss."),
        ({"price": -1.0}, "price: allowed a price of at least 0, or None; got -1.0. State the "
         "price of one evaluation, or leave it unknown."),
        ({"error": 0.9}, "error and power: allowed 0 < error < power < 1; got 0.9 and 0.8. State "
         "the tolerated error and the wanted power."),
        ({"n": 1}, "n: allowed whole numbers of tasks, at least 2; got 1. State one number of "
         "tasks or several."),
        ({"replicates": 0}, "replicates: allowed a whole number of at least 1; got 0. State how "
         "often each task runs in each arm."),
        ({"simulations": 1}, "simulations: allowed a whole number of at least 2; got 1. Simulate "
         "more."),
        ({"rng": 0}, "rng of a study: allowed a numpy Generator; got 0. Pass "
         "rng=np.random.default_rng(seed)."),
        ({"executor": 2}, "executor of a study: allowed a concurrent.futures.Executor that is "
         "open; got 2: 'int' object has no attribute 'submit'. Pass an open executor, or none."),
        ({"effect": math.nan}, "effect: allowed a gain above 0; got nan. State the gain that "
         "should be found."),
    ],
)  # fmt: skip
def test_an_impossible_question_is_refused_by_name(wrong: dict[str, Any], message: str) -> None:
    """Which, allowed, got, next: the whole message."""
    asked: dict[str, Any] = {"effect": 0.1, "discordance": 0.2, "n": 20, "rules": ["mcnemar"]}
    with pytest.raises(InvalidValue) as refused:
        plan(**{"rng": seeded(), **asked, **wrong})
    assert str(refused.value) == message


def test_one_rule_needs_no_list() -> None:
    """A name or an object alone is planned like a list of one."""
    asked = {"effect": 0.1, "discordance": 0.2, "n": 20, "level": 0.05, "simulations": 50}
    many = plan(**asked, rules=["mcnemar"], rng=seeded())
    assert plan(**asked, rules="mcnemar", rng=seeded()) == many
    assert plan(**asked, rules=McNemar(), rng=seeded()) == many


def test_an_unknown_rule_is_refused() -> None:
    """A typo in a rule's name is no empty plan."""
    with pytest.raises(InvalidValue, match=r"admission rule: .*; got pairedd"):
        plan(effect=0.1, discordance=0.2, n=20, rules=["pairedd"], rng=seeded())
