"""Run one stage until an output is accepted. Shared by every router; it learns nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from logoslab.pack.run import Attempt
from logoslab.pack.verdict import StackVerdict
from logoslab.ports import Stage

Accept = Callable[[Mapping[str, Any]], StackVerdict]


async def attempt_stage(stage: Stage, accept: Accept) -> list[Attempt]:
    """Every output the stage gave up to the first accepted one; empty when it abstained.

    The stage is started here with nothing from earlier stages, and is closed before control
    returns, so a fallback that follows cannot share its state, context or budget. An exception
    of the stage propagates.
    """
    attempts: list[Attempt] = []
    answers = stage.answers()
    try:
        async for output, cost in answers:
            verdict = accept(output)
            attempts.append(Attempt(stage=stage.name, output=output, verdict=verdict, cost=cost))
            if verdict.accepted:
                break
    finally:
        close = getattr(answers, "aclose", None)
        if close is not None:
            await close()
    return attempts


def passed(attempts: list[Attempt]) -> bool:
    """Whether the last output of a stage was accepted."""
    return bool(attempts) and attempts[-1].verdict.accepted


def total_cost(attempts: list[Attempt]) -> float | None:
    """What the outputs cost together; None when any part is unknown or nothing was tried."""
    costs = [a.cost for a in attempts if a.cost is not None]
    return sum(costs) if attempts and len(costs) == len(attempts) else None
