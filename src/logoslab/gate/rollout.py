"""Shadow and canary rollout, judged again at every canary sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final, NamedTuple, Self

import numpy as np
from pydantic import Field, model_validator

from logoslab.gate.batch import SCORE, Batch, Bools, Floats, Outcomes
from logoslab.gate.cases import REPLAYED
from logoslab.gate.rule import ROUNDING, Rule
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Trial
from logoslab.pack.needs import Needs

CHECKS: Final = ("failure rate", "mean score", "mean latency")


class Samples(NamedTuple):
    """Trials of K rollouts in order, each of shape (K, t); latency None when it is not read."""

    score: Floats
    failed: Bools
    latency: Floats | None


class Rollout(Rule):
    """Accept ⇔ no regression in shadow nor at any canary sample up to the last one.

    Shadow: the first ``shadow_samples`` trials that both arms ran. Canary: the candidate trials
    after them, in order of arrival and replicate. The means of the candidate (first in shadow,
    then over the canary so far, from ``min_canary`` on) are held against the baseline's few
    shadow samples, which are never refreshed. Replayed cases are no traffic and are not read.
    Null: both arms are one agent; no error rate, and the noise of the short baseline decides
    often: an identical candidate whose baseline saw no failure is reverted by few canary failures.

    Parameters
    ----------
    shadow_samples, min_canary, max_canary : int, default 3, 10 and 50
    traffic : float, default 0.1
        Share of requests that the canary is given, in (0, 1]. It changes no verdict, only the
        requests that a decision takes (``requests``).
    success_at : float, default 0.5
        A trial below this failed, as did one that returned nothing.
    max_failure_rise : float, default 0.05
        Tolerated rise of the failure rate.
    max_score_drop : float, default 0.02
        Tolerated drop of the mean score.
    max_latency_ratio : float or None, default 1.25
        Tolerated ratio of mean latencies, at least 1; None switches this check off. With it,
        evidence that states no latency is not applicable.
    """

    name: ClassVar[str] = "rollout"
    source: ClassVar[str] = "AgentEvolver, public code: extension/rollout.py, RolloutPolicy"
    needs: ClassVar[Needs] = Needs()
    sequential: ClassVar[bool] = True
    claim: ClassVar[str] = (
        "Looks at every canary sample against a baseline of a few; it carries no error rate."
    )

    shadow_samples: int = Field(default=3, ge=1, description="paired samples before the canary")
    min_canary: int = Field(default=10, ge=1, description="canary samples before the first check")
    max_canary: int = Field(default=50, ge=1, description="canary samples that activate")
    traffic: float = Field(default=0.1, gt=0, le=1, description="share of requests to the canary")
    success_at: float = Field(default=0.5, description="value at which a trial succeeded")
    max_failure_rise: float = Field(default=0.05, ge=0, description="rise of the failure rate")
    max_score_drop: float = Field(default=0.02, ge=0, description="drop of the mean score")
    max_latency_ratio: float | None = Field(
        default=1.25, ge=1, description="ratio of mean latencies; None is no latency check"
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_canary > self.max_canary:
            raise ValueError("min_canary no larger than max_canary")
        return self

    def decide_many(self, batch: Batch) -> Outcomes:
        """The conclusion of each row; a batch has no latencies, so that check must be off."""
        if self.metric != SCORE:
            return super().decide_many(batch)
        if self.max_latency_ratio is not None:
            return Outcomes.first_true([], Conclusion.NOT_APPLICABLE, 0, len(batch))
        k, n = self.shadow_samples, batch.incumbent.shape[1]
        if n < k:
            return Outcomes.first_true([], Conclusion.UNDECIDED, n, len(batch))
        base, shadow = (Samples(s[:, :k], s[:, :k] < self.success_at - ROUNDING, None)
                        for s in (batch.incumbent, batch.candidate))  # fmt: skip
        scores = batch.candidate[:, k : k + self.max_canary]
        canary = Samples(scores, scores < self.success_at - ROUNDING, None)
        worse = self._worse(base, shadow, canary)
        last = np.where(worse.any(axis=1), worse.argmax(axis=1), scores.shape[1])
        full = np.full(len(batch), scores.shape[1] == self.max_canary)
        return Outcomes.first_true(
            [(worse.any(axis=1), Conclusion.REJECT_HARMFUL), (full, Conclusion.ACCEPT)],
            Conclusion.UNDECIDED,
            k + last,
            len(batch),
        )

    def _decide(self, evidence: Evidence) -> Decision:
        base, shadow, canary = self._traffic(evidence)
        read = [*base, *shadow, *canary]
        silent = sum(t.latency is None for t in read)
        if self.max_latency_ratio is not None and silent:
            return self.not_applicable(
                evidence,
                f"{silent} of {len(read)} trials state no latency; set max_latency_ratio to None "
                "to judge without it",
            )
        if len(shadow) < self.shadow_samples:
            seen = f"{len(shadow)} of {self.shadow_samples} shadow samples seen"
            return self._conclude(evidence, Conclusion.UNDECIDED, seen, tasks=len(shadow))
        baseline, *stages = (self._samples(part) for part in (base, shadow, canary))
        bad = self._worse(baseline, *stages)[0]
        used = int(bad.argmax()) if bad.any() else len(canary)
        conclusion, reason = self._concluded(baseline, stages, used, reverted=bool(bad.any()))
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=len(shadow) + used,
            numbers={
                "shadow_samples": len(shadow),
                "canary_samples": used,
                "requests": len(shadow) + used / self.traffic,
                "baseline_failure_rate": float(baseline.failed.mean()),
                "baseline_score": float(baseline.score.mean()),
            },
        )

    def _traffic(self, evidence: Evidence) -> tuple[list[Trial], list[Trial], list[Trial]]:
        """The baseline's and the candidate's shadow trials, and the canary's."""
        rows = sorted(
            (t for t in evidence.trials
             if t.metric == self.metric and t.role not in REPLAYED),
            key=lambda t: (t.order, t.task, t.replicate),
        )  # fmt: skip
        old = {(t.task, t.replicate): t for t in rows if t.arm == "incumbent"}
        new = [t for t in rows if t.arm == "candidate"]
        both = [i for i, t in enumerate(new) if (t.task, t.replicate) in old]
        both = both[: self.shadow_samples]
        shadow = [new[i] for i in both]
        first = both[-1] + 1 if both else len(new)
        base = [old[t.task, t.replicate] for t in shadow]
        return base, shadow, new[first : first + self.max_canary]

    def _samples(self, trials: Sequence[Trial]) -> Samples:
        values = [self.m_fail if t.value is None else t.value for t in trials]
        failed = [t.value is None or t.value < self.success_at - ROUNDING for t in trials]
        timed = [] if self.max_latency_ratio is None else [t.latency or 0.0 for t in trials]
        return Samples(
            np.array([values], dtype=np.float64),
            np.array([failed], dtype=np.bool_),
            np.array([timed], dtype=np.float64) if timed else None,
        )

    def _worse(self, base: Samples, shadow: Samples, canary: Samples) -> Bools:
        """Whether each look found a regression, shape (K, 1 + canary): shadow, then each sample."""
        in_shadow = np.logical_or.reduce([bad for _, bad in self._looks(base, shadow)])[:, -1:]
        in_canary = np.logical_or.reduce([bad for _, bad in self._looks(base, canary)])
        in_canary[:, : self.min_canary - 1] = False
        return np.concatenate([in_shadow, in_canary], axis=1)

    def _looks(self, base: Samples, seen: Samples) -> list[tuple[Floats, Bools]]:
        """For each check, the change after each sample and whether it is a regression."""
        rise = _running(seen.failed) - base.failed.mean(axis=1, keepdims=True)
        change = _running(seen.score) - base.score.mean(axis=1, keepdims=True)
        looks = [
            (rise, rise > self.max_failure_rise + ROUNDING),
            (change, change < -self.max_score_drop - ROUNDING),
        ]
        if self.max_latency_ratio is not None and base.latency is not None:
            slow, usual = _running(_timed(seen)), base.latency.mean(axis=1, keepdims=True)
            looks.append((slow - usual, slow > self.max_latency_ratio * usual + ROUNDING))
        return looks

    def _concluded(
        self, base: Samples, stages: Sequence[Samples], used: int, *, reverted: bool
    ) -> tuple[Conclusion, str]:
        if not reverted:
            if used < self.max_canary:
                return Conclusion.UNDECIDED, f"{used} of {self.max_canary} canary samples seen"
            return Conclusion.ACCEPT, f"no regression at any look up to canary sample {used}"
        stage, column = (stages[1], used - 1) if used else (stages[0], -1)
        where = f"canary sample {used}" if used else "the end of shadow"
        name, change = next(
            (name, float(change[0, column]))
            for name, (change, bad) in zip(CHECKS, self._looks(base, stage), strict=False)
            if bad[0, column]
        )
        return (
            Conclusion.REJECT_HARMFUL,
            f"reverted at {where}: {name} changed by {change:+.3g} from the baseline's "
            f"{base.score.shape[1]} samples",
        )


def _running(values: Floats | Bools) -> Floats:
    """Mean of the first 1, 2, … samples, shape (K, t)."""
    return np.asarray(np.cumsum(values, axis=1) / np.arange(1, values.shape[1] + 1))


def _timed(samples: Samples) -> Floats:
    return np.zeros_like(samples.score) if samples.latency is None else samples.latency
