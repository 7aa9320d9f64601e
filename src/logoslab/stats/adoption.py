"""The streams of an adoption gate: GAIN, REG, SAFETY, and the same questions asked downwards."""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.stats._check import Floats, open_unit, within
from logoslab.stats.eprocess import PortfolioEProcess
from logoslab.stats.portfolio import portfolio_log_wealth
from logoslab.stats.sampling import SamplingContract


class GatePValues(NamedTuple):
    """Running p-values after each paired difference, in the shape of the differences."""

    gain: Floats
    reg: Floats
    composite: Floats


class AdoptionStreams:
    """Evidence for adopting a candidate, one paired difference at a time.

    GAIN tests H0: E[d] <= delta_min on Y = (d + 1)/2. REG tests H0: P(d < −eps_reg) >= rho_max on
    Z = 1{d >= −eps_reg}. SAFETY, when a limit is given, tests H0: P(violation) >= safety_max on
    S = 1{no violation}. The candidate may pass only if every null hypothesis is false, so the
    composite p-value is the largest of them and the composite e-value the smallest.

    The downward streams test H0: E[d] >= 0 and H0: P(d < −eps_reg) <= rho_max; a crossing says
    that the candidate is harmful.

    Parameters
    ----------
    delta_min : float
        Smallest gain that counts, in (−1, 1).
    eps_reg : float
        Loss that is not yet a regression, in [0, 1].
    rho_max : float
        Largest tolerated regression rate, in (0, 1).
    safety_max : float, optional
        Largest tolerated violation rate, in (0, 1).
    contract : SamplingContract
        How paired tasks are drawn; `claim` prints what that supports.
    bets : str or array_like, optional
        Grid of the processes.

    Raises
    ------
    InvalidValue
        On a parameter outside its domain.

    Notes
    -----
    LOGOS Eq. 91-92 and 101. A hard safety veto sets the composite p-value to 1.
    """

    def __init__(
        self,
        delta_min: float = 0.0,
        eps_reg: float = 0.0,
        rho_max: float = 0.05,
        *,
        safety_max: float | None = None,
        contract: SamplingContract = SamplingContract.IID,
        bets: str | ArrayLike | None = None,
    ) -> None:
        _check_limits(delta_min, eps_reg, rho_max)
        self.eps_reg, self.contract, self.vetoed = float(eps_reg), contract, False
        self.gain = PortfolioEProcess((delta_min + 1.0) / 2.0, bets=bets)
        self.reg = PortfolioEProcess(1.0 - rho_max, bets=bets)
        self.safety = (
            None
            if safety_max is None
            else PortfolioEProcess(1.0 - open_unit(safety_max, "safety_max"), bets=bets)
        )
        self.loss = PortfolioEProcess(0.5, tail="lower", bets=bets)
        self.harm = PortfolioEProcess(1.0 - rho_max, tail="lower", bets=bets)

    def update(self, d: float, *, violation: bool | None = None) -> Self:
        """Take the paired difference of one task, in [−1, 1], and return the streams.

        `violation` says whether the candidate broke a safety rule on this task; it is required
        exactly when a safety limit was given.

        Raises
        ------
        EvidenceError
            When d is not in [−1, 1] or the safety observation is missing or unexpected.
        """
        value = float(within([d], -1.0, 1.0, "d")[0])
        if (violation is None) != (self.safety is None):
            raise EvidenceError(
                "violation",
                got=violation,
                allowed="True or False exactly when safety_max was given",
                next_step="Observe safety on every task, or drop the safety limit.",
            )
        share, kept = (value + 1.0) / 2.0, float(value >= -self.eps_reg)
        self.gain.update(share)
        self.loss.update(share)
        self.reg.update(kept)
        self.harm.update(kept)
        if self.safety is not None:
            self.safety.update(float(not violation))
        return self

    def veto(self) -> Self:
        """Record a hard safety violation: from now on the composite p-value is 1."""
        self.vetoed = True
        return self

    @property
    def n(self) -> int:
        """Paired differences so far."""
        return self.gain.n

    @property
    def log_e(self) -> float:
        """Smallest of the best log wealths: the composite log e-value when each stream stops at
        its first crossing of a level that was fixed in advance."""
        return -math.inf if self.vetoed else min(s.sup_log_wealth for s in self._required())

    @property
    def p_value(self) -> float:
        """Composite p-value, max(p_gain, p_reg[, p_safety]); 1 after a veto."""
        return 1.0 if self.vetoed else max(stream.p_value for stream in self._required())

    def accepts(self, level: float) -> bool:
        """Whether every required null hypothesis is rejected at `level`."""
        return not self.vetoed and self.log_e >= -math.log(open_unit(level, "level"))

    def harmful(self, level: float) -> bool:
        """Whether a downward stream has crossed at `level`."""
        bar = -math.log(open_unit(level, "level"))
        return max(self.loss.sup_log_wealth, self.harm.sup_log_wealth) >= bar

    def conflict(self, level: float) -> bool:
        """Whether one question was answered both ways at `level`."""
        bar = -math.log(open_unit(level, "level"))
        pairs = ((self.gain, self.loss), (self.reg, self.harm))
        return any(min(a.sup_log_wealth, b.sup_log_wealth) >= bar for a, b in pairs)

    @property
    def claim(self) -> str:
        """The sentence that a decision supports."""
        return self.contract.claim

    def _required(self) -> list[PortfolioEProcess]:
        streams = [self.gain, self.reg]
        return streams if self.safety is None else [*streams, self.safety]


def adoption_p_values(
    d: ArrayLike,
    *,
    delta_min: float = 0.0,
    eps_reg: float = 0.0,
    rho_max: float = 0.05,
    bets: str | ArrayLike | None = None,
) -> GatePValues:
    """Running p-values of GAIN, REG and their maximum; the batch form of `AdoptionStreams`.

    Parameters
    ----------
    d : array_like, shape (n,) or (streams, n)
        Paired differences in [−1, 1] in arrival order.
    delta_min, eps_reg, rho_max, bets
        As in `AdoptionStreams`.

    Returns
    -------
    GatePValues
        Each of the shape of `d`; a gate with level a accepts once the composite is at most a.
    """
    values = within(d, -1.0, 1.0, "d")
    _check_limits(delta_min, eps_reg, rho_max)
    gain = portfolio_log_wealth((values + 1.0) / 2.0, (delta_min + 1.0) / 2.0, bets=bets)
    kept = (values >= -eps_reg).astype(np.float64)
    reg = portfolio_log_wealth(kept, 1.0 - rho_max, bets=bets)
    p_gain, p_reg = running_p_values(gain), running_p_values(reg)
    return GatePValues(p_gain, p_reg, np.maximum(p_gain, p_reg))


def running_p_values(log_wealth: Floats) -> Floats:
    """min(1, 1/max_{s<=t} K_s) along the last axis."""
    return np.exp(-np.maximum(np.maximum.accumulate(log_wealth, axis=-1), 0.0))


def _check_limits(delta_min: float, eps_reg: float, rho_max: float) -> None:
    open_unit(rho_max, "rho_max")
    for which, value, low, high in (
        ("delta_min", delta_min, -1.0, 1.0),
        ("eps_reg", eps_reg, 0.0, 1.0),
    ):
        if not low <= value <= high or abs(delta_min) == 1.0:
            raise InvalidValue(
                which,
                got=value,
                allowed=f"a number from {low:g} to {high:g}",
                next_step="State the limit on the scale of the paired differences.",
            )
