"""A ledger of gates: each level is fixed before its gate starts, each decision is on record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import EvidenceError
from logoslab.stats._check import choice, closed_unit, open_unit
from logoslab.stats.online_fdr import (
    RULES,
    WealthRule,
    addis_rule,
    investing_rule,
    lord_rule,
    saffron_rule,
    starting_wealth,
)
from logoslab.stats.sampling import SamplingContract
from logoslab.stats.spending import spending

# Stands for the logarithm of an e-value of 0.
LEAST_LOG_E: Final = -1e9


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One closed gate: its level was fixed before it started."""

    number: int
    gate: str
    level: float
    p_value: float | None
    log_e: float | None
    rejected: bool


class Ledger:
    """False-discovery account over a sequence of gates.

    A gate first asks for its level with `open`, runs, and reports with `record`. The level depends
    on closed gates alone. Rejecting a gate's null hypothesis means that its candidate may pass.

    Parameters
    ----------
    alpha : float
        Target false discovery rate, in (0, 1).
    method : str, optional
        One of "lord_plus_plus", "saffron", "addis", "alpha_investing", "lond", "e_lond"; by
        default the one that the contract asks for.
    contract : SamplingContract, default IID
        How the gates' observations are drawn; `claim` prints what that supports.
    w0 : float, optional
        Starting wealth of the wealth rules, in (0, alpha]; alpha/2 by default.
    gamma : {"power", "javanmard_montanari"} or array_like
        Spending sequence.

    Raises
    ------
    InvalidValue
        On a parameter outside its domain.
    EvidenceError
        When the method needs independent gates and the contract says that they are not.

    Notes
    -----
    LOGOS Eq. 81 and 99. The p-value rules refuse overlapping gates, because their guarantee needs
    every earlier decision before a level is fixed. e-LOND lets gates overlap: it counts the
    discoveries known when a gate opens, which only lowers the level.
    """

    def __init__(
        self,
        alpha: float = 0.05,
        *,
        method: str | None = None,
        contract: SamplingContract = SamplingContract.IID,
        w0: float | None = None,
        gamma: str | ArrayLike = "power",
    ) -> None:
        self.alpha = open_unit(alpha, "alpha")
        self.contract = contract
        self.method = choice(method or contract.default_ledger, RULES, "method")
        if self.method != "e_lond" and not contract.gates_independent:
            raise EvidenceError(
                "method",
                got=self.method,
                allowed=f"e_lond under the contract {contract.value}",
                next_step="Use e_lond, or draw fresh observations for every gate.",
            )
        self.w0 = starting_wealth(alpha, w0)
        self.gamma = gamma if isinstance(gamma, str) else tuple(np.asarray(gamma, float).tolist())
        spending(self.gamma, 1)
        self._rule = _wealth_rule(self.method, self.alpha)
        self._clock, self._restarts = 0, list[int]()
        self._open: dict[str, float] = {}
        self._entries: list[LedgerEntry] = []
        self._events: list[dict[str, Any]] = []
        self._started = 0

    @property
    def claim(self) -> str:
        """The sentence that decisions in this ledger support."""
        return self.contract.claim

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Closed gates in the order in which they were recorded."""
        return tuple(self._entries)

    @property
    def discoveries(self) -> int:
        """Rejections so far."""
        return sum(entry.rejected for entry in self._entries)

    @property
    def next_level(self) -> float:
        """Level that the next gate would get if it opened now."""
        if self._rule is not None:
            return self._rule.level(self._wealth())
        return self.alpha * self._term(self._started + 1) * (self.discoveries + 1)

    def open(self, gate: str) -> float:
        """Fix and return the level of a gate that is about to start.

        Raises
        ------
        EvidenceError
            When the name is in use, or another gate is still open under a rule that needs its
            decision first.
        """
        if gate in self._open or any(entry.gate == gate for entry in self._entries):
            raise _refused("gate", gate, "a name not used before", "Give each gate its own name.")
        if self._open and self.method != "e_lond":
            raise _refused(
                "gate",
                f"{gate} while {next(iter(self._open))} is open",
                f"one open gate at a time under {self.method}",
                "Record the open gate first, or use e_lond, which lets gates overlap.",
            )
        level = self.next_level
        self._started += 1
        self._open[gate] = level
        self._events.append({"event": "open", "gate": gate, "level": level})
        return level

    def record(
        self, gate: str, *, p_value: float | None = None, log_e: float | None = None
    ) -> LedgerEntry:
        """Close an open gate with its evidence and return the entry with the decision.

        Parameters
        ----------
        gate : str
            Name given to `open`.
        p_value : float, optional
            In [0, 1]. Refused under e_lond: a p-value is not an e-value.
        log_e : float, optional
            Log wealth of an e-process stopped at or before its first crossing of 1/level. The
            p-value rules read it as p = min(1, 1/e). An e-value of 0 is kept as LEAST_LOG_E, so
            that records stay plain JSON.

        Raises
        ------
        EvidenceError
            When the gate is not open or the evidence is of the wrong kind.
        """
        if gate not in self._open:
            raise _refused(
                "gate", gate, "a gate that was opened and not yet recorded",
                "Open the gate before it starts, so that its level is fixed in advance.",
            )  # fmt: skip
        level = self._open[gate]
        log_e = LEAST_LOG_E if log_e == -math.inf else log_e
        rejected = self._decide(level, p_value, log_e)
        del self._open[gate]
        entry = LedgerEntry(len(self._entries) + 1, gate, level, p_value, log_e, rejected)
        self._entries.append(entry)
        self._events.append({"event": "record", **asdict(entry)})
        if self._rule is not None:
            p = p_value if p_value is not None else _p_from_e(log_e or 0.0)
            self._clock += self._rule.ticks(p, rejected)
            if rejected:
                self._restarts.append(self._clock)
        return entry

    def to_dict(self) -> dict[str, Any]:
        """Settings and events as plain JSON values, enough for `replay`."""
        return {
            "kind": "ledger",
            "version": 1,
            "alpha": self.alpha,
            "method": self.method,
            "contract": self.contract.value,
            "w0": self.w0,
            "gamma": self.gamma if isinstance(self.gamma, str) else list(self.gamma),
            "events": [dict(event) for event in self._events],
        }

    @classmethod
    def replay(cls, saved: Mapping[str, Any]) -> Ledger:
        """The ledger that a record describes, with every level and decision computed afresh.

        Raises
        ------
        EvidenceError
            When a recorded level or decision is not the one that the rule gives.
        """
        if (saved.get("kind"), saved.get("version")) != ("ledger", 1):
            raise _refused(
                "ledger", f"kind {saved.get('kind')!r}", "kind 'ledger', version 1",
                "Pass what Ledger.to_dict() returned.",
            )  # fmt: skip
        ledger = cls(
            saved["alpha"],
            method=saved["method"],
            contract=SamplingContract(saved["contract"]),
            w0=saved["w0"],
            gamma=saved["gamma"],
        )
        for event in saved["events"]:
            ledger._repeat(event)
        return ledger

    def explain(self) -> str:
        """Where the next level comes from, in words."""
        if self._rule is None:
            share = self._term(self._started + 1)
            return (
                f"Level {self.next_level:.3g} for gate {self._started + 1} under {self.method}: "
                f"alpha {self.alpha:g} × share {share:.3g} × ({self.discoveries} discoveries + 1)."
            )
        sources = [f"starting wealth {self.w0:g} × share {self._term(self._clock + 1):.3g}"]
        sources += [
            f"{payout:g} × share {self._term(self._clock - restart + 1):.3g} "
            f"from discovery {number}"
            for number, (restart, payout) in enumerate(self._payouts(), start=1)
        ]
        return (
            f"Level {self.next_level:.3g} for gate {self._started + 1} under {self.method}: "
            f"{' + '.join(sources)} = wealth {self._wealth():.3g}."
        )

    def _repeat(self, event: Mapping[str, Any]) -> None:
        gate = str(event["gate"])
        if event["event"] == "open":
            got: tuple[object, ...] = (self.open(gate),)
            said: tuple[object, ...] = (event["level"],)
        else:
            entry = self.record(gate, p_value=event["p_value"], log_e=event["log_e"])
            got, said = (entry.level, entry.rejected), (event["level"], event["rejected"])
        if got != said:
            raise _refused(
                f"ledger event of gate {gate}", f"recorded {said}", f"what the rule gives, {got}",
                "Do not trust this record; find where it was changed.",
            )  # fmt: skip

    def _decide(self, level: float, p_value: float | None, log_e: float | None) -> bool:
        if (p_value is None) == (log_e is None):
            raise _refused(
                "evidence", f"p_value={p_value!r}, log_e={log_e!r}", "exactly one of the two",
                "Pass p_value or log_e.",
            )  # fmt: skip
        if p_value is not None:
            if self.method == "e_lond":
                raise _refused(
                    "evidence", f"p_value={p_value!r}", "log_e under e_lond",
                    "Pass the log wealth of the gate's e-process; a p-value is not an e-value.",
                )  # fmt: skip
            return closed_unit(p_value, "p_value") <= level
        if log_e is None or not math.isfinite(log_e):
            raise _refused(
                "log_e", repr(log_e), "a finite number", "Pass the e-process's log wealth."
            )
        return level > 0.0 and log_e >= -math.log(level)

    def _wealth(self) -> float:
        paid = sum(
            payout * self._term(self._clock - restart + 1) for restart, payout in self._payouts()
        )
        return self.w0 * self._term(self._clock + 1) + paid

    def _payouts(self) -> Iterable[tuple[int, float]]:
        """When each discovery restarted the sequence, and with how much wealth."""
        for number, restart in enumerate(self._restarts):
            yield restart, self.alpha if number else self.alpha - self.w0

    def _term(self, j: int) -> float:
        return float(spending(self.gamma, j)[-1])


def _wealth_rule(method: str, alpha: float) -> WealthRule | None:
    rules: dict[str, WealthRule] = {
        "lord_plus_plus": lord_rule(alpha),
        "saffron": saffron_rule(alpha, 0.5),
        "addis": addis_rule(alpha, 0.25, 0.5),
        "alpha_investing": investing_rule(alpha),
    }
    return rules.get(method)


def _p_from_e(log_e: float) -> float:
    return math.exp(-max(log_e, 0.0))


def _refused(which: str, got: str, allowed: str, next_step: str) -> EvidenceError:
    return EvidenceError(which, got=got, allowed=allowed, next_step=next_step)
