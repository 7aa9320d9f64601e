"""The holdout firewall: what a proposer sees, how a split wears out, what compares with what."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import (
    AcceptAll,
    ExposureBudget,
    PairedGate,
    accepted_loss,
    holdout_digest,
    measured_by,
    require_same_measurement,
)
from logoslab.pack.decision import AGGREGATES
from logoslab.pack.evidence import Evidence, Trial
from logoslab.pack.policy import Holdout
from tests.gate.make import decision, evidence, from_differences


def test_the_proposal_view_is_verdict_aggregates_and_hashes() -> None:
    """LOGOS §3.6.4: decision, counts, deltas and hashes; no task, no slice, no single example."""
    base = evidence([0, 1, 1], [1, 1, 0], slice=["all", "all", "secret-slice"])
    full = PairedGate(r_max=5, critical_slices=("secret-slice",)).decide(base)
    assert "secret-slice" in full.reason
    view = full.proposal_view()
    assert view.model_dump(mode="json") == {
        "rule": "paired",
        "conclusion": "reject_harmful",
        "incumbent": "incumbent",
        "candidate": "candidate",
        "evidence": base.digest,
        "tasks": 3,
        "aggregates": {"mean_difference": 0.0, "regressions": 1.0, "fixed": 1.0, "missing": 0.0},
        "withheld": "",
    }


@given(st.lists(st.sampled_from([0.0, 0.25, 1.0]), min_size=1, max_size=20))
def test_no_task_and_no_extreme_leaves(d: list[float]) -> None:
    """Whatever the rule measured, only named aggregates leave: never a path or a largest loss."""
    full = PairedGate(delta_min=0.1).decide(from_differences(d))
    view = full.proposal_view()
    assert set(view.aggregates) <= set(AGGREGATES)
    text = json.dumps(view.model_dump(mode="json"))
    assert not any(f"t{i:03d}" in text for i in range(len(d)))


def test_withheld_aggregates_say_why() -> None:
    """The verdict still leaves, with the reason for having no number."""
    view = decision(numbers={"fixed": 3.0}).proposal_view(withheld="all releases are used")
    assert (view.aggregates, view.withheld) == ({}, "all releases are used")


def test_releases_run_out() -> None:
    """Two releases, then only verdicts; without a limit they never run out."""
    budget = ExposureBudget(max_decisions=9, max_releases=2).release("s").release("s")
    refused = budget.ask_release("s")
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert refused.reason == (
        "the root policy allows 2 release(s) of aggregates on this gate split and all are used; "
        "only verdicts leave"
    )
    assert budget.ask_release("other").reason == "2 of 2 releases left"
    endless = ExposureBudget(max_decisions=9).release("s").ask_release("s")
    assert (endless.allowed, endless.remaining) == (True, None)
    assert budget.ask("s").allowed  # releases do not use up decisions


def test_losses_add_up_to_retirement() -> None:
    """Two regressions are allowed: at two the split goes on, at three it is worn out."""
    budget = ExposureBudget(max_decisions=9, max_loss=2).spend("s", loss=2)
    assert budget.ask("s").allowed
    refused = budget.spend("s", loss=1).ask("s")
    assert not refused.allowed
    assert refused.reason == (
        "the gate split has let 3 regressed task(s) through, 2 are allowed; draw fresh gate tasks"
    )


@pytest.mark.parametrize("loss", [-1.0, math.nan])
def test_nothing_lost_comes_back(loss: float) -> None:
    """A negative or unmeasured loss would set the account back."""
    with pytest.raises(InvalidValue, match="loss of a decision: allowed a number from 0"):
        ExposureBudget(max_decisions=1).spend("s", loss=loss)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=12))
def test_a_worn_split_stays_worn(acts: list[tuple[bool, int]]) -> None:
    """Once refused, no further act makes a split usable: the budget has no reset."""
    budget = ExposureBudget(max_decisions=4, max_releases=2, max_loss=5)
    was_open, could_release = True, True
    for releases, loss in acts:
        budget = budget.release("s") if releases else budget.spend("s", loss=loss)
        assert was_open or not budget.ask("s").allowed
        assert could_release or not budget.ask_release("s").allowed
        was_open, could_release = budget.ask("s").allowed, budget.ask_release("s").allowed


def test_only_what_was_accepted_is_lost() -> None:
    """Two of four tasks fell: lost when the rule accepts, not when it rejects."""
    base = evidence([1, 1, 0, 0], [0, 0, 1, 1])
    assert accepted_loss(AcceptAll().decide(base), base) == 2
    assert accepted_loss(PairedGate().decide(base), base) == 0


def test_an_acceptance_without_pairs_might_have_lost_everything() -> None:
    """Nothing was compared, so all three tasks count: unmeasured is not zero."""
    alone = Evidence(trials=tuple(Trial(task=t, arm="candidate", value=1) for t in "abc"))
    assert accepted_loss(decision(), alone) == 3


def test_another_salt_is_another_split() -> None:
    """The split is what the sampler draws: its salt and fractions, and no limit of use."""
    one = Holdout(salt="a")
    assert holdout_digest(one) == holdout_digest(one.replace(max_decisions=1, max_loss=3))
    assert holdout_digest(one) != holdout_digest(one.replace(salt="b"))


def test_two_scorers_do_not_compare() -> None:
    """A rejudge under another scorer digest or other verifiers is refused, and says both."""
    base = from_differences([1.0]).replace(scorer="exact sha256:a", verifiers=("schema sha256:v",))
    decided = measured_by(PairedGate().decide(base), base)
    assert (decided.scorer, decided.verifiers) == (base.scorer, base.verifiers)
    require_same_measurement(decided, base)
    with pytest.raises(EvidenceError) as caught:
        require_same_measurement(decided, base.replace(scorer="exact sha256:b"))
    assert str(caught.value) == (
        "comparison under one scorer: allowed values that the same scorer and verifiers measured; "
        "got exact sha256:a and exact sha256:b. "
        "Measure both again with one scorer and one set of verifiers."
    )
    with pytest.raises(EvidenceError, match="got schema sha256:v and none"):
        require_same_measurement(decided, base.replace(verifiers=()))
