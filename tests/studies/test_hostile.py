"""Studies given junk, used-up iterators, closed executors and recordings that repeat themselves."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate import (
    CorpusGuard,
    ForwardTrial,
    Guarded,
    MinibatchSum,
    PairedGate,
    Proxy,
    SafetyAxis,
)
from logoslab.pack.evidence import Evidence, Trial
from logoslab.pack.needs import Needs
from logoslab.studies.arms import null_arms
from logoslab.studies.histories import History, Pair, evidence_between, judge_history, outcome
from logoslab.studies.streams import CandidateFamily, CandidateStream
from logoslab.studies.summary import order_replicates, replicates, summary
from logoslab.studies.table13 import table13
from logoslab.studies.tournament import tournament

SMALL = CandidateStream(candidates=20, tasks=10)
PLAIN = (CandidateFamily(name="plain"),)
NO_LIMIT = SafetyAxis(role=None, margin=None)


def rng():
    """A fixed stream."""
    return np.random.default_rng(1)


def closed():
    """An executor that was shut down."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    return pool


def recorded(**about):
    """Three tasks, each fixed; the runs of task i cost 10 to the i."""
    trials = tuple(
        Trial(task=f"t{i}", arm=arm, value=value, order=i, cost=10.0**i)
        for i in range(3)
        for arm, value in (("incumbent", 0), ("candidate", 1))
    )
    return Evidence(trials=trials, **about)


class Recorded(History):
    """Two arms from frames."""

    name, origin, licence, files = "recorded", "a test", "none", ()

    def __init__(self, **arms):
        super().__init__("nowhere")
        self.arms = arms

    def pairs(self):
        """A good pair after a bad one."""
        return tuple(
            Pair(id=f"{a}{b}", dataset=self.name, baseline=a, candidate=b)
            for a, b in (("bad", "good"), ("good", "good"))
        )

    def arm(self, dataset, name):
        """By name."""
        return self.arms[name]


def arm(values):
    """One value a task."""
    return pd.DataFrame({"task": [f"t{i}" for i in range(len(values))], "value": values})


class NoArms:
    """A rule that declares that it reads no arm."""

    name, source, needs = "no_arms", "a test", Needs(arms=())

    def decide(self, evidence):
        """Accepts."""
        return PairedGate().decide(evidence)


@pytest.mark.parametrize(
    "call",
    [
        lambda: tournament(SMALL, ["paired"], rng=rng(), executor=closed()),
        lambda: tournament(SMALL, ["paired"], rng=rng(), executor="threads"),
        lambda: table13(rng=rng(), seeds={"T13": 2}, tasks=5, executor=closed()),
        lambda: judge_history(
            Recorded(bad=arm([0.0] * 20), good=arm([1.0] * 20)), ["paired"], executor=closed()
        ),
    ],
)
def test_an_executor_that_takes_no_work_is_named(call):
    """One that was shut down, and a word in its place."""
    with pytest.raises(InvalidValue, match="executor of a study"):
        call()


@pytest.mark.parametrize("given", [5, None, np.random.RandomState(1)])
@pytest.mark.parametrize(
    "study",
    [
        lambda r: tournament(SMALL, ["paired"], rng=r),
        lambda r: null_arms(["paired"], like=SMALL, rng=r),
        lambda r: order_replicates(SMALL, ["paired"], rng=r),
        lambda r: table13(rng=r, seeds={"T13": 2}),
    ],
)
def test_a_seed_is_no_generator(study, given):
    """An int, nothing, and numpy's old generator."""
    with pytest.raises(InvalidValue, match="rng of a study: allowed a numpy Generator"):
        study(given)


def test_rules_from_a_generator_serve_every_seed():
    """The second seed found none left."""
    found = replicates(SMALL, (name for name in ("paired", "mcnemar")), seeds=iter([1, 2]))
    assert set(found["rule"]) == {"paired", "mcnemar"}


def test_histories_may_come_from_a_generator():
    """Two recordings from an iterator are two candidates."""
    found = tournament((recorded() for _ in range(2)), PairedGate(), rng=rng())
    assert found["candidate"].tolist() == [0, 1]


@pytest.mark.parametrize("stream", [None, 5, [5], recorded(), []])
def test_what_is_no_stream_is_named(stream):
    """Nothing, a number, junk in a list, one recording outside a list, an empty list."""
    with pytest.raises(InvalidValue, match="stream of a tournament"):
        tournament(stream, ["paired"], rng=rng())


@pytest.mark.parametrize(
    ("call", "which"),
    [
        (lambda: tournament(SMALL, 5, rng=rng()), "admission rule"),
        (lambda: judge_history(Recorded(), [dict]), "admission rule"),
        (lambda: tournament(SMALL, {1: "paired", "1": "paired"}, rng=rng()), "rules of a tour"),
        (lambda: tournament(SMALL, ["paired"], rng=rng(), price="x"), "price of a tournament"),
        (lambda: replicates(SMALL, ["paired"], seeds=[-1, 2]), "seeds of replicates"),
        (lambda: replicates(SMALL, ["paired"], seeds=[0.5, 2]), "seeds of replicates"),
        (lambda: order_replicates(SMALL, ["paired"], rng=rng(), orders=1.5), "orders"),
        (lambda: order_replicates([recorded()], ["paired"], rng=rng()), "stream of order"),
        (lambda: summary(pd.DataFrame()), "frame of a summary"),
        (lambda: SMALL.draw(1.5, 0, 1), "seed of a stream"),
        (lambda: SMALL.draw(1, 0, 1.5), "candidates to draw"),
        (lambda: SMALL.replace(families=PLAIN * 2), "CandidateStream"),
    ],
)
def test_wrong_kinds_are_named(call, which):
    """Each mistake is an InvalidValue that says which argument it is about."""
    with pytest.raises(InvalidValue, match=which):
        call()


@pytest.mark.parametrize("alpha", [0, 1, -1, float("nan"), "x", None])
def test_an_interval_needs_a_level_even_where_no_rate_is_known(alpha):
    """A rule that could judge nothing let any alpha through, and a history took all of them."""
    nothing = tournament([recorded()], ["rollout"], rng=rng())
    with pytest.raises(InvalidValue, match="alpha"):
        summary(nothing, alpha=alpha)
    with pytest.raises(InvalidValue, match="alpha"):
        outcome(recorded(), alpha=alpha)


@pytest.mark.parametrize(
    ("base", "noise", "family"),
    [
        (0.9, 0.0, {"fixed": 0.1}),
        (0.8, 0.04, {"fixed": 0.18}),
        (0.7, 0.04, {"broken": 0.68}),
    ],
)
def test_shares_that_just_fit_are_taken(base, noise, family):
    """.1 of the tasks where .1 are failed: 1 − .9 is a little less than .1 in floats."""
    full = CandidateFamily(name="full", **family)
    stream = SMALL.replace(base=base, noise=noise, families=(full,))
    assert len(stream.draw(1, 0, 20).batch) == 20


@pytest.mark.parametrize("rule", [Proxy(), CorpusGuard(), ForwardTrial()])
def test_a_guard_changes_no_bill(rule):
    """Under an axis without a limit the rule reads what it read: 3 live sessions are 3 runs."""
    pair = {"bare": rule, "guarded": Guarded(rule, NO_LIMIT)}
    found = tournament(SMALL, pair, rng=rng()).groupby("rule", observed=True)
    assert found["evaluations"].sum().nunique() == 1
    live = Trial(task="s0", arm="candidate", metric="recurrence", value=0.0, cost=7.0)
    seen = Evidence(trials=(*recorded().trials, live))
    costs = tournament([seen], {"f": Guarded(ForwardTrial(sessions=1), NO_LIMIT)}, rng=rng())
    assert costs["cost"].tolist() == [7.0]


@pytest.mark.parametrize("wrap", [lambda rule: rule, lambda rule: Guarded(rule, NO_LIMIT)])
def test_a_rule_that_reads_the_draws_pays_for_what_was_drawn(wrap):
    """Drawn t2, t2, t0: one look is both runs of t2 (200), two looks the same runs, three 202."""
    drawn = recorded(draws=("t2", "t2", "t0", "t1"))
    rules = {str(size): wrap(MinibatchSum(size=size)) for size in (1, 2, 3)}
    found = tournament([drawn], rules, rng=rng())
    assert found["evaluations"].tolist() == [2, 2, 4]
    assert found["cost"].tolist() == [200, 200, 202]


def test_a_rule_that_reads_no_arm_has_a_bill_of_none():
    """Needs(arms=()) names nothing to pay for."""
    found = tournament([recorded()], NoArms(), rng=rng())
    assert found["evaluations"].tolist() == [0]


def test_a_task_recorded_twice_is_refused():
    """Forty rows of twenty tasks: counted as replicates they would weigh as nothing said."""
    twice = pd.concat([arm([0.0] * 20)] * 2)
    pair = Pair(id="p", dataset="d", baseline="a", candidate="b")
    with pytest.raises(EvidenceError, match=r"recorded_twice.*20 row\(s\) repeat a task, 't0'"):
        evidence_between(pair, arm([0.0] * 20), twice, scorer="x")
    runs = twice.assign(replicate=[0] * 20 + [1] * 20)
    assert len(evidence_between(pair, runs, runs, scorer="x").trials) == 80


@pytest.mark.parametrize("bad", [[None] * 40, [float("inf")] * 40])
def test_one_bad_recording_does_not_stop_the_others(bad):
    """A baseline without values or with infinite ones is refused; the next pair is judged."""
    history = Recorded(bad=arm(bad), good=arm([0.0, 1.0] * 20))
    found = judge_history(history, ["mean_improves"])
    assert found["decision"].tolist() == ["refused", "reject_insufficient"]
    assert found["report_difference"].isna().tolist() == [True, False]
