"""Needs: what evidence must hold before an admission rule can judge it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from pydantic import Field

from logoslab.pack.base import Frozen
from logoslab.pack.evidence import Arm, Evidence, Role, Trial


class Needs(Frozen):
    """What a rule reads. Evidence that lacks any of it is ``not_applicable``, never guessed at.

    Attributes
    ----------
    arms : tuple of str
        Arms that must have trials of the rule's metric.
    roles : tuple of str
        Roles that must have trials of the rule's metric.
    metrics : tuple of str
        Further metrics that the candidate must be measured on (``proxy``, ``recurrence``…).
    replicates : int
        Trials of the metric that each task needs in each of ``arms``.
    binary : bool
        Every measured value of the metric is 0 or 1.
    bounded : bool
        Paired differences lie in [-1, 1].
    cost, latency, calls, component : bool
        Every candidate trial of the metric states it.
    """

    arms: tuple[Arm, ...] = ("incumbent", "candidate")
    roles: tuple[Role, ...] = ()
    metrics: tuple[str, ...] = ()
    replicates: int = Field(default=1, ge=1)
    binary: bool = False
    bounded: bool = False
    cost: bool = False
    latency: bool = False
    calls: bool = False
    component: bool = False

    def lacking(self, evidence: Evidence, metric: str) -> tuple[str, ...]:
        """What the evidence lacks, each in plain words; empty when it has everything."""
        mine = [t for t in evidence.trials if t.metric == metric]
        has = {t.arm for t in mine}, {t.role for t in mine}, {t.metric for t in evidence.trials}
        found = [f"no trial of {metric} in arm {a}" for a in self.arms if a not in has[0]]
        found += [f"no trial of {metric} in role {r}" for r in self.roles if r not in has[1]]
        found += [f"no measurement of {m}" for m in self.metrics if m not in has[2]]
        if not found and self.replicates > 1:
            found += _too_few(mine, self.arms, self.replicates)
        if self.binary and any(t.value not in (None, 0.0, 1.0) for t in mine):
            found.append(f"{metric} takes values other than 0 and 1")
        states: dict[str, Callable[[Trial], bool]] = {
            "cost": lambda t: t.cost is not None,
            "latency": lambda t: t.latency is not None,
            "calls": lambda t: bool(t.calls),
            "component": lambda t: t.component is not None,
        }
        for name, stated in states.items():
            if not getattr(self, name):
                continue
            silent = sum(t.arm == "candidate" and not stated(t) for t in mine)
            if silent:
                found.append(f"{silent} candidate trial(s) without {name}")
        return tuple(found)

    def words(self) -> str:
        """The needs on one line, for listings."""
        parts = [f"arms {' + '.join(self.arms)}"] if self.arms else []
        parts += [f"roles {' + '.join(self.roles)}"] if self.roles else []
        parts += [f"metrics {' + '.join(self.metrics)}"] if self.metrics else []
        parts += [f"{self.replicates} replicates"] if self.replicates > 1 else []
        flags = ("binary", "bounded", "cost", "latency", "calls", "component")
        return "; ".join([*parts, *(name for name in flags if getattr(self, name))])


def _too_few(trials: Iterable[Trial], arms: tuple[Arm, ...], least: int) -> list[str]:
    count = Counter((t.task, t.arm) for t in trials if t.arm in arms)
    short = sum(n < least for n in count.values())
    return [f"{short} task(s) with fewer than {least} replicates in an arm"] if short else []
