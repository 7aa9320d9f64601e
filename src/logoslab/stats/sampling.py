"""How a gate's observations were drawn, and therefore what a sequential result may claim."""

from __future__ import annotations

from enum import Enum
from typing import Final, Literal

LedgerMethod = Literal["lord_plus_plus", "e_lond"]


class SamplingContract(Enum):
    """The declared way in which observations reach a gate.

    A contract is a promise by whoever runs the gate; no statistic can check it. Every sequential
    result carries it and prints `claim`.

    Attributes
    ----------
    IID
        Fresh independent draws of one distribution.
    WITH_REPLACEMENT
        Draws with replacement from a declared pool, fresh draws for each gate.
    FIXED_HOLDOUT
        A finite holdout read once through, without replacement.
    SHARED_POOL
        Gates that reuse tasks of one pool, each gate drawing with replacement.
    """

    IID = "iid"
    WITH_REPLACEMENT = "with_replacement"
    FIXED_HOLDOUT = "fixed_holdout"
    SHARED_POOL = "shared_pool"

    @property
    def claim(self) -> str:
        """The sentence that a result under this contract supports."""
        return _CLAIMS[self]

    @property
    def sequential(self) -> bool:
        """Whether a sequential error bound holds at all."""
        return self is not SamplingContract.FIXED_HOLDOUT

    @property
    def gates_independent(self) -> bool:
        """Whether p-values of different gates are independent under their nulls."""
        return self in (SamplingContract.IID, SamplingContract.WITH_REPLACEMENT)

    @property
    def default_ledger(self) -> LedgerMethod:
        """LORD++ where gates use independent data, e-LOND where they may depend on each other."""
        return "lord_plus_plus" if self.gates_independent else "e_lond"

    def __str__(self) -> str:
        return f"{self.value}: {self.claim}"


class Claimed:
    """A result that carries its sampling contract and states the claim it supports."""

    contract: SamplingContract

    @property
    def claim(self) -> str:
        """The sentence that this result supports under its sampling contract."""
        return self.contract.claim


_CLAIMS: Final = {
    SamplingContract.IID: (
        "The error bound holds at every stopping time for the mean of the distribution that the "
        "observations were drawn from; gates on fresh data are independent."
    ),
    SamplingContract.WITH_REPLACEMENT: (
        "The error bound holds at every stopping time for the mean over the declared pool, not "
        "beyond it; gates on fresh draws are independent given the pool."
    ),
    SamplingContract.FIXED_HOLDOUT: (
        "Audit account only: a finite holdout read without replacement gives no sequential error "
        "bound, and repeated gates on it wear it out."
    ),
    SamplingContract.SHARED_POOL: (
        "The error bound holds at every stopping time of one gate for the mean over the shared "
        "pool; gates depend on each other, so only a ledger that allows any dependence applies."
    ),
}
