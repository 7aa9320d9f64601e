"""Every sequential result carries its sampling contract and prints the claim that it supports."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from logoslab.errors import InvalidValue
from logoslab.stats import (
    PortfolioStreams,
    SamplingContract,
    addis,
    alpha_investing,
    betting_interval,
    betting_sequence,
    difference_interval,
    e_lond,
    empirical_bernstein_sequence,
    hoeffding_sequence,
    lond,
    lord_plus_plus,
    predictable_hoeffding_sequence,
    saffron,
)

Y = [0.25, 0.75, 0.5, 1.0]
BOUNDS = [
    hoeffding_sequence,
    predictable_hoeffding_sequence,
    empirical_bernstein_sequence,
    betting_interval,
    betting_sequence,
    difference_interval,
]
INDEPENDENT = [lord_plus_plus, saffron, addis, alpha_investing, lond]
HOLDOUT, POOL = SamplingContract.FIXED_HOLDOUT, SamplingContract.SHARED_POOL


@pytest.mark.parametrize("contract", SamplingContract)
@pytest.mark.parametrize("sequence", BOUNDS)
def test_bounds_print_the_claim_of_their_contract(sequence, contract):
    """Bounds unpack as a pair that no contract changes, and end with the declared claim."""
    bounds = sequence(Y, 0.1, contract=contract)
    low, high = bounds
    plain = sequence(Y, 0.1)
    assert np.array_equal(low, plain.low)
    assert np.array_equal(high, plain.high)
    assert (bounds.contract, bounds.claim) == (contract, contract.claim)
    assert repr(bounds) == f"SequentialBounds(low={low}, high={high}; {contract})"
    assert plain.contract is SamplingContract.IID


@pytest.mark.parametrize("rule", [*INDEPENDENT, e_lond])
def test_decisions_print_the_claim_of_their_contract(rule):
    """Decisions unpack into levels and rejections; a holdout makes them an audit account only."""
    got = rule([0.01, 0.5], 0.1, contract=HOLDOUT)
    levels, rejections = got
    assert np.array_equal(levels, rule([0.01, 0.5], 0.1).levels)
    assert got.contract is HOLDOUT
    assert got.claim.startswith("Audit account only: ")
    assert repr(got) == f"OnlineDecisions(levels={levels}, rejections={rejections}; {HOLDOUT})"
    assert rule([0.01, 0.5], 0.1).contract is SamplingContract.IID


@pytest.mark.parametrize("rule", INDEPENDENT)
def test_rules_for_independent_tests_refuse_a_shared_pool(rule):
    """No claim is printed for a rule that a shared pool breaks."""
    with pytest.raises(InvalidValue) as raised:
        rule([0.01, 0.5], 0.1, contract=POOL)
    assert str(raised.value) == (
        "contract: allowed iid, with_replacement or fixed_holdout under a rule for independent "
        "tests; got shared_pool. Use e_lond, or draw fresh observations for every test."
    )


def test_rules_for_dependent_tests_take_a_shared_pool():
    """e-LOND, and LOND with its correction, hold under any dependence."""
    assert e_lond([30.0], 0.1, contract=POOL).claim == POOL.claim
    assert lond([0.01], 0.1, dependent=True, contract=POOL).claim == POOL.claim


@pytest.mark.parametrize(("tail", "sign"), [("upper", "<="), ("lower", ">=")])
def test_streams_print_the_claim_of_their_contract(tail, sign):
    """Printed streams name their null, their size and their claim."""
    streams = PortfolioStreams(0.4, 2, tail=tail, contract=HOLDOUT)
    streams.update([0.5, 0.6])
    assert streams.claim == HOLDOUT.claim
    assert repr(streams) == (
        f"PortfolioStreams(H0: mean {sign} 0.4, streams=2, n=1; fixed_holdout: {HOLDOUT.claim})"
    )
    assert PortfolioStreams(0.4, 2).contract is SamplingContract.IID


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_a_copy_keeps_the_contract(again):
    """Copied or stored results do not fall back to the default claim."""
    assert again(betting_interval(Y, contract=HOLDOUT)).contract is HOLDOUT
    assert again(e_lond([3.0], 0.1, contract=POOL)).contract is POOL


def test_an_unknown_contract_is_refused():
    """A contract that is none of the four does not travel with a result."""
    with pytest.raises(ValueError, match="'fresh' is not a valid SamplingContract"):
        betting_interval(Y, contract="fresh")
