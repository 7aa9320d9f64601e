"""A clock that tests control."""

from __future__ import annotations


class FixedClock:
    """Starts at ``start`` and moves by ``step`` seconds at every reading."""

    def __init__(self, start: float = 1_800_000_000.0, step: float = 0.0) -> None:
        self.time, self.step = start, step

    def now(self) -> float:
        """The present reading; the clock then moves on."""
        reading = self.time
        self.time += self.step
        return reading
