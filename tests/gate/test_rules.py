"""The ledger, the exposure budget and the firewall beside decisions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError
from logoslab.gate import AnytimeGate, ExposureBudget, GateLedger, proposal_trace, split_digest
from logoslab.pack.event import AuditEvent, OutcomeEvent
from tests.gate.make import from_differences

FIRST = 0.05 * 0.4374901658  # alpha · γ_1 of the power sequence: 0.05/ζ(1.6)


def test_the_ledger_prices_before_and_settles_after() -> None:
    """e-LOND: gate 1 costs α·γ_1; after one adoption gate 2 costs 2·α·γ_2."""
    ledger = GateLedger(0.05, "shared_pool")
    level = ledger.price("g1")
    assert ledger.method == "e_lond"
    assert level == pytest.approx(FIRST, rel=1e-9)
    decided = AnytimeGate(level=level).decide(from_differences([1.0] * 90))
    assert ledger.settle("g1", decided).rejected is decided.accepted is True
    assert ledger.price("g2") == pytest.approx(2 * FIRST * 2**-1.6, rel=1e-9)
    assert ledger.abandon("g2").rejected is False
    assert GateLedger.replay(ledger.to_dict()).entries == ledger.entries


def test_only_an_accepting_decision_is_a_discovery() -> None:
    """A vetoed candidate whose streams would accept earns the ledger nothing."""
    ledger = GateLedger(0.05, "shared_pool")
    gate = AnytimeGate(level=ledger.price("g1"))
    vetoed = gate.decide(from_differences([1.0] * 90, effects=("x:destructive",)))
    assert ledger.settle("g1", vetoed).rejected is False
    gate = AnytimeGate(level=ledger.price("g2"))
    contradictory = gate.decide(from_differences([1.0] * 120)).replace(conclusion="conflict")
    assert ledger.settle("g2", contradictory).rejected is False


def test_a_decision_at_another_level_cannot_be_settled() -> None:
    """The level was fixed before the gate began; another one was not paid for."""
    ledger = GateLedger(0.05, "iid")
    level = ledger.price("g1")
    with pytest.raises(EvidenceError) as caught:
        ledger.settle("g1", AnytimeGate().decide(from_differences([1.0] * 90)))
    assert str(caught.value) == (
        f"decision of gate 'g1': allowed an anytime decision at the priced level {level}; got "
        "rule anytime at level 0.05. Run AnytimeGate(level=ledger.price(gate)) and settle its "
        "decision."
    )
    assert ledger.method == "lord_plus_plus"


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]), min_size=1, max_size=60))
def test_gate_and_ledger_always_agree(d: list[float]) -> None:
    """Accepting and being a discovery are one thing, for every stream."""
    ledger = GateLedger(0.3, "shared_pool")
    decided = AnytimeGate(rho_max=0.5, level=ledger.price("g")).decide(from_differences(d))
    assert ledger.settle("g", decided).rejected is decided.accepted


def test_the_exposure_budget_runs_out_with_a_reason() -> None:
    """Two decisions on one split, then a refusal; another split is fresh."""
    split = split_digest(["b", "a", "a"])
    assert split == split_digest(["a", "b"])
    budget = ExposureBudget(max_decisions=2).spend(split).spend(split)
    refused = budget.ask(split)
    assert (refused.allowed, refused.remaining) == (False, 0)
    assert refused.reason == (
        "the gate split has served all 2 decisions that the root policy allows; "
        "draw fresh gate tasks"
    )
    assert budget.ask(split_digest(["c"])).reason == "2 of 2 decisions left"


def test_a_proposer_sees_only_proposal_tasks() -> None:
    """Gate tasks and audit entries are withheld."""
    common = {"run": "r", "seq": 0, "at": 0.0}
    seen = OutcomeEvent(**common, task="p1", status="completed", score=0.0)
    hidden = OutcomeEvent(**common, task="g1", status="completed", score=1.0)
    audit = AuditEvent(**common, act="gate", subject="g1")
    assert proposal_trace([seen, hidden, audit], ["p1"]) == (seen,)
