"""Evidence mathematics: what observed trials allow one to say, with the error stated.

numpy and scipy only, and usable on its own. Sequential evidence (`eprocess`, `portfolio`,
`confseq`), an error budget over many gates (`online_fdr`, `ledger`), fixed-sample comparisons and
intervals, and the sampling contract that says what a result may claim.
"""

from __future__ import annotations

from logoslab.stats.adoption import (
    AdoptionStreams,
    GatePValues,
    adoption_p_values,
    running_p_values,
)
from logoslab.stats.bets import (
    geometric_bets,
    linear_bets,
    quadratic_bets,
)
from logoslab.stats.bettors import (
    BettingProcess,
    Past,
    agrapa_bet,
    bettor_log_wealth,
    fixed_bet,
    hedged_log_wealth,
    merge_average,
    merge_minimum,
    merge_product,
    plug_in_bet,
)
from logoslab.stats.bootstrap import (
    BootstrapResult,
    Equivalence,
    cluster_standard_error,
    equivalence,
    non_inferiority,
    paired_bootstrap,
)
from logoslab.stats.calibration import (
    ReliabilityCurve,
    Threshold,
    ask_threshold,
    brier,
    certify,
    expected_calibration_error,
    isotonic,
    reliability_curve,
    three_splits,
)
from logoslab.stats.callability import (
    Callability,
    CallabilityTest,
)
from logoslab.stats.confseq import (
    SequentialBounds,
    betting_interval,
    betting_sequence,
    difference_interval,
    hoeffding_sequence,
)
from logoslab.stats.empirical_bernstein import (
    empirical_bernstein_sequence,
    predictable_hoeffding_sequence,
)
from logoslab.stats.eprocess import (
    PortfolioEProcess,
)
from logoslab.stats.intervals import (
    Bounds,
    clopper_pearson,
    kl_lcb,
    kl_ucb,
    wilson,
)
from logoslab.stats.ledger import (
    Ledger,
    LedgerEntry,
)
from logoslab.stats.online_fdr import (
    OnlineDecisions,
    addis,
    alpha_investing,
    e_lond,
    lond,
    lord_plus_plus,
    saffron,
)
from logoslab.stats.paired import (
    Flips,
    benjamini_hochberg,
    e_benjamini_hochberg,
    flips,
    holm,
    mcnemar_exact,
    paired_difference,
    sign_flip,
    wilcoxon_signed_rank,
)
from logoslab.stats.portfolio import (
    PortfolioStreams,
    portfolio_log_wealth,
)
from logoslab.stats.power import (
    Characteristics,
    Decisions,
    DetectableEffect,
    NullAudit,
    adoption_decider,
    first_crossing,
    minimum_detectable_effect,
    null_audit,
    operating_characteristics,
)
from logoslab.stats.reliability import (
    DecayCurve,
    VarianceComponents,
    decay_curve,
    hierarchical_bootstrap,
    pass_at_k,
    pass_hat_k,
    variance_components,
)
from logoslab.stats.sampling import (
    SamplingContract,
)
from logoslab.stats.spending import (
    javanmard_montanari_spending,
    power_spending,
)
from logoslab.stats.trend import Slope, slope_permutation

__all__ = [
    "AdoptionStreams",
    "BettingProcess",
    "BootstrapResult",
    "Bounds",
    "Callability",
    "CallabilityTest",
    "Characteristics",
    "DecayCurve",
    "Decisions",
    "DetectableEffect",
    "Equivalence",
    "Flips",
    "GatePValues",
    "Ledger",
    "LedgerEntry",
    "NullAudit",
    "OnlineDecisions",
    "Past",
    "PortfolioEProcess",
    "PortfolioStreams",
    "ReliabilityCurve",
    "SamplingContract",
    "SequentialBounds",
    "Slope",
    "Threshold",
    "VarianceComponents",
    "addis",
    "adoption_decider",
    "adoption_p_values",
    "agrapa_bet",
    "alpha_investing",
    "ask_threshold",
    "benjamini_hochberg",
    "betting_interval",
    "betting_sequence",
    "bettor_log_wealth",
    "brier",
    "certify",
    "clopper_pearson",
    "cluster_standard_error",
    "decay_curve",
    "difference_interval",
    "e_benjamini_hochberg",
    "e_lond",
    "empirical_bernstein_sequence",
    "equivalence",
    "expected_calibration_error",
    "first_crossing",
    "fixed_bet",
    "flips",
    "geometric_bets",
    "hedged_log_wealth",
    "hierarchical_bootstrap",
    "hoeffding_sequence",
    "holm",
    "isotonic",
    "javanmard_montanari_spending",
    "kl_lcb",
    "kl_ucb",
    "linear_bets",
    "lond",
    "lord_plus_plus",
    "mcnemar_exact",
    "merge_average",
    "merge_minimum",
    "merge_product",
    "minimum_detectable_effect",
    "non_inferiority",
    "null_audit",
    "operating_characteristics",
    "paired_bootstrap",
    "paired_difference",
    "pass_at_k",
    "pass_hat_k",
    "plug_in_bet",
    "portfolio_log_wealth",
    "power_spending",
    "predictable_hoeffding_sequence",
    "quadratic_bets",
    "reliability_curve",
    "running_p_values",
    "saffron",
    "sign_flip",
    "slope_permutation",
    "three_splits",
    "variance_components",
    "wilcoxon_signed_rank",
    "wilson",
]
