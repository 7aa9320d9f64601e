"""The gate ledger looked at: rows for frames, and the price of the next gate."""

from __future__ import annotations

import math

import pytest

from logoslab.gate import AnytimeGate, GateLedger
from tests.gate.make import from_differences

FIRST = 0.05 * 0.4374901658  # alpha · γ_1 of the power sequence: 0.05/ζ(1.6)


def test_rows_are_every_priced_gate_in_order() -> None:
    """One accepted, one abandoned, one still open: each with the level fixed before it began."""
    ledger = GateLedger(0.05, "shared_pool")
    level = ledger.price("a")
    won = ledger.settle("a", AnytimeGate(level=level).decide(from_differences([1.0] * 80)))
    ledger.price("b")
    ledger.abandon("b")
    ledger.price("c")
    rows = ledger.rows()
    assert [(r.gate, r.label, r.accepted, r.open) for r in rows] == [
        (1, "a", True, False),
        (2, "b", False, False),
        (3, "c", False, True),
    ]
    assert rows[0].level == pytest.approx(FIRST)
    assert (rows[0].log_e, rows[1].log_e, rows[2].log_e) == (won.log_e, 0.0, None)
    assert rows[0].log_e is not None
    assert rows[0].log_e >= rows[0].log_needed == pytest.approx(-math.log(FIRST))


def test_rows_survive_a_replay() -> None:
    """A saved ledger has the same rows."""
    ledger = GateLedger(0.05, "iid")
    ledger.price("a")
    ledger.abandon("a")
    ledger.price("b")
    assert GateLedger.replay(ledger.to_dict()).rows() == ledger.rows()


@pytest.mark.parametrize("sampling", ["shared_pool", "iid"])
def test_the_preview_is_what_the_next_gate_pays(sampling: str) -> None:
    """The price in words names the level that pricing then gives, and spends nothing."""
    ledger = GateLedger(0.05, sampling)  # type: ignore[arg-type]
    before = ledger.to_dict()
    asked = ledger.preview()
    assert ledger.to_dict() == before
    assert f"Level {asked.level:.3g} for gate 1 under {ledger.method}" in asked.words
    assert f"takes at least {asked.least_tasks} tasks" in asked.words
    assert asked.words.endswith("So far 0 gate(s), 0 accepted.")
    assert ledger.price("a") == asked.level
    ledger.abandon("a")
    assert (ledger.preview().gate, ledger.preview().level) == (2, ledger.next_level)


def test_the_least_number_of_tasks_is_what_a_perfect_candidate_needs() -> None:
    """One task fewer is undecided and exactly as many accept, by the gate itself."""
    ledger = GateLedger(0.05, "shared_pool")
    asked = ledger.preview(rho_max=0.2)
    assert asked.least_tasks is not None
    gate = AnytimeGate(level=asked.level, rho_max=0.2)
    assert gate.decide(from_differences([1.0] * asked.least_tasks)).accepted
    assert not gate.decide(from_differences([1.0] * (asked.least_tasks - 1))).accepted
