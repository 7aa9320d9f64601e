"""Accept on the proposal-time proxy: the score that the proposer itself saw."""

from __future__ import annotations

import math
from typing import ClassVar

from pydantic import Field

from logoslab.gate.batch import PROXY, Batch, Outcomes
from logoslab.gate.rule import ROUNDING, PairedRule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs


class Proxy(PairedRule):
    """Accept ⇔ the mean gain on the proposal-time proxy is above a threshold.

    The proxy is metric ``proxy`` of both arms, seen while the change was written; no held-out
    task is read. No error rate: a proposer that picks by its proxy picks the proxy's noise.

    Parameters
    ----------
    threshold : float, default 0
        Gain that must be exceeded, in units of the proxy.
    """

    name: ClassVar[str] = "proxy"
    source: ClassVar[str] = "LOGOS §4.3, tables 13-14: proxy signal"
    claim: ClassVar[str] = "Says nothing about held-out tasks; it carries no error rate."

    metric: str = Field(default=PROXY, description="the score that the proposer saw")
    threshold: float = Field(default=0.0, description="proxy gain that must be exceeded")

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row, from the proxy gains of the batch."""
        if self.metric != PROXY:
            return super().decide_many(batch)
        if batch.proxy is None:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        return Outcomes.first_true(
            [
                (batch.proxy > self.threshold + ROUNDING, Conclusion.ACCEPT),
                (batch.proxy < -ROUNDING, Conclusion.REJECT_HARMFUL),
            ],
            Conclusion.REJECT_INSUFFICIENT,
            1,
            len(batch),
        )

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        d = pairs.difference.tolist()
        gain = math.fsum(d) / len(d)
        if gain > self.threshold + ROUNDING:
            conclusion, words = Conclusion.ACCEPT, "is above"
        else:
            fell = gain < -ROUNDING
            conclusion = Conclusion.REJECT_HARMFUL if fell else Conclusion.REJECT_INSUFFICIENT
            words = "is not above"
        return self._conclude(
            evidence,
            conclusion,
            f"proxy gain {gain:.3g} {words} {self.threshold:g}; no held-out task was read",
            tasks=len(d),
            numbers={"proxy_gain": gain},
        )
