"""A queue and gates of known behaviour, for tests with and without a browser."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from logoslab.errors import AuthorityError, InvalidValue
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, evidence_from_scores
from logoslab.pack.patch import Footprint

EVIL = '<script>window.pwned = true</script><img src=x onerror="window.pwned = true">'
DIFF = """--- incumbent/tools/draft_exception.json
+++ candidate/tools/draft_exception.json
@@ -3,7 +3,8 @@
   "binding": {
     "body": {
       "clause": "clause",
-      "residual_risk": "residual_risk"
+      "data_class": "data_class",
+      "risk_rating": "residual_risk"
     },
"""


TWO_FILES = Footprint(
    files=("execution_plan.json", "tools/draft_exception.json"), tools=("draft_exception",)
)


@dataclass(frozen=True)
class Item:
    """One pending change."""

    id: str
    title: str
    proposer: str = "tool_schema_repair"
    diff: str = DIFF
    risk: str = "medium"
    footprint: Footprint = TWO_FILES
    summary: Mapping[str, Any] = field(
        default_factory=lambda: {
            "anytime": {"conclusion": "accept", "log_e": 3.05, "p_safety": None},
            "paired": {"conclusion": "accept", "mean_difference": 0.195, "regressions": 0},
        }
    )
    effects: tuple[str, ...] = ("draft_exception:transactional_write",)


class Queue:
    """Keeps what was decided in order; refuses ids that do not wait."""

    def __init__(self, *items: Item) -> None:
        self.items, self.decided = {item.id: item for item in items}, []

    def pending(self) -> list[Item]:
        """What still waits."""
        return list(self.items.values())

    def decide(self, id: str, choice: str, reason: str, keep: Sequence[str] = ()) -> None:
        """Record and remove."""
        if reason == "refuse me":
            raise AuthorityError("approval", got="no key", allowed="a listed key",
                                 next_step="Ask the release owner.")  # fmt: skip
        del self.items[id]
        self.decided.append((id, choice, reason, tuple(keep)))


def demo_queue() -> Queue:
    """Two changes; the second one's text is hostile."""
    return Queue(
        Item("repair-1", "Send risk_rating and data_class to the exceptions API"),
        Item("rule-2", f"Archive rule {EVIL}", proposer=EVIL, diff=f"+{EVIL}\n", risk="high",
             summary={EVIL: EVIL}, effects=(EVIL,)),
    )  # fmt: skip


class CountGate:
    """Bets with a fixed stake: wealth doubles on a gain, halves on a loss, stays on a tie.

    Accepts at wealth 1/alpha; harmful from the first loss beyond ``r_max``.
    """

    source = "test"

    def __init__(self, name: str, *, alpha: float, r_max: int, **_: object) -> None:
        if alpha > 0.2:
            raise InvalidValue("alpha", got=alpha, allowed="at most 0.2",
                               next_step="Choose less.")  # fmt: skip
        self.name, self._alpha, self._r_max = name, alpha, r_max

    def decide(self, evidence: Evidence) -> Decision:
        """Judge every pair in order."""
        d = [float(v) for v in evidence.pairs().difference]
        logs = [sum((v > 0) - (v < 0) for v in d[: i + 1]) * math.log(2) for i in range(len(d))]
        losses, bar = sum(v < 0 for v in d), -math.log(self._alpha)
        conclusion = (
            Conclusion.REJECT_HARMFUL if losses > self._r_max
            else Conclusion.ACCEPT if max(logs) >= bar
            else Conclusion.UNDECIDED
        )  # fmt: skip
        return Decision(
            rule=self.name, conclusion=conclusion, reason=f"{losses} losses <b>",
            path={"log_wealth_gain": tuple(logs)} if self.name == "count" else {},
            numbers={"threshold_accept": bar}, tasks=len(d),
            incumbent="a", candidate="b", evidence=evidence.digest,
        )  # fmt: skip


def gates(**params: Any) -> dict[str, CountGate]:
    """Two rules: ``count`` keeps a wealth path, ``bare`` does not."""
    return {name: CountGate(name, **params) for name in ("count", "bare")}


def evidence() -> Evidence:
    """Eight tasks t0…t7: gain, tie, gain, gain, gain, gain, loss, tie."""
    candidate = [1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0]
    incumbent = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]
    return evidence_from_scores(
        {f"t{i}": v for i, v in enumerate(incumbent)},
        {f"t{i}": v for i, v in enumerate(candidate)},
    )
