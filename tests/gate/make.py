"""Small evidence for the gate tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from logoslab.gate import PROMOTING, RULES
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Sampling, Trial


def evidence(
    incumbent: Sequence[float | None],
    candidate: Sequence[float | None],
    *,
    sampling: Sampling = "shared_pool",
    effects: tuple[str, ...] = (),
    **marks: Any,
) -> Evidence:
    """Tasks t000, t001… in this order; ``marks`` hold one role or slice for each task."""
    trials = [
        Trial(
            task=f"t{i:03d}",
            arm=arm,
            value=value,
            order=i,
            role=marks["role"][i] if "role" in marks else "holdout",
            slice=marks["slice"][i] if "slice" in marks else "all",
        )
        for arm, column in (("incumbent", incumbent), ("candidate", candidate))
        for i, value in enumerate(column)
    ]
    return Evidence(trials=tuple(trials), sampling=sampling, effects=effects)


def from_differences(d: Sequence[float], **more: Any) -> Evidence:
    """Evidence whose paired differences are ``d`` (scores around 0)."""
    return evidence([0.0] * len(d), list(d), **more)


def swapped(given: Evidence) -> Evidence:
    """The same trials with the two arms exchanged."""
    other = {"incumbent": "candidate", "candidate": "incumbent"}
    return given.replace(trials=tuple(t.replace(arm=other[t.arm]) for t in given.trials))


def decision(**changes: Any) -> Decision:
    """An accepting decision at the strictest settings; ``params`` override single ones."""
    rule = changes.get("rule", "paired")
    strict = RULES[rule](delta_min=0.1).params if rule in PROMOTING else {}
    changes["params"] = {**strict, **changes.get("params", {})}
    base: dict[str, Any] = {
        "rule": "paired",
        "conclusion": Conclusion.ACCEPT,
        "reason": "mean gain 0.5",
        "incumbent": "sha256:old",
        "candidate": "sha256:new",
        "evidence": "sha256:trials",
        "tasks": 20,
    }
    return Decision(**{**base, **changes})
