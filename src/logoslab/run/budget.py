"""Budgets: what one task may use, and what it has used."""

from __future__ import annotations

from pydantic import Field

from logoslab.errors import BudgetExceeded
from logoslab.pack.base import Frozen
from logoslab.pack.model import ModelReply
from logoslab.ports import Clock


class Budget(Frozen):
    """Upper limits for one task; None means no limit.

    ``calls`` and ``tokens`` count model use, replayed or not, so that a replay ends where the run
    ended. ``seconds`` is checked before each phase and each model call.
    """

    calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0)
    seconds: float | None = Field(default=None, ge=0)


class Spending:
    """What one task has used. ``tokens`` and ``usd`` become None once one call's is unknown."""

    def __init__(self, budget: Budget, clock: Clock) -> None:
        self.budget, self.clock, self.start = budget, clock, clock.now()
        self.calls = 0
        self.tokens: int | None = 0
        self.usd: float | None = 0.0

    @property
    def seconds(self) -> float:
        """Seconds since the task began."""
        return self.clock.now() - self.start

    def check_time(self) -> None:
        """Raise :class:`BudgetExceeded` when the time is used up."""
        self._check("seconds", self.seconds, self.budget.seconds)

    def check_call(self) -> None:
        """Raise :class:`BudgetExceeded` unless one more model call fits.

        Unknown use counts as too much: a limit that cannot be checked is not kept.
        """
        self.check_time()
        self._check("calls", self.calls, self.budget.calls)
        self._check("tokens", self.tokens, self.budget.tokens)
        self._check("usd", self.usd, self.budget.usd)

    def add(self, reply: ModelReply | None) -> None:
        """Count one call; None when it gave no reply and its use is unknown."""
        self.calls += 1
        known = reply is not None and reply.tokens_in is not None and reply.tokens_out is not None
        tokens = (reply.tokens_in or 0) + (reply.tokens_out or 0) if reply and known else None
        usd = reply.usd if reply else None
        self.tokens = None if self.tokens is None or tokens is None else self.tokens + tokens
        self.usd = None if self.usd is None or usd is None else self.usd + usd

    def _check(self, name: str, used: float | None, limit: float | None) -> None:
        if limit is not None and (used is None or used >= limit):
            raise BudgetExceeded(
                f"budget.{name}",
                got="an unknown amount" if used is None else used,
                allowed=f"less than {limit:g} before another step",
                next_step="Raise the budget, or let the ladder begin at a cheaper stage.",
            )
