"""The array form of each paper's rule concludes as its evidence form does, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from logoslab.gate.adoption import AdoptionReport
from logoslab.gate.batch import Batch, Cases, decide_one_by_one
from logoslab.gate.controlled import ReplayControlled
from logoslab.gate.corpus import CorpusGuard
from logoslab.gate.forward import ForwardTrial
from logoslab.gate.harness import ReplayCaptured, ReplayNarrowed, TargetOnly
from logoslab.gate.pass_set import PassSet
from logoslab.gate.proxy import Proxy
from logoslab.gate.rollout import Rollout
from logoslab.gate.rule import Rule
from logoslab.gate.self_judged import CommitFirst, SelfJudged
from logoslab.gate.validated_route import ValidatedRoute
from logoslab.pack.evidence import Role

SMALL = {"shadow_samples": 2, "min_canary": 2, "max_canary": 5}
RULES: list[Rule] = [
    TargetOnly(), ReplayCaptured(), ReplayNarrowed(), ReplayControlled(), CorpusGuard(),
    ReplayCaptured(max_failures=1, max_protected=0), ReplayControlled(min_cases=1, success_at=0.9),
    ForwardTrial(), ForwardTrial(sessions=2, p0=0.5), AdoptionReport(), Rollout(),
    Rollout(max_latency_ratio=None, **SMALL), SelfJudged(), CommitFirst(), Proxy(),
    Proxy(threshold=0.1), Proxy(threshold=-0.2), PassSet(), ValidatedRoute(),
    ValidatedRoute(gain_margin=0.2, regression_cap=0.5), TargetOnly(metric="outcome"),
]  # fmt: skip


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    """Small batches: binary or graded scores, with or without each optional part."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    levels = draw(st.sampled_from([2, 5, 21]))
    rows, tasks = draw(st.integers(1, 4)), draw(st.integers(1, 9))

    def scores(*shape: int) -> Any:
        return rng.integers(0, levels, shape) / (levels - 1)

    roles = tuple(draw(st.lists(st.sampled_from(["failure", "protected"]), min_size=1, max_size=6)))
    return Batch(
        scores(rows, tasks),
        scores(rows, tasks),
        proxy=draw(st.sampled_from([None, scores(rows) - 0.5])),
        satisfied=draw(st.sampled_from([None, rng.random(rows) < 0.5])),
        recurrence=draw(st.sampled_from([None, rng.integers(0, 2, (rows, 4)).astype(float),
                                         scores(rows, 2)])),
        cases=draw(st.sampled_from([None, _cases(roles, rows, scores)])),
    )  # fmt: skip


def _cases(roles: tuple[Role, ...], rows: int, scores: Any) -> Cases:
    m = len(roles)
    return Cases(roles, scores(rows, m), scores(rows, m, 2), scores(rows, m, 2))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_arrays_and_trials_meet_the_margins_alike(rule: Rule) -> None:
    """Changes of exactly ±.05 and ±.02, where rounding would tell the two forms apart."""
    steps = np.array([-0.05, -0.02, 0.0, 0.02, 0.05])
    before = np.array([0.7, 0.45, 0.3, 0.95])
    grid = [(old, old + step) for old in before for step in steps]
    old, new = (np.array(side)[:, None] for side in zip(*grid, strict=True))
    cases = Cases(
        ("failure", "protected", "protected"),
        np.hstack([np.full_like(old, 0.3), old, old]),
        np.stack([np.full_like(old, 0.3), old, old], axis=1),
        np.stack([np.full_like(old, 0.9), new, old], axis=1),
    )
    batch = Batch(old, new, proxy=(new - old)[:, 0], cases=cases)
    fast, slow = rule.decide_many(batch), decide_one_by_one(rule, batch)
    assert fast.conclusions.tolist() == slow.conclusions.tolist()


@pytest.mark.parametrize("rule", RULES, ids=repr)
@given(batch=batches())
@settings(max_examples=60, deadline=None)
def test_arrays_and_trials_conclude_alike(rule: Rule, batch: Batch) -> None:
    """Conclusions and used tasks of every row are those of the row's evidence."""
    fast, slow = rule.decide_many(batch), decide_one_by_one(rule, batch)
    assert fast.conclusions.tolist() == slow.conclusions.tolist()
    assert fast.tasks.tolist() == slow.tasks.tolist()
