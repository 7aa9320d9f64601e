"""Budgets end a task before the step that would exceed them."""

import pytest

from logoslab.errors import BudgetExceeded
from logoslab.pack.model import ModelReply
from logoslab.run.budget import Budget, Spending
from logoslab.testing.clock import FixedClock


def reply(tokens: int | None, usd: float | None) -> ModelReply:
    return ModelReply(text="", model="m", tokens_in=tokens, tokens_out=tokens, usd=usd)


def spent(budget: Budget, *replies: ModelReply | None, step: float = 0.0) -> Spending:
    spending = Spending(budget, FixedClock(step=step))
    for one in replies:
        spending.add(one)
    return spending


@pytest.mark.parametrize(
    ("spending", "name", "allowed", "got"),
    [
        (spent(Budget(calls=2), reply(1, 0), reply(1, 0)), "calls", "2", "2"),
        (spent(Budget(tokens=10), reply(5, 0)), "tokens", "10", "10"),
        (spent(Budget(usd=0.5), reply(1, 0.3), reply(1, 0.3)), "usd", "0.5", "0.6"),
        (spent(Budget(seconds=2), step=2.0), "seconds", "2", "2.0"),
        (spent(Budget(usd=1), reply(1, None)), "usd", "1", "an unknown amount"),
        (spent(Budget(tokens=9), None), "tokens", "9", "an unknown amount"),
    ],
)
def test_a_used_up_budget_names_itself(
    spending: Spending, name: str, allowed: str, got: str
) -> None:
    """Each limit is checked, and unknown use counts as too much."""
    with pytest.raises(BudgetExceeded) as caught:
        spending.check_call()
    assert str(caught.value) == (
        f"budget.{name}: allowed less than {allowed} before another step; got {got}. "
        "Raise the budget, or let the ladder begin at a cheaper stage."
    )


def test_without_limits_nothing_is_refused_and_unknown_stays_unknown() -> None:
    """No limit, no error; one unknown cost makes the sum unknown, not smaller."""
    spending = spent(Budget(), reply(5, 0.25), reply(None, None))
    spending.check_call()
    assert (spending.calls, spending.tokens, spending.usd) == (2, None, None)


def test_no_call_costs_nothing() -> None:
    """Zero calls are measured: their cost is 0, not unknown."""
    assert spent(Budget()).usd == 0.0
