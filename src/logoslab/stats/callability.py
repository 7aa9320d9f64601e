"""May this be called? Two e-processes, one for above the bar and one for below it."""

from __future__ import annotations

import math
from enum import Enum
from typing import Self

from numpy.typing import ArrayLike

from logoslab.errors import InvalidValue
from logoslab.stats._check import open_unit
from logoslab.stats.eprocess import PortfolioEProcess
from logoslab.stats.sampling import SamplingContract


class Callability(Enum):
    """What the two processes say together."""

    SUPPORTED = "supported"
    REFUTED = "refuted"
    CONFLICT = "conflict"
    UNDECIDED = "undecided"


class CallabilityTest:
    """Sequential verdict on whether a success rate is above a bar.

    The upward process tests H0: p <= p_star; crossing 1/α supports "p is above p_star". The
    downward process tests H0: p >= p_star − slack; crossing refutes it. Both crossing is a
    conflict, which under one constant p has probability at most α.

    Parameters
    ----------
    p_star : float
        The bar, in (0, 1).
    slack : float
        Width ξ below the bar, with 0 < p_star − ξ.
    alpha : float
        Error of each verdict, in (0, 1).
    family_wise : bool, default True
        Give each direction α/2, so that either error together stays at or below α.
    contract : SamplingContract
        How observations are drawn; `claim` prints what that supports.
    bets : str or array_like, optional
        Grid of the processes.

    Raises
    ------
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    LOGOS Eq. 35.
    """

    def __init__(
        self,
        p_star: float,
        slack: float = 0.0,
        alpha: float = 0.05,
        *,
        family_wise: bool = True,
        contract: SamplingContract = SamplingContract.IID,
        bets: str | ArrayLike | None = None,
    ) -> None:
        open_unit(p_star, "p_star")
        if not 0.0 <= slack < p_star:
            raise InvalidValue(
                "slack",
                got=slack,
                allowed=f"a number from 0 to below p_star = {p_star:g}",
                next_step="Lower the slack.",
            )
        self.contract = contract
        self.threshold = -math.log(open_unit(alpha, "alpha") / (2.0 if family_wise else 1.0))
        self.up = PortfolioEProcess(p_star, bets=bets)
        self.down = PortfolioEProcess(p_star - slack, tail="lower", bets=bets)

    def update(self, y: float) -> Self:
        """Take one success share in [0, 1] and return the test."""
        self.up.update(y)
        self.down.update(y)
        return self

    @property
    def verdict(self) -> Callability:
        """Supported, refuted, both (conflict) or neither (undecided), by the best wealth so far."""
        return callability(self.up.sup_log_wealth, self.down.sup_log_wealth, self.threshold)

    @property
    def claim(self) -> str:
        """The sentence that the verdict supports."""
        return self.contract.claim


def callability(up: float, down: float, threshold: float) -> Callability:
    """The verdict from the best log wealth of both directions and the log threshold."""
    crossed = (up >= threshold, down >= threshold)
    return {
        (True, False): Callability.SUPPORTED,
        (False, True): Callability.REFUTED,
        (True, True): Callability.CONFLICT,
        (False, False): Callability.UNDECIDED,
    }[crossed]
