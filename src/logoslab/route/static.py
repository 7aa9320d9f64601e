"""Static routing: a declared classifier maps a query to a class, a table maps it to one stage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen
from logoslab.pack.run import Routed
from logoslab.ports import Stage
from logoslab.route.stages import Accept, attempt_stage, passed

Complexity = Literal["simple", "complex", "design"]


class TierRule(Frozen):
    """One line of the classifier: queries with any of these words, or this long, are this class.

    Attributes
    ----------
    complexity : str
        ``simple``, ``complex`` or ``design``.
    words : tuple of str
        Whole words, case-insensitive.
    min_words : int, optional
        At least this many words.
    """

    complexity: Complexity
    words: tuple[str, ...] = ()
    min_words: int | None = Field(default=None, ge=1)

    def matches(self, query: str) -> bool:
        """Whether the query falls under this line."""
        found = re.findall(r"\w+", query.casefold())
        mentions = bool({w.casefold() for w in self.words} & set(found))
        return mentions or (self.min_words is not None and len(found) >= self.min_words)


def complexity(query: str, rules: Sequence[TierRule], default: Complexity = "simple") -> Complexity:
    """The class of a query: the first matching rule, else ``default`` (the g of LOGOS Eq. 36)."""
    return next((rule.complexity for rule in rules if rule.matches(query)), default)


class StaticRouter:
    """Send each class to its one stage and never escalate (LOGOS Eq. 36).

    Parameters
    ----------
    tiers : mapping
        Dimension (a complexity class) → stage name.

    Notes
    -----
    It cannot improve from feedback, so its state is empty.
    """

    def __init__(self, tiers: Mapping[str, str]) -> None:
        self.tiers = dict(tiers)

    async def answer(self, dimension: str, stages: Sequence[Stage], accept: Accept) -> Routed:
        """The tier's outputs up to the first accepted one.

        Raises
        ------
        InvalidValue
            When the dimension has no tier, or its stage is not among ``stages``.
        """
        stage = self._stage_of(dimension, stages)
        attempts = await attempt_stage(stage, accept)
        accepted = passed(attempts)
        return Routed(
            output=attempts[-1].output if accepted else None,
            stage=stage.name if accepted else None,
            entry=stage.name,
            attempts=tuple(attempts),
        )

    def snapshot(self) -> dict[str, Any]:
        """An empty state: nothing is learned."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Nothing to restore."""

    def _stage_of(self, dimension: str, stages: Sequence[Stage]) -> Stage:
        name = self.tiers.get(dimension)
        for stage in stages:
            if stage.name == name:
                return stage
        raise InvalidValue(
            f"tier of {dimension!r}",
            got=name,
            allowed=f"one of the stages {', '.join(s.name for s in stages) or '(none)'}",
            next_step="Give the dimension a stage in the tier table.",
        )
