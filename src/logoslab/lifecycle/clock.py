"""The wall clock."""

from __future__ import annotations

import time


class SystemClock:
    """Seconds since the epoch from the operating system."""

    def now(self) -> float:
        """The present time."""
        return time.time()
