"""Fixed-sample comparisons: published p-values, enumeration, hand arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from logoslab.errors import EvidenceError
from logoslab.stats import (
    benjamini_hochberg,
    cluster_standard_error,
    e_benjamini_hochberg,
    equivalence,
    flips,
    holm,
    mcnemar_exact,
    non_inferiority,
    paired_bootstrap,
    paired_difference,
    sign_flip,
    slope_permutation,
    wilcoxon_signed_rank,
)


def test_mcnemar_matches_reference(reference):
    """Exact and mid-p values of seven tables, to 1e-13 (origin: exact fractions)."""
    for row in reference["mcnemar"]:
        exact = mcnemar_exact(row["b"], row["c"])
        mid = mcnemar_exact(row["b"], row["c"], mid_p=True)
        assert exact == pytest.approx(float(row["exact_two_sided"]), rel=1e-13), row
        assert mid == pytest.approx(float(row["mid_p"]), rel=1e-13), row


def test_mcnemar_one_sided_by_hand():
    """3 gained, 1 lost: P(Bin(4, ½) <= 1) = 5/16 says gained; 15/16 says lost."""
    assert mcnemar_exact(3, 1, alternative="greater") == pytest.approx(5 / 16)
    assert mcnemar_exact(3, 1, alternative="less") == pytest.approx(15 / 16)
    np.testing.assert_allclose(mcnemar_exact([5, 0], [0, 0]), [0.0625, 1.0])


def test_flips_by_hand():
    """Two gained, one lost, one both, one neither."""
    got = flips([0, 0, 1, 1, 0], [1, 1, 0, 1, 0])
    assert (got.gained, got.lost, got.both_pass, got.both_fail) == (2, 1, 1, 1)
    with pytest.raises(EvidenceError, match="pass/fail values 0 or 1"):
        flips([0.5], [1])
    with pytest.raises(EvidenceError, match="two arrays of one shape"):
        paired_difference([1, 2], [1])


def test_sign_flip_matches_reference(reference):
    """Twelve differences with one zero: 244/4096 two-sided and 122/4096 greater."""
    d = reference["sign_flip"]["d"]
    assert sign_flip(d) == float(Fraction(reference["sign_flip"]["two_sided"]))
    assert sign_flip(d, alternative="greater") == float(Fraction(reference["sign_flip"]["greater"]))


def test_zero_differences_cost_nothing():
    """Three non-zero differences among forty are enumerated: all of one sign has chance 2/8."""
    assert sign_flip([0.0] * 37 + [0.1, 0.2, 0.3]) == 0.25


def test_random_sign_flips_approach_the_exact_value():
    """With 17 differences the random form is within 4 standard errors of full enumeration."""
    d = np.linspace(-0.3, 0.7, 17)
    signs = np.array(list(product((-1.0, 1.0), repeat=17)))
    exact = float((np.abs(signs @ d) >= abs(d.sum()) - 1e-9).mean())
    got = sign_flip(d, rng=np.random.default_rng(0), draws=20_000)
    assert abs(got - exact) < 4 * math.sqrt(exact * (1 - exact) / 20_000) + 1 / 20_000
    with pytest.raises(EvidenceError, match="Pass rng="):
        sign_flip(d)


def test_wilcoxon_by_hand_and_by_normal_limit():
    """Differences 1..5: all positive has chance 2/32; ties share ranks; large n is near normal."""
    assert wilcoxon_signed_rank([1, 2, 3, 4, 5]) == 2 / 32
    assert wilcoxon_signed_rank([1, 2, 3, 4, 5], alternative="greater") == 1 / 32
    assert wilcoxon_signed_rank([1, -1, 0, 0]) == 1.0
    # Ranks 1.5, 1.5, 3 with sum 0; of the sums 6, 3, 3, 0, 0, −3, −3, −6 five are at least 0.
    assert wilcoxon_signed_rank([1, 1, -2], alternative="greater") == 5 / 8
    # Ranks 1..20 with sum 20·21/2 − 2·(1+2+3) = 198: z = 197/√2870.
    d = np.arange(1.0, 21.0) * np.where(np.arange(20) < 3, -1, 1)
    z = 197 / math.sqrt(2870)
    assert wilcoxon_signed_rank(d) == pytest.approx(math.erfc(z / math.sqrt(2)))
    assert wilcoxon_signed_rank(-d, alternative="less") == pytest.approx(
        0.5 * math.erfc(z / math.sqrt(2))
    )


def test_adjusted_p_match_reference(reference):
    """Holm and BH as exact fractions."""
    table = reference["adjusted_p"]
    assert holm(table["p"]) == pytest.approx([float(Fraction(x)) for x in table["holm"]])
    assert benjamini_hochberg(table["p"]) == pytest.approx(
        [float(Fraction(x)) for x in table["bh"]]
    )


def test_e_bh_matches_reference(reference):
    """Twelve e-values at 0.1."""
    got = e_benjamini_hochberg(reference["e_fdr"]["e_values"], 0.1)
    assert got.astype(int).tolist() == reference["e_fdr"]["e-BH alpha=.1 reject"]
    assert not e_benjamini_hochberg([1.0, 2.0], 0.1).any()


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=12))
def test_adjustment_never_lowers_a_p_value(p):
    """Raw <= BH <= Holm, and order is kept."""
    raw, fdr, fwer = np.array(p), benjamini_hochberg(p), holm(p)
    assert (raw <= fdr + 1e-15).all()
    assert (fdr <= fwer + 1e-12).all()
    assert (np.diff(fwer[np.argsort(raw, kind="stable")]) >= 0).all()


def test_bootstrap_approaches_the_exact_distribution(reference):
    """Against all 5^5 resamples: standard error within 1 %, interval ends on the exact ones."""
    exact = reference["bootstrap_exact"]
    got = paired_bootstrap(exact["d"], rng=np.random.default_rng(1), draws=100_000)
    assert got.standard_error == pytest.approx(float(exact["se_exact"]), rel=0.01)
    assert got.low == pytest.approx(float(Fraction(exact["q025"])), abs=0.011)
    assert got.high == pytest.approx(float(Fraction(exact["q975"])), abs=0.011)
    assert got.mean == pytest.approx(0.17)


def test_bca_moves_towards_the_long_tail():
    """On skewed differences both BCa ends lie above the percentile ends."""
    d = np.random.default_rng(3).exponential(1.0, 60)
    plain = paired_bootstrap(d, rng=np.random.default_rng(4))
    bca = paired_bootstrap(d, rng=np.random.default_rng(4), method="bca")
    assert bca.low > plain.low
    assert bca.high > plain.high


def test_clusters_are_drawn_whole():
    """Ten copies of each of six tasks: the clustered error is that of six tasks, not of sixty."""
    d, labels = np.repeat([0.4, -0.2, 0.1, 0.3, 0.0, 0.5], 10), np.repeat(list("abcdef"), 10)
    small = paired_bootstrap(d[::10], rng=np.random.default_rng(5), draws=4_000)
    clustered = paired_bootstrap(d, rng=np.random.default_rng(5), draws=4_000, clusters=labels)
    assert clustered[:4] == pytest.approx(small[:4])
    assert cluster_standard_error(d, labels) == pytest.approx(cluster_standard_error(d[::10]))
    assert cluster_standard_error(d) < 0.4 * cluster_standard_error(d, labels)


def test_cluster_standard_error_is_the_usual_one_without_clusters():
    """s/√n with s² = 1/2·((−1)² + 0 + 1²) = 1 and n = 3."""
    assert cluster_standard_error([1, 2, 3]) == pytest.approx(1 / math.sqrt(3))
    with pytest.raises(EvidenceError, match="two clusters or more"):
        cluster_standard_error([1, 2], ["a", "a"])


def test_bootstrap_p_value_is_small_only_for_real_differences():
    """All differences positive: the smallest possible p, 2/(draws + 1); symmetric ones: 1."""
    gen = np.random.default_rng(6)
    assert paired_bootstrap(np.full(9, 0.2), rng=gen, draws=999).p_value == pytest.approx(0.002)
    assert paired_bootstrap([1, -1] * 9, rng=gen, draws=999).p_value > 0.5


def test_equivalence_by_hand():
    """Differences −1, 0, 1 with margin 1: t = ±√3 on 2 degrees of freedom, p = ½(1 − √(3/5))."""
    # Student t with 2 degrees: P(T <= −t) = ½(1 − t/√(2 + t²)).
    got = equivalence([-1, 0, 1], 1.0)
    expected = 0.5 * (1 - math.sqrt(3 / 5))
    assert (got.above, got.below, got.p_value) == pytest.approx((expected,) * 3)
    assert equivalence([0, 0, 0], 0.1).p_value == 0.0
    assert equivalence([2, 2, 2], 0.1).p_value == 1.0


def test_non_inferiority_is_the_upper_half_of_equivalence():
    """Same p-value as `above`, and a worse candidate gets a larger one."""
    d = [-0.1, 0.0, 0.1, 0.05]
    assert non_inferiority(d, 0.2) == equivalence(d, 0.2).above
    assert non_inferiority(np.array(d) - 0.1, 0.2) > non_inferiority(d, 0.2)


def test_slope_permutation_by_hand():
    """y = 2x has slope 2; of 3! orders only two are as steep, so p is near 1/3."""
    got = slope_permutation([0, 1, 2], [0, 2, 4], rng=np.random.default_rng(8))
    assert got.slope == pytest.approx(2.0)
    assert got.p_value == pytest.approx(1 / 3, abs=0.03)
    flat = slope_permutation(range(9), [1.0] * 9, rng=np.random.default_rng(8), draws=50)
    assert flat == (0.0, 1.0)
    with pytest.raises(EvidenceError, match="two distinct positions"):
        slope_permutation([1, 1], [0, 1], rng=np.random.default_rng(8))


def test_labels_must_pair_with_differences():
    """A missing label is refused with both shapes."""
    with pytest.raises(EvidenceError) as refused:
        paired_bootstrap([0.1, 0.2], rng=np.random.default_rng(0), clusters=["a"])
    assert str(refused.value) == (
        "clusters: allowed shape (2,); got shape (1,). Give each difference its cluster."
    )
