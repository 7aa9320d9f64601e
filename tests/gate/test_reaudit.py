"""Looking back: adoptions on fresh tasks, the baseline audit, false adoptions under no effect."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import beta, binom

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import (
    AcceptAll,
    Adoption,
    MeanImproves,
    PairedGate,
    baseline_audit,
    false_adoptions_per_100,
    reaudit,
)
from logoslab.pack.evidence import Evidence, Trial
from tests.gate.make import evidence


def fresh(d: list[float], name: str = "new", start: int = 100, **more: Any) -> Evidence:
    """Evidence on tasks f100, f101…: none that an adoption below has seen."""
    trials = tuple(
        Trial(task=f"f{start + i}", arm=arm, value=value, order=i)  # type: ignore[arg-type]
        for i, x in enumerate(d)
        for arm, value in (("incumbent", 0.0), ("candidate", x))
    )
    made: dict[str, Any] = {"sampling": "iid", "incumbent": "old", "candidate": name, **more}
    return Evidence(trials=trials, **made)


def adopted(name: str = "new") -> Adoption:
    """Adopted on three tasks that it fixed."""
    base = evidence([0, 0, 0], [1, 1, 1]).replace(incumbent="old", candidate=name)
    decision = PairedGate().decide(base)
    assert decision.accepted
    return Adoption(decision=decision, tasks=("t000", "t001", "t002"))


def test_some_adoptions_hold_up_and_some_do_not() -> None:
    """Of four, one gains again, one does nothing, one is a little worse, one is shown harmful."""
    again = {"good": [1.0, 0.0], "nothing": [0.0, 0.0], "bad": [-0.1], "harmful": [-1.0] * 60}
    found = reaudit([(adopted(n), fresh(d, n)) for n, d in again.items()])
    assert [a.holds for a in found.adoptions] == [True, False, False, False]
    assert [a.harmful for a in found.adoptions] == [False, False, False, True]
    assert [a.mean_difference for a in found.adoptions] == [0.5, 0.0, -0.1, -1.0]
    assert found.false_share == 0.75
    # Clopper-Pearson by beta quantiles of scipy: 3 of 4.
    assert found.low == pytest.approx(beta.ppf(0.025, 3, 2))
    assert found.high == pytest.approx(beta.ppf(0.975, 4, 1))
    assert "every stopping time" in found.adoptions[0].claim


def test_one_alarm_among_many_needs_more_evidence() -> None:
    """e-BH: an e-value of 20 shows harm alone; beside 19 others it would have to reach 400."""
    losing = next(
        n for n in range(1, 60)
        if baseline_audit(fresh([-1.0] * n)).log_e_harm >= math.log(20)
    )  # fmt: skip
    worse = fresh([-1.0] * losing, "worse")
    assert reaudit([(adopted("worse"), worse)]).adoptions[0].harmful
    others = [(adopted(f"o{i}"), fresh([1.0], f"o{i}")) for i in range(19)]
    assert not reaudit([(adopted("worse"), worse), *others]).adoptions[0].harmful


def test_without_adoptions_nothing_is_estimated() -> None:
    """Unmeasured is None, not 0."""
    found = reaudit([])
    assert (found.adoptions, found.false_share, found.low, found.high) == ((), None, None, None)


@pytest.mark.parametrize(
    ("given_evidence", "message"),
    [
        (fresh([1.0], "other"), "got evidence about other against old"),
        (
            fresh([1.0]).replace(trials=(
                Trial(task="t001", arm="incumbent", value=0),
                Trial(task="t001", arm="candidate", value=1),
            )),
            "got 1 task.s. that it was adopted on, first t001",
        ),
        (fresh([1.0], scorer="judge sha256:b"), "got unstated and judge sha256:b"),
        (fresh([3.0]), "got a paired difference of size 3"),
    ],
)  # fmt: skip
def test_what_is_not_fresh_or_not_comparable_is_refused(
    given_evidence: Evidence, message: str
) -> None:
    """Other packs, tasks seen before, another scorer and unbounded differences."""
    with pytest.raises(EvidenceError, match=message):
        reaudit([(adopted(), given_evidence)])


def test_small_losses_add_up_to_misevolution() -> None:
    """LOGOS Eq. 18: live is worse than D_0 although nobody adopted a harmful step."""
    found = baseline_audit(fresh([-0.2] * 400))
    assert found.mean_difference == pytest.approx(-0.2)
    assert found.harmful
    assert not baseline_audit(fresh([-0.2] * 5)).harmful
    assert not baseline_audit(fresh([0.2] * 400)).harmful
    fixed = baseline_audit(fresh([-0.2] * 400, sampling="fixed_holdout"))
    assert fixed.claim.startswith("Audit account only")


def test_harm_follows_the_draws() -> None:
    """With replacement the sampler's draws are the stream: two tasks, drawn sixty times."""
    base = fresh([-1.0, -1.0], sampling="with_replacement", draws=("f100", "f101") * 30)
    assert baseline_audit(base).harmful
    assert not baseline_audit(base.replace(draws=())).harmful


def null(rng: np.random.Generator) -> Evidence:
    """Both arms are the same coin: 11 tasks, each 0 or 1 with probability one half."""
    scores = rng.integers(0, 2, size=(2, 11)).tolist()
    return evidence(scores[0], scores[1])


def test_keep_if_better_adopts_four_in_ten_null_candidates() -> None:
    """P(mean(d) > 0) is known: (1 − P(tie))/2 over the difference of two Bin(11, ½)."""
    tie = float((binom.pmf(range(12), 11, 0.5) ** 2).sum())
    rng = np.random.default_rng(4)
    found = false_adoptions_per_100(MeanImproves(), null, rng=rng, n=2000)
    assert (found.candidates, found.not_applicable) == (2000, 0)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= 100 * (1 - tie) / 2 <= found.high
    assert found.per_100 == pytest.approx(found.adopted / 20)
    everything = false_adoptions_per_100(AcceptAll(), null, rng=rng, n=50)
    assert everything.per_100 == 100
    assert everything.high == 100


def test_recorded_a_a_evidence_is_a_stream_too() -> None:
    """An iterable is read to its end, or as far as n says; the seed does not matter."""
    recorded = [evidence([0], [0]), evidence([0], [1]), evidence([0], [1])]
    found = false_adoptions_per_100(MeanImproves(), recorded)
    assert (found.candidates, found.adopted) == (3, 2)
    assert false_adoptions_per_100(MeanImproves(), recorded, n=2).adopted == 1


def test_a_rule_that_cannot_judge_has_no_rate() -> None:
    """Not applicable is not "adopts nothing": the rate is unmeasured."""
    alone = Evidence(trials=(Trial(task="a", arm="candidate", value=1),))
    found = false_adoptions_per_100(MeanImproves(), [alone, alone])
    assert (found.candidates, found.not_applicable, found.per_100) == (0, 2, None)


@pytest.mark.parametrize("more", [{}, {"n": 5}, {"rng": np.random.default_rng(0), "n": 0}])
def test_a_generator_needs_a_seed_and_a_number(more: dict[str, Any]) -> None:
    """Randomness is an argument."""
    with pytest.raises(InvalidValue, match="null stream: allowed n a whole number from 1"):
        false_adoptions_per_100(MeanImproves(), null, **more)
