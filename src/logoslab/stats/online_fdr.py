"""Levels for a stream of tests whose number nobody knows: false discoveries stay under control.

The wealth rules share one picture. A clock starts at 0; the level before a test is read at the
clock from a sum of spending sequences, one started with w0 and one more started by each rejection.
The rules differ in which tests make the clock tick.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from logoslab.errors import InvalidValue
from logoslab.stats._check import (
    Bools,
    Floats,
    open_unit,
    unit_values,
    vector,
    within,
)
from logoslab.stats.sampling import Claimed, SamplingContract
from logoslab.stats.spending import spending


class _Decisions(NamedTuple):
    levels: Floats
    rejections: Bools


class OnlineDecisions(Claimed, _Decisions):
    """Level fixed before each test, and whether the test rejected; both of shape (n,).

    Unpacks into the two arrays; `contract` and `claim` say what the decisions support.
    """

    def __new__(
        cls, levels: Floats, rejections: Bools, contract: SamplingContract = SamplingContract.IID
    ) -> Self:
        decisions = super().__new__(cls, levels, rejections)
        decisions.contract = SamplingContract(contract)
        return decisions

    def __repr__(self) -> str:
        return (
            f"OnlineDecisions(levels={self.levels}, rejections={self.rejections}; {self.contract})"
        )


class WealthRule(NamedTuple):
    """What distinguishes one wealth rule from another.

    `level` turns the wealth at the clock into a level; `ticks(p, rejected)` says whether the clock
    moves after a test.
    """

    level: Callable[[float], float]
    ticks: Callable[[float, bool], bool]


def lord_plus_plus(
    p: ArrayLike,
    alpha: float,
    w0: float | None = None,
    gamma: str | ArrayLike = "power",
    *,
    contract: SamplingContract = SamplingContract.IID,
) -> OnlineDecisions:
    """LORD++ levels and rejections.

    Null hypothesis of test k: its p-value is super-uniform given the earlier decisions, as with
    independent or fresh data. Then the false discovery rate stays at or below `alpha` at every k.

    α_k = w0·γ_k + (α − w0)·γ_{k−τ1}·1{τ1 < k} + α·Σ_{j≥2, τj<k} γ_{k−τj}, with τj the j-th
    rejection; reject when p_k <= α_k. The lags are distinct, so α_k never exceeds α.

    Parameters
    ----------
    p : array_like, shape (n,)
        p-values in [0, 1] in the order of the tests.
    alpha : float
        Target false discovery rate, in (0, 1).
    w0 : float, optional
        Starting wealth, in (0, alpha]; alpha/2 by default.
    gamma : {"power", "javanmard_montanari"} or array_like
        Spending sequence.
    contract : SamplingContract, default IID
        How the tests' observations are drawn; the result carries it and prints its claim. A shared
        pool makes the tests depend on each other, which only `e_lond` and dependent `lond` allow.

    Returns
    -------
    OnlineDecisions
        Levels and rejections, each of shape (n,).

    Raises
    ------
    EvidenceError
        When a p-value is not a number in [0, 1].
    InvalidValue
        On alpha, w0 or gamma outside its domain, or a shared pool.

    Notes
    -----
    LOGOS Eq. 81 and 99; Ramdas, Yang, Wainwright & Jordan 2017. Cost O(n · rejections).
    """
    return _decide(p, alpha, w0, gamma, lord_rule(alpha), contract)


def saffron(
    p: ArrayLike,
    alpha: float,
    w0: float | None = None,
    gamma: str | ArrayLike = "power",
    *,
    lam: float = 0.5,
    contract: SamplingContract = SamplingContract.IID,
) -> OnlineDecisions:
    """SAFFRON: as LORD++, but candidates (p <= lam) do not make the clock tick.

    Level min(lam, (1 − lam)·wealth). Needs independent p-values. Other arguments, results and
    errors as in `lord_plus_plus`; `lam` in (0, 1). Ramdas, Zrnic, Wainwright & Jordan 2018.
    """
    return _decide(p, alpha, w0, gamma, saffron_rule(alpha, lam), contract)


def addis(
    p: ArrayLike,
    alpha: float,
    w0: float | None = None,
    gamma: str | ArrayLike = "power",
    *,
    lam: float = 0.25,
    tau: float = 0.5,
    contract: SamplingContract = SamplingContract.IID,
) -> OnlineDecisions:
    """ADDIS: as SAFFRON, and p-values above tau are discarded, so they cost nothing.

    Level min(lam, (tau − lam)·wealth); the clock ticks when lam < p <= tau. Needs independent
    p-values whose nulls are uniformly conservative. Other arguments, results and errors as in
    `lord_plus_plus`; 0 < lam < tau < 1. Tian & Ramdas 2019.
    """
    return _decide(p, alpha, w0, gamma, addis_rule(alpha, lam, tau), contract)


def alpha_investing(
    p: ArrayLike,
    alpha: float,
    w0: float | None = None,
    gamma: str | ArrayLike = "power",
    *,
    contract: SamplingContract = SamplingContract.IID,
) -> OnlineDecisions:
    """Alpha-investing in its generalised form: only tests that do not reject make the clock tick.

    Level wealth/(1 + wealth). Controls E[false]/E[all] discoveries (the marginal rate) with
    independent p-values. Arguments, results and errors as in `lord_plus_plus`.
    Foster & Stine 2008; Ramdas et al. 2018, section 2.
    """
    return _decide(p, alpha, w0, gamma, investing_rule(alpha), contract)


def lond(
    p: ArrayLike,
    alpha: float,
    gamma: str | ArrayLike = "power",
    *,
    dependent: bool = False,
    contract: SamplingContract = SamplingContract.IID,
) -> OnlineDecisions:
    """LOND: α_k = α·γ_k·(D_{k−1} + 1), D the rejections so far.

    Holds for independent or positively dependent p-values; with `dependent=True` the level is
    divided by 1 + 1/2 + … + 1/k and holds under any dependence. Arguments, results and errors as in
    `lord_plus_plus`. Javanmard & Montanari 2018; Zrnic, Ramdas & Jordan 2021.
    """
    if not dependent:
        _refuse_shared_pool(contract)
    values = vector(unit_values(p, "p"), "p")
    budget = open_unit(alpha, "alpha") * spending(gamma, len(values))
    if dependent:
        budget = budget / np.cumsum(1.0 / np.arange(1, len(values) + 1))
    return _count_discoveries(budget, lambda k, level: bool(values[k] <= level), contract)


def e_lond(
    e: ArrayLike,
    alpha: float,
    gamma: str | ArrayLike = "power",
    *,
    contract: SamplingContract = SamplingContract.IID,
) -> OnlineDecisions:
    """e-LOND: reject when e_k >= 1/α_k, α_k = α·γ_k·(D_{k−1} + 1); holds under any dependence.

    Null hypothesis of test k: E[e_k] <= 1. Gates may share tasks, a pool or a holdout draw. An
    e-process counts with its value at a stopping time, such as the first crossing of 1/α_k; its
    running maximum over a fixed span is not an e-value.

    Parameters
    ----------
    e : array_like, shape (n,)
        Non-negative e-values in the order of the tests.
    alpha, gamma, contract, returns
        As in `lord_plus_plus`.

    Raises
    ------
    EvidenceError
        When an e-value is negative or not a number.
    InvalidValue
        On alpha or gamma outside its domain.

    Notes
    -----
    Xu & Ramdas 2024, "Online multiple testing with e-values".
    """
    values = vector(within(e, 0.0, np.inf, "e"), "e")
    budget = open_unit(alpha, "alpha") * spending(gamma, len(values))
    return _count_discoveries(
        budget, lambda k, level: bool(level > 0 and values[k] * level >= 1.0), contract
    )


def lord_rule(alpha: float) -> WealthRule:
    """The clock ticks after every test."""
    return WealthRule(lambda wealth: min(wealth, alpha), lambda p, rejected: True)


def saffron_rule(alpha: float, lam: float) -> WealthRule:
    """The clock rests after candidates, p <= lam."""
    open_unit(lam, "lam")
    return WealthRule(lambda wealth: min(lam, (1.0 - lam) * wealth), lambda p, rejected: p > lam)


def addis_rule(alpha: float, lam: float, tau: float) -> WealthRule:
    """The clock rests after candidates, p <= lam, and after discarded tests, p > tau."""
    open_unit(tau, "tau")
    if not 0.0 < lam < tau:
        raise InvalidValue(
            "lam",
            got=lam,
            allowed=f"a number strictly between 0 and tau = {tau:g}",
            next_step="Choose lam below tau.",
        )
    return WealthRule(
        lambda wealth: min(lam, (tau - lam) * wealth), lambda p, rejected: lam < p <= tau
    )


def investing_rule(alpha: float) -> WealthRule:
    """The clock rests after rejections."""
    return WealthRule(lambda wealth: wealth / (1.0 + wealth), lambda p, rejected: not rejected)


def starting_wealth(alpha: float, w0: float | None) -> float:
    """w0, checked against (0, alpha]; half of alpha when not given."""
    open_unit(alpha, "alpha")
    if w0 is None:
        return alpha / 2.0
    if not 0.0 < w0 <= alpha:
        raise InvalidValue(
            "w0",
            got=w0,
            allowed=f"a number above 0 and at most alpha = {alpha:g}",
            next_step="Lower w0 or leave it out for alpha/2.",
        )
    return float(w0)


def _decide(
    p: ArrayLike,
    alpha: float,
    w0: float | None,
    gamma: str | ArrayLike,
    rule: WealthRule,
    contract: SamplingContract,
) -> OnlineDecisions:
    _refuse_shared_pool(contract)
    start = starting_wealth(alpha, w0)
    values = vector(unit_values(p, "p"), "p")
    n, clock, payout = len(values), 0, alpha - start
    terms = spending(gamma, n)
    wealth = start * terms
    levels, rejections = np.empty(n), np.zeros(n, dtype=np.bool_)
    for k, value in enumerate(values.tolist()):
        levels[k] = level = rule.level(float(wealth[clock]))
        rejections[k] = rejected = value <= level
        clock += rule.ticks(value, rejected)
        if rejected:
            wealth[clock:] += payout * terms[: n - clock]
            payout = alpha
    return OnlineDecisions(levels, rejections, contract)


def _refuse_shared_pool(contract: SamplingContract) -> None:
    """A rule for independent tests has no claim to print where the tests share a pool."""
    if SamplingContract(contract) is SamplingContract.SHARED_POOL:
        raise InvalidValue(
            "contract",
            got=contract.value,
            allowed="iid, with_replacement or fixed_holdout under a rule for independent tests",
            next_step="Use e_lond, or draw fresh observations for every test.",
        )


def _count_discoveries(
    budget: Floats, rejects: Callable[[int, float], bool], contract: SamplingContract
) -> OnlineDecisions:
    found, levels = 0, np.empty(len(budget))
    rejections = np.zeros(len(budget), dtype=np.bool_)
    for k, share in enumerate(budget.tolist()):
        levels[k] = level = share * (found + 1)
        rejections[k] = rejects(k, level)
        found += int(rejections[k])
    return OnlineDecisions(levels, rejections, contract)


RULES: Final = ("lord_plus_plus", "saffron", "addis", "alpha_investing", "lond", "e_lond")
