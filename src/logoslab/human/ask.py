"""Who answers a question when nobody sits at the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class NobodyAnswers:
    """A person who is away: every question stays open."""

    def ask(self, question: str, arguments: Mapping[str, Any]) -> str | None:
        """None."""
        return None


class ScriptedHuman:
    """Answers that were given beforehand; a question without one stays open.

    Parameters
    ----------
    answers : mapping
        Question, or a part of it → answer. The longest part that occurs in the question wins, so
        a general answer never hides a particular one.

    Attributes
    ----------
    asked : list of str
        Every question so far, answered or not.
    """

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers = dict(answers)
        self.asked: list[str] = []

    def ask(self, question: str, arguments: Mapping[str, Any]) -> str | None:
        """The answer given beforehand, or None."""
        self.asked.append(question)
        fitting = [part for part in self._answers if part in question]
        return self._answers[max(fitting, key=lambda p: (len(p), p))] if fitting else None
