"""Log wealths as people read them."""

from __future__ import annotations

import math

TEN = math.log(10)


def times(log_wealth: float) -> str:
    """``e**log_wealth`` as a multiple; the power of ten alone from five digits on."""
    tens = log_wealth / TEN
    if abs(tens) >= 5:
        return f"10^{tens:.0f}×"
    wealth = math.exp(log_wealth)
    return f"{wealth:,.0f}×" if wealth >= 1000 else f"{wealth:.3g}×"


def decades(low: float, high: float) -> list[float]:
    """Round wealths (natural logs) around an interval: about seven, or 1-2-5 when it is short."""
    first, last = math.floor(low / TEN), math.ceil(high / TEN)
    if last - first <= 2:
        return [p * TEN + math.log(part) for p in range(first, last + 1) for part in (1, 2, 5)]
    step = math.ceil((last - first) / 7)
    return [p * TEN for p in range(first - first % step, last + 1, step)]


def padded(low: float, high: float) -> tuple[float, float]:
    """An axis range with some room, more above than below, where labels stand."""
    margin = 0.08 * max(high - low, 1.0)
    return low - margin, high + 1.6 * margin
