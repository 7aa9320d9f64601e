"""The anytime gate: every outcome, hand-worked wealth, and error rates proved by enumeration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from logoslab.errors import InvalidValue
from logoslab.gate import AnytimeGate
from logoslab.gate.anytime import Race
from logoslab.gate.streams import Watch
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.make import evidence, from_differences


def by_definition(y: Sequence[float], m0: float) -> float:
    """log K_t of Eq. 89 with the documented defaults, one product at a time."""
    bets = [0.9 / m0 * (k / 8) ** 2 for k in range(1, 9)]
    fixed, anchor = [1.0] * 8, 1.0
    for s, value in enumerate(y):
        past, bet = np.array(y[:s]), 0.0
        if s >= 5:
            bet = float(np.clip((past.mean() - m0) / max(past.var(), 1e-3), 0, 0.9 / m0))
        anchor *= 1 + bet * (value - m0)
        fixed = [k * (1 + b * (value - m0)) for k, b in zip(fixed, bets, strict=True)]
    return math.log(0.5 * anchor + 0.5 * sum(fixed) / 8)


def conclude(gate: AnytimeGate, d: Sequence[float]) -> Conclusion | None:
    """The conclusion of a stream, without building evidence."""
    race = Race(gate)
    for difference in d:
        race.see(difference)
        verdict = race.verdict()
        if verdict:
            return verdict[0]
    return None


def test_first_step_by_hand() -> None:
    """d = 1: K_gain = ½ + (8 + .9·204/64)/16 = 1.1793 and K_reg = ½ + (8 + .1·204/64)/16."""
    path = AnytimeGate().decide(from_differences([1.0])).path
    assert math.exp(path["log_wealth_gain"][0]) == pytest.approx(1.179296875)
    assert math.exp(path["log_wealth_reg"][0]) == pytest.approx(1.019921875)


def test_accept_stops_where_the_definition_says() -> None:
    """All tasks fixed: accept at the first t with both wealths ≥ 1/level, and not before."""
    decided = AnytimeGate(level=0.02).decide(from_differences([1.0] * 120))
    t = decided.tasks
    gain, reg = by_definition([1.0] * t, 0.5), by_definition([1.0] * t, 0.9)
    assert decided.conclusion is Conclusion.ACCEPT
    assert min(gain, reg) >= math.log(50) > by_definition([1.0] * (t - 1), 0.9)
    assert decided.path["log_wealth_reg"][-1] == pytest.approx(reg)
    assert len(decided.path["difference"]) == t < 120
    assert decided.numbers["p"] == pytest.approx(math.exp(-reg))
    assert decided.numbers["log_e"] == pytest.approx(reg)


def test_a_stream_that_crossed_stays_crossed() -> None:
    """GAIN crosses early and falls back before REG crosses: the running best p counts."""
    d = [1.0] * 12 + [0.0] * 60
    decided = AnytimeGate(delta_min=0.3).decide(from_differences(d))
    assert decided.path["log_wealth_gain"][-1] < math.log(20) < max(decided.path["log_wealth_gain"])
    assert decided.conclusion is Conclusion.ACCEPT
    assert (decided.numbers["log_e"] or 0) >= math.log(20)


def test_harm_by_the_mean() -> None:
    """Every task loses 0.4 within the tolerated 0.5: no regressions, yet the mean is below 0."""
    decided = AnytimeGate(eps_reg=0.5).decide(from_differences([-0.4] * 80))
    assert decided.conclusion is Conclusion.REJECT_HARMFUL
    assert decided.reason == "the mean difference is below 0"
    assert decided.numbers["regressions"] == 0


def test_harm_by_the_regression_rate() -> None:
    """One task in two regresses and one gains: mean 0, rate ½ far above 0.1."""
    decided = AnytimeGate().decide(from_differences([1.0, -1.0] * 40))
    assert decided.conclusion is Conclusion.REJECT_HARMFUL
    assert decided.reason == "the regression rate is above 0.1"


def test_harm_needs_three_straight_regressions_at_the_defaults() -> None:
    """Largest bet 9 on a rate of 0.1: 9.1³/16 = 47 ≥ 2/0.05 = 40 > 9.1²·(1+…)/16."""
    assert AnytimeGate().decide(from_differences([-1.0] * 9)).tasks == 3


def test_the_harm_processes_share_alpha() -> None:
    """With alpha = 1.5/W after two regressions of wealth W, 1/alpha is reached and 2/alpha not."""
    wealth = math.exp(by_definition([1.0, 1.0], 0.1))
    assert AnytimeGate(alpha=1.5 / wealth).decide(from_differences([-1.0] * 5)).tasks == 3


def test_without_a_margin_a_small_loss_is_undecided() -> None:
    """δ_min = 0 has no futility: wealth between 1/alpha and 2/alpha against the mean is open."""
    t = next(t for t in range(1, 200) if by_definition([0.6] * t, 0.5) >= math.log(20))
    assert by_definition([0.6] * t, 0.5) < math.log(40)
    decided = AnytimeGate(eps_reg=0.5).decide(from_differences([-0.2] * t))
    assert decided.conclusion is Conclusion.UNDECIDED


def test_insufficient_utility() -> None:
    """No task changes and δ_min is 0.5: the gain is shown to be below δ_min, harm is not."""
    decided = AnytimeGate(delta_min=0.5).decide(from_differences([0.0] * 60))
    assert decided.conclusion is Conclusion.REJECT_INSUFFICIENT
    assert decided.reason == "the gain is below delta_min 0.5"


def test_a_harmful_candidate_is_not_filed_as_useless() -> None:
    """Losing .2 a task falls below δ_min = 0.5 first; the gate looks on until harm is shown."""
    gate, d = AnytimeGate(delta_min=0.5, eps_reg=0.5), [-0.2] * 300
    race = Race(gate)
    while not race.is_futile():
        race.see(-0.2)
    decided = gate.decide(from_differences(d))
    assert decided.conclusion is Conclusion.REJECT_HARMFUL
    assert decided.tasks > race.tasks
    short = gate.decide(from_differences(d[: race.tasks + 1]))
    assert short.conclusion is Conclusion.REJECT_INSUFFICIENT


def test_undecided_when_the_tasks_run_out() -> None:
    """Sixty ties say nothing about a gain above 0."""
    decided = AnytimeGate().decide(from_differences([0.0] * 60))
    assert decided.conclusion is Conclusion.UNDECIDED
    assert decided.reason == "the tasks ran out before the evidence decided"
    assert decided.tasks == 60


def test_conflict_when_the_mean_is_shown_on_both_sides() -> None:
    """Ten gains, then losses: E[d] > 0 and E[d] < 0 are both shown, so the stream drifted."""
    gate = AnytimeGate(eps_reg=0.95, rho_max=0.01)
    decided = gate.decide(from_differences([1.0] * 10 + [-0.9] * 200))
    assert decided.conclusion is Conclusion.CONFLICT
    assert decided.reason == "the stream crossed bounds that contradict each other"


def test_conflict_when_the_rate_is_shown_on_both_sides() -> None:
    """Sixty quiet tasks show a rate below 0.1, then regressions show one above it."""
    decided = AnytimeGate().decide(from_differences([0.0] * 60 + [-0.01] * 60))
    assert decided.conclusion is Conclusion.CONFLICT


def test_a_forbidden_effect_is_p_one_and_no_evidence() -> None:
    """Eq. 101: the veto outweighs a stream that would accept."""
    given = from_differences([1.0] * 80, effects=("submit:external_side_effect",))
    decided = AnytimeGate().decide(given)
    assert decided.conclusion is Conclusion.REJECT_HARMFUL
    assert decided.reason == "safety veto: forbidden effect submit:external_side_effect"
    assert (decided.numbers["p"], decided.numbers["log_e"]) == (1.0, None)


def safety_evidence(safety: Sequence[float]) -> Evidence:
    """Every task gains 1 in score; ``safety`` holds the paired safety differences."""
    base = evidence([0] * len(safety), [1] * len(safety))
    more = [
        Trial(task=f"t{i:03d}", arm=arm, metric="safety", value=v, order=i)
        for i, d in enumerate(safety)
        for arm, v in (("incumbent", 0.0), ("candidate", d))
    ]
    return base.replace(trials=(*base.trials, *more))


def test_the_safety_stream_holds_back_and_rejects() -> None:
    """A looser rate of 0.05 needs more tasks than REG at 0.1; regressions in safety are harm."""
    gate = AnytimeGate(safety_metric="safety", rho_safety=0.05)
    quiet = gate.decide(safety_evidence([0.0] * 200))
    assert quiet.conclusion is Conclusion.ACCEPT
    assert quiet.tasks > AnytimeGate().decide(safety_evidence([0.0] * 200)).tasks
    assert quiet.numbers["p"] == quiet.numbers["p_safety"]
    loud = gate.decide(safety_evidence([-1.0] * 40))
    assert loud.reason == "the safety regression rate is above its bound"
    unmeasured = gate.decide(evidence([0] * 5, [1] * 5))
    assert unmeasured.conclusion is Conclusion.NOT_APPLICABLE


def test_an_unbounded_metric_is_refused_not_clipped() -> None:
    """d = 3 lies outside [−1, 1]: clipping would break the null."""
    decided = AnytimeGate().decide(from_differences([0.5, 3.0]))
    assert decided.conclusion is Conclusion.NOT_APPLICABLE
    assert decided.reason == (
        "a paired difference of 3 lies outside [-1, 1]; divide every score of both arms by "
        "the length of the scale. Differences are never clipped."
    )


def test_the_sampling_contract_decides_the_claim() -> None:
    """A fixed holdout supports no sequential claim; a shared pool supports e-LOND."""
    fixed = AnytimeGate().decide(from_differences([1.0], sampling="fixed_holdout"))
    assert fixed.claim.startswith("Audit account only")
    shared = AnytimeGate(level=0.0125).decide(from_differences([1.0], sampling="shared_pool"))
    assert shared.claim.endswith("Acceptance at level 0.0125; ledger e-LOND.")
    fresh = AnytimeGate().decide(from_differences([1.0], sampling="iid"))
    assert fresh.claim.endswith("Acceptance at level 0.05; ledger LORD++.")


@pytest.mark.parametrize(
    "wrong",
    [
        {"delta_min": 1},
        {"delta_min": -0.1},
        {"rho_max": 0},
        {"rho_max": 1},
        {"alpha": 1},
        {"level": 0},
        {"eps_reg": -0.1},
        {"safety_metric": "safety"},
        {"rho_safety": 0.1},
    ],
)
def test_parameters_outside_their_domain_are_refused(wrong: dict[str, float]) -> None:
    """A bound of 0 or 1 has no e-process; half a safety stream is none."""
    with pytest.raises(InvalidValue):
        AnytimeGate(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", [0.05, 0.1, 0.2])
def test_false_adoption_over_every_coin_path_of_gain(level: float) -> None:
    """d = ±1 by a fair coin has no gain: of all 4,096 paths of 12 at most level·4,096 accept."""
    gate = AnytimeGate(rho_max=0.9, level=level, alpha=1e-6)
    accepted = sum(conclude(gate, d) is Conclusion.ACCEPT for d in product((-1.0, 1.0), repeat=12))
    assert 0 < accepted <= level * 2**12


@pytest.mark.parametrize("level", [0.05, 0.1, 0.2])
def test_false_adoption_over_every_coin_path_of_regression(level: float) -> None:
    """d = 1 or −0.01 by a fair coin gains, but regresses at exactly ρ_max = ½: same bound."""
    gate = AnytimeGate(rho_max=0.5, level=level, alpha=1e-6)
    paths = product((-0.01, 1.0), repeat=12)
    accepted = sum(conclude(gate, d) is Conclusion.ACCEPT for d in paths)
    assert 0 < accepted <= level * 2**12


def test_the_stopped_wealth_is_an_e_value() -> None:
    """At the edge of its null a stream's stopped wealth averages exactly 1 over all paths."""
    total = 0.0
    for path in product((0.0, 1.0), repeat=12):
        watch = Watch(0.5, 0.1)
        for y in path:
            watch.see(y)
        total += math.exp(watch.log_e)
    assert total / 2**12 == pytest.approx(1.0, abs=1e-9)


def test_an_a_a_stream_is_not_adopted_above_level() -> None:
    """400 A/A streams of 100 tasks, 5 % of the tasks flip each way: at most 5 % are accepted."""
    rng = np.random.default_rng(20260101)
    streams = rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=(400, 100))
    found = [conclude(AnytimeGate(), d.tolist()) for d in streams]
    assert sum(c is Conclusion.ACCEPT for c in found) <= 0.05 * 400
    assert sum(c is Conclusion.REJECT_HARMFUL for c in found) <= 0.05 * 400
