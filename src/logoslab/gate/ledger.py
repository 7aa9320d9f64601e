"""The lab's account of gates: a level is priced before a gate runs and settled after it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.pack.base import Frozen
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Sampling
from logoslab.stats import Ledger, LedgerEntry, PortfolioEProcess, SamplingContract

MOST_TASKS = 100_000


class GateRow(Frozen):
    """One gate of the ledger, for frames and figures.

    Attributes
    ----------
    gate : int
        Its number, in order of pricing.
    label : str
        Its name.
    level : float
        What it was allowed, fixed before it began.
    log_e : float or None
        Log of its e-value when it was settled; None while it is open.
    log_needed : float
        log(1/level): where acceptance begins.
    accepted : bool
    open : bool
        Priced and not settled yet.
    """

    gate: int
    label: str
    level: float
    log_e: float | None
    log_needed: float
    accepted: bool
    open: bool


class Price(Frozen):
    """What the next gate would cost, before it runs.

    Attributes
    ----------
    gate : int
        Its number.
    method : str
        ``e_lond`` or ``lord_plus_plus``.
    level : float
        Level it would be priced at now.
    log_needed : float
        Log wealth that each of its streams must reach.
    least_tasks : int or None
        The fewest tasks that can reach it: all fixed and none regressed. None beyond 100,000.
    words : str
    """

    gate: int
    method: str
    level: float
    log_needed: float
    least_tasks: int | None
    words: str


class GateLedger:
    """Adoption levels over a stream of anytime gates (LOGOS Eq. 99, or e-LOND).

    Parameters
    ----------
    alpha : float
        Target rate of false adoptions over the whole stream, in (0, 1).
    sampling : str
        Contract of the gates. Where gates may depend on each other the ledger is e-LOND, which
        holds under any dependence; with independent gates it is LORD++.
    """

    def __init__(self, alpha: float, sampling: Sampling) -> None:
        known = [contract.value for contract in SamplingContract]
        if sampling not in known:
            raise InvalidValue(
                "sampling contract of a ledger",
                got=sampling,
                allowed=", ".join(known),
                next_step="Name how the gates' tasks are drawn.",
            )
        self._ledger = Ledger(alpha, contract=SamplingContract(sampling))

    @property
    def method(self) -> str:
        """``e_lond`` or ``lord_plus_plus``."""
        return self._ledger.method

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Settled gates in order."""
        return self._ledger.entries

    @property
    def next_level(self) -> float:
        """What the next gate would cost; fixing it is :meth:`price`."""
        return self._ledger.next_level

    def explain(self) -> str:
        """Where the next level comes from, in words."""
        return self._ledger.explain()

    def preview(self, *, delta_min: float = 0.0, rho_max: float = 0.1) -> Price:
        """Price the next gate in words, before it runs. Nothing is spent.

        Parameters
        ----------
        delta_min, rho_max : float
            The parameters that the gate will have; they decide how many tasks it needs at least.
        """
        level, number = self.next_level, len(self.rows()) + 1
        needed = -math.log(level)
        least = _least_tasks(needed, ((delta_min + 1) / 2, 1 - rho_max))
        tasks = f"more than {MOST_TASKS:,}" if least is None else f"at least {least}"
        accepted = sum(row.accepted for row in self.rows())
        words = (
            f"{self.explain()} It accepts once every stream holds {math.exp(needed):.4g} times its "
            f"stake (1/level), which takes {tasks} tasks even if all are fixed and none "
            f"regresses. So far {number - 1} gate(s), {accepted} accepted."
        )
        return Price(
            gate=number,
            method=self.method,
            level=level,
            log_needed=needed,
            least_tasks=least,
            words=words,
        )

    def rows(self) -> tuple[GateRow, ...]:
        """Every priced gate in order, settled or open."""
        settled = {entry.gate: entry for entry in self.entries}
        opened = [e for e in self.to_dict()["events"] if e["event"] == "open"]
        return tuple(
            _row(number, event["gate"], event["level"], settled.get(event["gate"]))
            for number, event in enumerate(opened, start=1)
        )

    def price(self, gate: str) -> float:
        """Fix the level of a gate that has not begun; pass it to ``AnytimeGate(level=...)``.

        Raises
        ------
        EvidenceError
            When the name was used, or an earlier gate is unsettled under LORD++.
        """
        return self._ledger.open(gate)

    def settle(self, gate: str, decision: Decision) -> LedgerEntry:
        """Close a priced gate with what the anytime gate concluded.

        A decision that does not accept never counts as a discovery: a veto or a conflict is
        settled as no evidence, whatever its wealth.

        Raises
        ------
        EvidenceError
            When the gate was not priced, or the decision was not made at the priced level.
        """
        level = self._priced(gate)
        if decision.rule != "anytime" or decision.numbers.get("level") != level:
            raise EvidenceError(
                f"decision of gate {gate!r}",
                got=f"rule {decision.rule} at level {decision.numbers.get('level')}",
                allowed=f"an anytime decision at the priced level {level}",
                next_step="Run AnytimeGate(level=ledger.price(gate)) and settle its decision.",
            )
        log_e = decision.numbers.get("log_e")
        if log_e is None or not decision.accepted:
            log_e = min(log_e or 0.0, 0.0)
        return self._ledger.record(gate, log_e=log_e)

    def abandon(self, gate: str) -> LedgerEntry:
        """Close a priced gate that was never decided. Its level is spent.

        Raises
        ------
        EvidenceError
            When the gate was not priced.
        """
        return self._ledger.record(gate, log_e=0.0)

    def to_dict(self) -> dict[str, Any]:
        """Every event as plain JSON, for the lab to keep."""
        return self._ledger.to_dict()

    @classmethod
    def replay(cls, saved: Mapping[str, Any]) -> Self:
        """The ledger of a record, with every level and decision computed afresh.

        Raises
        ------
        EvidenceError
            When the record is not one, or was changed.
        """
        if not isinstance(saved, Mapping):
            raise EvidenceError(
                "ledger",
                got=repr(saved),
                allowed="a mapping",
                next_step="Pass what GateLedger.to_dict() returned.",
            )
        ledger = cls.__new__(cls)
        ledger._ledger = Ledger.replay(saved)
        return ledger

    def _priced(self, gate: str) -> float | None:
        opened = {e["gate"]: e["level"] for e in self.to_dict()["events"] if e["event"] == "open"}
        return opened.get(gate)


def _row(number: int, label: str, level: float, entry: LedgerEntry | None) -> GateRow:
    return GateRow(
        gate=number,
        label=label,
        level=level,
        log_e=entry.log_e if entry else None,
        log_needed=-math.log(level),
        accepted=bool(entry and entry.rejected),
        open=entry is None,
    )


def _least_tasks(log_needed: float, nulls: tuple[float, ...]) -> int | None:
    """Observations of 1 after which every stream has reached the wealth."""
    streams = [PortfolioEProcess(m0) for m0 in nulls]
    reached = [False for _ in streams]
    for n in range(1, MOST_TASKS + 1):
        for i, stream in enumerate(streams):
            reached[i] |= stream.update(1.0).log_wealth >= log_needed
        if all(reached):
            return n
    return None
