"""The anytime gate over many candidates at once: where each stream crosses, then who was first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from logoslab.gate.batch import Outcomes
from logoslab.gate.rule import ROUNDING, regressed
from logoslab.gate.streams import first_task
from logoslab.pack.decision import Conclusion
from logoslab.stats import portfolio_log_wealth

if TYPE_CHECKING:
    from logoslab.gate.anytime import AnytimeGate

Floats = NDArray[np.float64]
Times = NDArray[np.int64]


def race_many(gate: AnytimeGate, d: Floats) -> Outcomes:
    """What :class:`~logoslab.gate.anytime.Race` concludes of each row of differences.

    Parameters
    ----------
    gate : AnytimeGate
        Without a safety stream.
    d : array, shape (K, n)
        Paired differences in [-1, 1] in the order of arrival.

    Notes
    -----
    Every conclusion begins to hold at one task: accept once GAIN and REG have both crossed,
    harmful once a harm stream has, and so on. The earliest decides; at the same task conflict
    goes before harm, harm before acceptance.
    """
    at = _crossings(gate, d)
    accept = np.maximum(at.gain, at.reg)
    harmful = np.minimum(at.harm, at.harm_reg)
    conflict = np.minimum.reduce(
        [
            np.maximum(at.gain, np.minimum(at.harm, at.futile)),
            np.maximum(at.reg, at.harm_reg),
            np.maximum(accept, np.minimum(harmful, at.futile)),
        ]
    )
    n = d.shape[1]
    stop = np.minimum.reduce([conflict, harmful, accept, at.useless])
    decided = stop <= n
    return Outcomes.first_true(
        [
            (decided & (conflict == stop), Conclusion.CONFLICT),
            (decided & (harmful == stop), Conclusion.REJECT_HARMFUL),
            (decided & (accept == stop), Conclusion.ACCEPT),
            (at.futile <= n, Conclusion.REJECT_INSUFFICIENT),
        ],
        Conclusion.UNDECIDED,
        np.minimum(stop, n),
        len(d),
    )


class _Crossings(NamedTuple):
    """First task, counted from 1, at which each stream crosses; n + 1 for never.

    ``useless`` is the first task after ``futile`` at which nothing points to harm.
    """

    gain: Times
    reg: Times
    harm: Times
    harm_reg: Times
    futile: Times
    useless: Times


def _crossings(gate: AnytimeGate, d: Floats) -> _Crossings:
    y = np.clip((d + 1) / 2, 0.0, 1.0)  # a difference beyond 1 by rounding only
    worse = regressed(d, gate.eps_reg).astype(np.float64)
    middle, harm_level = (gate.delta_min + 1) / 2, gate.alpha / 2
    harm = portfolio_log_wealth(y, 0.5, tail="lower")
    harm_reg = portfolio_log_wealth(worse, gate.rho_max)
    never = np.full(len(d), d.shape[1] + 1, dtype=np.int64)
    futile = useless = never
    if gate.delta_min > 0:
        futile = first_task(portfolio_log_wealth(y, middle, tail="lower") >= -math.log(gate.alpha))
        calm = (harm <= ROUNDING) & (harm_reg <= ROUNDING)
        useless = first_task(calm & (np.arange(1, d.shape[1] + 1) >= futile[:, None]))
    return _Crossings(
        gain=first_task(portfolio_log_wealth(y, middle) >= -math.log(gate.level)),
        reg=first_task(portfolio_log_wealth(1 - worse, 1 - gate.rho_max) >= -math.log(gate.level)),
        harm=first_task(harm >= -math.log(harm_level)),
        harm_reg=first_task(harm_reg >= -math.log(harm_level)),
        futile=futile,
        useless=useless,
    )
