"""The cascade: entry, escalation, learning, isolation; numbers worked by hand."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import InvalidValue
from logoslab.pack.run import Routed
from logoslab.pack.verdict import StackVerdict
from logoslab.ports import Router, Stage
from logoslab.route import Cascade, Experience, StaticRouter, TierRule, cascade_account, complexity


class Scripted:
    """A stage that gives these outputs and remembers how it was used."""

    def __init__(self, name: str, outputs: Sequence[str], cost: float | None = 1.0) -> None:
        self.name, self.outputs, self.cost = name, outputs, cost
        self.asked, self.closed = 0, 0

    async def answers(self) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
        self.asked += 1
        try:
            for text in self.outputs:
                yield {"data": text}, self.cost
        finally:
            self.closed += 1


def accept(output: Mapping[str, Any]) -> StackVerdict:
    """Only "good" and outputs that begin with it pass."""
    return StackVerdict(accepted=output["data"].startswith("good"), reason="", verdicts=())


def run(router: Router, stages: Sequence[Stage], dimension: str = "d") -> Routed:
    """One answer."""
    return asyncio.run(router.answer(dimension, stages, accept))


def test_it_escalates_until_the_first_accepted_output() -> None:
    """greedy fails, samples pass at the second of four, the solver is never asked."""
    stages = [
        Scripted("greedy", ["bad"]),
        Scripted("samples", ["bad", "good", "good"]),
        Scripted("solver", ["good"]),
    ]
    router = Cascade()
    routed = run(router, stages)
    assert (routed.entry, routed.stage, routed.output) == ("greedy", "samples", {"data": "good"})
    assert [a.stage for a in routed.attempts] == ["greedy", "samples", "samples"]
    assert stages[2].asked == 0
    assert (router.experience("d", "greedy").beta, router.experience("d", "samples").alpha) == (
        2,
        2,
    )
    assert router.experience("d", "samples").cost == 2.0
    assert router.experience("d", "solver") == Experience(alpha=1, beta=1)


def test_when_all_reject_it_is_a_persons_turn() -> None:
    """Every attempted stage learns the failure, abstention included."""
    router = Cascade()
    routed = run(router, [Scripted("greedy", ["bad"]), Scripted("solver", [])])
    assert (routed.output, routed.stage) == (None, None)
    assert [router.experience("d", s).beta for s in ("greedy", "solver")] == [2, 2]


def test_a_stage_is_closed_before_the_next_begins() -> None:
    """A fallback starts with nothing of earlier stages still running."""
    first, second = Scripted("greedy", ["bad", "bad"]), Scripted("solver", ["good", "unread"])

    async def closed_on_return() -> tuple[int, int]:
        await Cascade().answer("d", [first, second], accept)
        return first.closed, second.closed

    assert asyncio.run(closed_on_return()) == (1, 1)


def test_a_stage_that_raises_teaches_nothing() -> None:
    """The error is the caller's; the posterior is of verdicts only."""

    class Broken(Scripted):
        async def answers(self) -> AsyncIterator[tuple[dict[str, Any], float | None]]:
            raise TimeoutError
            yield {}, None

    router = Cascade()
    with pytest.raises(TimeoutError):
        run(router, [Broken("greedy", []), Scripted("solver", ["good"])])
    assert router.snapshot()["experience"] == {}


def test_ucb_by_hand() -> None:
    """Beta(2, 3): mean 0.4, variance 6/(25·6) = 0.04, so two sd of optimism give 0.8."""
    seen = Experience(alpha=2, beta=3)
    assert seen.mean == 0.4
    assert seen.sd == pytest.approx(0.2)
    assert seen.ucb(2.0) == pytest.approx(0.8)
    assert Experience(alpha=9, beta=1).ucb(3.0) == 1.0


def test_four_straight_failures_close_a_stage_at_the_defaults() -> None:
    """UCB of Beta(1, 1+f): 1, .805, .637, .527, .448 against T_acc = 0.5."""
    router, bad, good = Cascade(), Scripted("greedy", ["bad"]), Scripted("solver", ["good"])
    entries = [run(router, [bad, good]).entry for _ in range(5)]
    assert entries == ["greedy"] * 4 + ["solver"]
    mean, variance = 1 / 6, 5 / (36 * 7)
    assert run(router, [bad, good]).scores["greedy"] == pytest.approx(
        mean + 2 * math.sqrt(variance)
    )


def test_dimensions_learn_apart() -> None:
    """What fails on one dimension is still tried on another."""
    router = Cascade()
    for _ in range(5):
        run(router, [Scripted("greedy", ["bad"]), Scripted("solver", ["good"])], "hard")
    assert router.entry("hard", ["greedy", "solver"]) == "solver"
    assert router.entry("easy", ["greedy", "solver"]) == "greedy"


def test_without_a_hopeful_stage_it_enters_at_the_last() -> None:
    """Eq. 39: K when no optimistic estimate reaches T_acc."""
    router = Cascade(t_acc=0.9, c_ucb=0.0)
    assert run(router, [Scripted("a", ["good"]), Scripted("b", ["good"])]).entry == "b"


def test_cost_average_and_unknown_costs() -> None:
    """1, then 3 with weight 0.2 → 1.4; an unknown cost leaves it there, never at 0."""
    seen = Experience(alpha=1, beta=1)
    for cost in (1.0, 3.0, None):
        seen = seen.after(True, cost, 0.2)
    assert seen.cost == pytest.approx(1.4)
    assert Experience(alpha=1, beta=1).after(True, None, 0.2).cost is None


@given(st.lists(st.booleans(), max_size=30))
def test_a_snapshot_continues_exactly(outcomes: list[bool]) -> None:
    """Through JSON and back, the next entry and every score are the same."""
    router = Cascade()
    for good in outcomes:
        run(router, [Scripted("greedy", ["good" if good else "bad"]), Scripted("solver", ["good"])])
    other = Cascade()
    other.restore(json.loads(json.dumps(router.snapshot())))
    assert other.snapshot() == router.snapshot()
    assert other.entry("d", ["greedy", "solver"]) == router.entry("d", ["greedy", "solver"])


def test_a_foreign_state_is_refused_and_changes_nothing() -> None:
    """A half-read snapshot would silently forget."""
    router = Cascade()
    run(router, [Scripted("greedy", ["good"])])
    before = router.snapshot()
    for state in (
        {},
        {"version": 2, "experience": {}},
        {"version": 1, "experience": {"d": {"s": {"alpha": -1}}}},
    ):
        with pytest.raises(InvalidValue):
            router.restore(state)
    assert router.snapshot() == before


def test_bad_ladders_and_parameters_are_refused() -> None:
    """No stage, twins, and numbers outside their domain."""
    with pytest.raises(InvalidValue) as caught:
        run(Cascade(), [Scripted("a", []), Scripted("a", [])])
    assert str(caught.value) == (
        "Cascade stages: allowed at least one stage, each with its own name; got ['a', 'a']. "
        "Choose a value in its domain."
    )
    for wrong in ({"t_acc": 0}, {"c_ucb": -1}, {"prior": (0, 1)}, {"cost_weight": 0}):
        with pytest.raises(InvalidValue):
            Cascade(**wrong)
    with pytest.raises(InvalidValue):
        run(Cascade(), [])


def test_accounting_by_hand() -> None:
    """Of four tasks greedy answers two, one of them wrongly; all three wrong outputs reached it.

    P(accept | incorrect) = 1/3, P(incorrect | accept) = 1/2, joint mass 1/4 (Eq. 77).
    """
    ladders = {
        "a": (["good"], []),
        "b": (["good but wrong"], []),
        "c": (["wrong"], ["good"]),
        "d": (["wrong"], ["unclear"]),
    }
    answers = {
        task: run(Cascade(), [Scripted("greedy", one, 1.0), Scripted("solver", two, 5.0)])
        for task, (one, two) in ladders.items()
    }
    right = {"good": True, "good but wrong": False, "wrong": False}
    account = cascade_account(answers, lambda task, output: right.get(output["data"]))
    greedy, solver = account.stages
    assert (greedy.reached, greedy.accepted, greedy.incorrect, greedy.false_accepts) == (4, 2, 3, 1)
    assert greedy.accept_given_incorrect == pytest.approx(1 / 3)
    assert greedy.incorrect_given_accept == 0.5
    assert greedy.false_accept_mass == account.false_accept_mass == 0.25
    assert solver.replace(false_accepts=1).false_accept_mass == 0.25  # of all tasks, not of 2
    assert (solver.reached, solver.unjudged, solver.accept_given_incorrect) == (2, 1, None)
    assert (account.answered, account.cost) == (3, 14.0)
    assert (account.improves(5.0), account.improves(3.5)) == (True, False)


def test_unknown_costs_stay_unknown() -> None:
    """One unpriced output makes the cost of the account unknown, not small."""
    routed = run(Cascade(), [Scripted("greedy", ["bad"], None), Scripted("solver", ["good"])])
    account = cascade_account({"a": routed}, lambda task, output: None)
    assert account.cost is None
    assert account.improves(9.0) is None


RULES = (
    TierRule(complexity="design", words=("architecture",)),
    TierRule(complexity="complex", min_words=5),
)


def test_the_declared_classifier_takes_the_first_matching_line() -> None:
    """Eq. 36: words first, then length, else simple."""
    assert complexity("Draw the ARCHITECTURE of a very long query", RULES) == "design"
    assert complexity("one two three four five", RULES) == "complex"
    assert complexity("architectures", RULES) == "simple"


def test_static_tiers_do_not_escalate_or_learn() -> None:
    """The class's own stage answers or nobody does."""
    router: Router = StaticRouter({"simple": "small"})
    stages = [Scripted("small", ["bad"]), Scripted("large", ["good"])]
    routed = run(router, stages, "simple")
    assert (routed.entry, routed.output, stages[1].asked) == ("small", None, 0)
    assert run(router, [Scripted("small", ["good"])], "simple").stage == "small"
    router.restore(router.snapshot())
    with pytest.raises(InvalidValue) as caught:
        run(router, stages, "design")
    assert str(caught.value) == (
        "tier of 'design': allowed one of the stages small, large; got None. "
        "Give the dimension a stage in the tier table."
    )
