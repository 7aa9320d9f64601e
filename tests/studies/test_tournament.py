"""The tournament: the same numbers on any executor, counts by hand, and truth only where known."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from logoslab.errors import InvalidValue
from logoslab.gate import RULES, rule_named
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Trial
from logoslab.pack.needs import Needs
from logoslab.studies import tournament as page
from logoslab.studies.arms import ARMS, a_a_stream, null_arms
from logoslab.studies.streams import CandidateFamily, CandidateStream
from logoslab.studies.summary import order_replicates, replicates, summary
from logoslab.studies.tournament import tournament

SMALL = CandidateStream(candidates=40, tasks=20)
CHEAP = ["paired", "accept_all", "mean_improves", "mcnemar"]


def rng(seed=1):
    """A fixed stream."""
    return np.random.default_rng(seed)


class Bare:
    """Somebody else's rule: a name and decide, nothing more. The first task decides."""

    name = "first_task"
    source = "a test"

    def decide(self, evidence: Evidence) -> Decision:
        """Accept when the first task was fixed."""
        fixed = evidence.pairs().difference[0] > 0
        return Decision(
            rule=self.name,
            conclusion=Conclusion.ACCEPT if fixed else Conclusion.REJECT_INSUFFICIENT,
            reason="the first task",
            incumbent=evidence.incumbent,
            candidate=evidence.candidate,
            evidence=evidence.digest,
            tasks=1,
        )


class Reads(Bare):
    """The same with declared arms."""

    def __init__(self, name: str, *arms: str) -> None:
        self.name, self.needs = name, Needs(arms=arms)


@pytest.fixture
def two_chunks(monkeypatch):
    """Jobs of 25 candidates."""
    monkeypatch.setattr(page, "CHUNK", 25)


@pytest.mark.usefixtures("two_chunks")
@pytest.mark.parametrize("pool", [ThreadPoolExecutor, ProcessPoolExecutor])
def test_an_executor_changes_no_number(pool):
    """Threads and processes give the frame of a plain loop, third-party rules included."""
    rules = [*CHEAP, Bare()]
    plain = tournament(SMALL, rules, rng=rng(), price=0.5)
    with pool(2) as executor:
        pd.testing.assert_frame_equal(
            tournament(SMALL, rules, rng=rng(), price=0.5, executor=executor), plain
        )


@pytest.mark.usefixtures("two_chunks")
@pytest.mark.slow
def test_loky_and_dask_change_no_number():
    """The executors of extra ``dist`` give the frame of a plain loop."""
    loky = pytest.importorskip("loky", reason="extra dist is not installed")
    distributed = pytest.importorskip("distributed", reason="extra dist is not installed")
    plain = tournament(SMALL, [*CHEAP, Bare()], rng=rng())
    with loky.ProcessPoolExecutor(2) as executor:
        found = tournament(SMALL, [*CHEAP, Bare()], rng=rng(), executor=executor)
        pd.testing.assert_frame_equal(found, plain)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        found = tournament(SMALL, [*CHEAP, Bare()], rng=rng(), executor=client.get_executor())
        pd.testing.assert_frame_equal(found, plain)


def test_chunks_change_no_number(monkeypatch):
    """Jobs of 1, 7 and 250 candidates give one frame."""
    frames = []
    for chunk in (1, 7, 250):
        monkeypatch.setattr(page, "CHUNK", chunk)
        frames.append(tournament(SMALL, CHEAP, rng=rng()))
    pd.testing.assert_frame_equal(frames[0], frames[2])
    pd.testing.assert_frame_equal(frames[1], frames[2])


def test_rules_share_the_draws():
    """A rule's rows are the same alone and among others, in the order in which rules came."""
    together = tournament(SMALL, CHEAP, rng=rng())
    assert list(dict.fromkeys(together["rule"])) == CHEAP
    alone = tournament(SMALL, "mcnemar", rng=rng())
    mine = together[together["rule"] == "mcnemar"].reset_index(drop=True)
    pd.testing.assert_frame_equal(
        mine.astype({"rule": str}), alone.astype({"rule": str}), check_categorical=False
    )


def test_the_seed_decides():
    """Equal generators give equal frames, others do not."""
    one, again = (tournament(SMALL, CHEAP, rng=rng(4)) for _ in range(2))
    pd.testing.assert_frame_equal(one, again)
    assert not one.equals(tournament(SMALL, CHEAP, rng=rng(5)))


def test_accepting_all_against_the_truth_by_hand():
    """Of 20 candidates 14 should stay out, and net utility is the mean of effect − broken.

    Effects .14 ·3, .05 ·3, 0 ·6, −.09 ·3, −.08 ·3, .07 ·2 sum to .20; broken .01 ·6, .12 ·3,
    .10 ·3, .07 ·2 to .86. So (.20 − .86)/20 = −.033, and −.0115 at half the price of harm.
    """
    frame = tournament(SMALL, "accept_all", rng=rng())
    row = summary(frame).loc["accept_all"]
    assert int(frame["false_adoption"].sum()) == 28
    assert (row["adoption_rate"], row["false_adoption_rate"], row["power"]) == (1, 1, 1)
    assert row["false_per_100_null"] == 100
    assert row["missed_gain"] == 0
    assert row["net_utility"] == pytest.approx(-0.033)
    half = tournament(SMALL, "accept_all", rng=rng(), harm_price=0.5)
    assert half["net_utility"].mean() == pytest.approx(-0.0115)


def test_what_is_not_adopted_is_missed():
    """A rule that never accepts misses .57 over 20 candidates and has no other column above 0."""
    never = rule_named("paired", delta_min=1.0)
    row = summary(tournament(SMALL, {"never": never}, rng=rng())).loc["never"]
    assert row["missed_gain"] == pytest.approx(0.57 / 20)
    assert (row["power"], row["false_adoption_rate"], row["net_utility"]) == (0, 0, 0)


def test_evaluations_count_arms_and_replicates():
    """One task: 2 for a pair, 2 · 3 for control and candidate, 3 against a captured score, 1 live.

    Three replicates of each replayed case; a captured score was paid for before.
    """
    rules = [
        Bare(),
        Reads("controlled", "control", "candidate"),
        Reads("captured", "captured", "candidate"),
        Reads("live", "candidate"),
        Reads("none"),
    ]
    frame = tournament(SMALL.replace(runs=3), rules, rng=rng(), price=0.1)
    spent = frame.groupby("rule", observed=True)["evaluations"].agg(["min", "max"])
    assert (spent["min"] == spent["max"]).all()
    assert spent["min"].to_dict() == {
        "first_task": 2,
        "controlled": 6,
        "captured": 3,
        "live": 1,
        "none": 1,
    }
    assert frame["cost"].tolist() == pytest.approx((frame["evaluations"] * 0.1).tolist())


def test_unknown_prices_stay_unknown():
    """Without a price cost is missing, in the summary as well, and never 0."""
    frame = tournament(SMALL, "accept_all", rng=rng())
    assert frame["cost"].isna().all()
    assert pd.isna(summary(frame).loc["accept_all", "cost"])


def trials(cost):
    """Three tasks, two replicates of the candidate on the first."""
    for i, (old, new) in enumerate(((0.0, 1.0), (1.0, 1.0), (0.0, 1.0))):
        yield Trial(task=f"t{i}", arm="incumbent", value=old, order=i, cost=cost)
        for replicate in range(2 if i == 0 else 1):
            yield Trial(
                task=f"t{i}", arm="candidate", value=new, order=i, replicate=replicate, cost=cost
            )


def test_real_histories_have_no_truth():
    """Evidence is judged, its own costs are summed, and every column about truth is missing.

    Seven runs at .25 in all; the first task alone had three.
    """
    histories = [Evidence(trials=tuple(trials(0.25))), Evidence(trials=tuple(trials(None)))]
    frame = tournament(histories, ["mean_improves", Bare()], rng=rng(), price=2.0)
    assert frame["accepted"].all()
    assert frame["evaluations"].tolist() == [7, 7, 3, 3]
    assert frame["cost"].tolist() == [1.75, 14.0, 0.75, 6.0]
    unknown = ["family", "truth", "effect", "broken", "regression_rate", "false_adoption",
               "missed_gain", "net_utility"]  # fmt: skip
    assert frame[unknown].isna().all(axis=None)
    row = summary(frame).loc["mean_improves"]
    assert row["adoption_rate"] == 1
    assert row[["false_adoption_rate", "power", "false_per_100_null", "net_utility"]].isna().all()
    assert tournament(histories, "accept_all", rng=rng())["cost"].isna().tolist() == [False, True]


def test_a_recorded_stream_is_judged_like_the_drawn_one():
    """The evidence of each row gives the conclusions, tasks and evaluations of the batch."""
    judges = [*CHEAP, "anytime", "replay_captured", "replay_controlled", "forward_trial"]
    drawn = tournament(SMALL, judges, rng=rng(9))
    seed = int(rng(9).integers(1 << 63))
    batch = SMALL.draw(seed, 0, 40).batch
    recorded = tournament([batch.evidence(k) for k in range(40)], judges, rng=rng())
    same = ["rule", "candidate", "decision", "accepted", "tasks", "evaluations"]
    pd.testing.assert_frame_equal(drawn[same], recorded[same])


def test_every_shipped_rule_takes_part():
    """Each judges the default stream, or is not applicable throughout because it needs more."""
    frame = tournament(SMALL, rng=rng())
    judged = summary(frame)["judged"]
    assert set(judged.index) >= set(RULES)
    absent = {name for name in RULES if judged[name] == 0}
    # Reports that cite calls and versions, and latencies, are not part of a batch.
    assert absent <= {"adoption_report", "rollout"}
    assert all(judged[name] in (0, 40) for name in RULES)


def hand_frame():
    """Four candidates of each truth; a rule that accepts 3 good ones and 1 neutral one."""
    truth = ["beneficial"] * 4 + ["neutral"] * 4 + ["harmful"] * 4
    accepted = [True, True, True, False, True] + [False] * 7
    frame = pd.DataFrame({"rule": "it", "truth": truth, "accepted": accepted})
    conclusion = np.where(frame["accepted"], "accept", "undecided")
    return frame.assign(
        decision=conclusion, missed_gain=0.0, tasks=10, evaluations=20, cost=1.0,
        net_utility=np.where(frame["accepted"], 0.3, 0.0),
    )  # fmt: skip


def test_a_summary_by_hand():
    """Rates 3/4, 1/8 and 25 in 100; net utility 4 · .3/12 ± 1.96 · s/√12, s² = .96/11 · .25.

    Clopper-Pearson: the lower end of 1/8 solves 1 − (1 − p)⁸ = .025.
    """
    row = summary(hand_frame()).loc["it"]
    assert (row["candidates"], row["judged"]) == (12, 12)
    assert (row["power"], row["false_adoption_rate"]) == (0.75, 0.125)
    assert row["false_per_100_null"] == 25
    assert row["false_adoption_rate_low"] == pytest.approx(1 - 0.975 ** (1 / 8))
    assert row["net_utility"] == pytest.approx(0.1)
    half = 1.959964 * ((4 * 0.2**2 + 8 * 0.1**2) / 11) ** 0.5 / 12**0.5
    assert row["net_utility_high"] == pytest.approx(0.1 + half, rel=1e-6)


def test_what_a_rule_could_not_judge_is_in_no_rate():
    """Two unjudged harmful candidates leave 6 behind the false adoption rate; none leaves none."""
    frame = hand_frame()
    frame.loc[10:, "decision"] = "not_applicable"
    row = summary(frame).loc["it"]
    assert (row["candidates"], row["judged"]) == (12, 10)
    assert row["false_adoption_rate"] == pytest.approx(1 / 6)
    frame["decision"] = "not_applicable"
    row = summary(frame).loc["it"]
    assert row["judged"] == 0
    assert row.drop(["candidates", "judged"]).isna().all()


def test_null_arms_have_no_gain_to_find():
    """Accepting all adopts every one; without run-to-run flips nothing improves on A/A."""
    like = SMALL.replace(noise=0.0)
    frame = null_arms(["accept_all", "mean_improves"], like=like, rng=rng())
    rate = frame.set_index(["rule", "arm"])["rate"]
    assert frame["arm"].tolist() == [*ARMS, *ARMS]
    assert (rate["accept_all"] == 1).all()
    assert rate["mean_improves", "a_a"] == rate["mean_improves", "captured"] == 0
    assert rate["mean_improves", "placebo"] > 0.2


class ReplayGain(Bare):
    """Accept when some captured failure scored higher on replay."""

    name = "replay_gain"
    needs: ClassVar[Needs] = Needs(arms=("captured", "candidate"))

    def decide_many(self, batch):
        """The same, from arrays."""
        failed = np.array(batch.cases.roles) == "failure"
        rise = (batch.cases.candidate.mean(axis=2) - batch.cases.captured)[:, failed]
        found = np.where((rise > 0).any(axis=1), "accept", "reject_insufficient")
        return page.Outcomes(found, np.full(len(batch), failed.sum()))


def test_regression_to_the_mean_by_hand():
    """A rule without effect is promoted on cases that failed when they were captured.

    One replay of each of 3 cases, true scores uniform on [.4, 1]: on captured failures some replay
    succeeds with probability 1 − .4³ = .936 (E[a | failed] = .6). On cases taken unseen one needs
    a failure that turns into a success, 1 − (1 − .18)³ = .449 (E a(1 − a) = .18).
    """
    like = CandidateStream(candidates=2_000, tasks=1, runs=1)
    frame = null_arms([ReplayGain()], like=like, rng=rng()).set_index("arm")
    for arm, rate in (("captured", 0.936), ("a_a", 0.449), ("placebo", 0.449)):
        error = (rate * (1 - rate) / 2_000) ** 0.5
        assert abs(frame.loc[arm, "rate"] - rate) < 5 * error, arm


def test_null_arms_of_nothing_judged_are_missing():
    """A rule for 0/1 scores cannot judge graded ones: no rate, never 0."""
    graded = SMALL.replace(checks=10)
    frame = null_arms(["mcnemar"], like=graded, rng=rng())
    assert (frame["judged"] == 0).all()
    assert frame[["rate", "low", "high"]].isna().all(axis=None)


def test_seeds_spread():
    """Between seeds a rate moves about as the binomial says, and a constant does not move."""
    stream = a_a_stream(CandidateStream(candidates=200, tasks=10, noise=0.4))
    found = replicates(stream, ["accept_all", "mean_improves"], seeds=range(12))
    table = found.set_index(["rule", "measure"])
    assert (table.loc["accept_all", "sd"].dropna() == 0).all()
    row = table.loc["mean_improves", "adoption_rate"]
    expected = (row["mean"] * (1 - row["mean"]) / 200) ** 0.5
    assert expected / 2 < row["sd"] < expected * 2
    assert row["low"] < row["mean"] < row["high"]
    assert row["seeds"] == 12
    assert np.isnan(table.loc[("mean_improves", "power"), "mean"])


def test_order_matters_to_a_rule_that_reads_it():
    """The mean and McNemar's test read a set; a rule that looks at the first task does not.

    With p = P(d > 0) = .1 per task, another order flips its acceptance with 2 · .1 · .9 = .18.
    """
    family = CandidateFamily(name="it", fixed=0.1)
    stream = CandidateStream(families=(family,), candidates=300, tasks=50, noise=0.0)
    rules = ["mean_improves", "mcnemar", Bare()]
    found = order_replicates(stream, rules, orders=4, rng=rng())
    assert (found.loc[["mean_improves", "mcnemar"], ["changed", "flipped"]] == 0).all(axis=None)
    assert found.loc["first_task", "flipped"] == pytest.approx(0.18, abs=0.05)
    assert found.loc["first_task", "changed"] > found.loc["first_task", "flipped"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: tournament(SMALL, ["paired", "paired"], rng=rng()),
            "rules of a tournament: allowed at least one rule, each with a label of its own; got "
            "more than one paired. Pass a mapping from label to rule.",
        ),
        (
            lambda: tournament(SMALL, [], rng=rng()),
            "rules of a tournament: allowed at least one rule, each with a label of its own; got "
            "none. Pass a mapping from label to rule.",
        ),
        (
            lambda: tournament(SMALL, [3], rng=rng()),
            "admission rule: allowed a rule's name, or an object with name and decide; got "
            "3. Pass a rule object, such as PairedGate().",
        ),
        (
            lambda: tournament([], "paired", rng=rng()),
            "stream of a tournament: allowed a CandidateStream or at least one Evidence; got no "
            "evidence. Pass the histories to judge.",
        ),
        (
            lambda: tournament(SMALL, "paired", rng=rng(), price=-1.0),
            "price of a tournament: allowed a finite number of at least 0; got -1.0. Choose a "
            "value in this domain.",
        ),
        (
            lambda: replicates(SMALL, "paired", seeds=[1, 1]),
            "seeds of replicates: allowed at least two different whole numbers; got [1, 1]. Pass "
            "for example range(5).",
        ),
        (
            lambda: order_replicates(SMALL, "paired", orders=0, rng=rng()),
            "orders: allowed a whole number of at least 1; got 0. Ask for more.",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    """Which, what is allowed, what came and what to do."""
    with pytest.raises(InvalidValue) as caught:
        call()
    assert str(caught.value) == message
