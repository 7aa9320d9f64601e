"""The firewall of a lab: budgets counted from the log, splits retired, proposers kept outside."""

import asyncio
import multiprocessing

import pytest

from logoslab.errors import EvidenceError
from logoslab.gate import SafetyAxis, baseline_audit, reaudit
from logoslab.human import sign_approval
from logoslab.lifecycle.adoptions import adoptions
from logoslab.lifecycle.evaluation import ArmResults, evidence_of
from logoslab.lifecycle.lab import Lab
from logoslab.lifecycle.measuring import scorer_named, verifiers_named
from logoslab.pack.decision import ProposalView
from logoslab.pack.event import AuditEvent
from logoslab.pack.evidence import evidence_from_scores
from logoslab.pack.run import Abstention, TaskResult
from logoslab.pack.task import Task
from logoslab.testing.clock import FixedClock
from logoslab.testing.models import ScriptedModel
from logoslab.verify import ExactScorer, Part, fields_equal
from tests.lifecycle.make import Bench


class Listener:
    """A proposer that keeps what it was given."""

    name = "listener"

    def propose(self, pack, trace, policy):
        self.trace = trace
        return Abstention(proposer=self.name, reason="only listening")


def heard(bench):
    """The verdicts that a proposer is given now."""
    listener = Listener()
    bench.lab.propose("none", listener)
    assert all(isinstance(e, AuditEvent) and e.act == "gate" for e in listener.trace)
    return [ProposalView.model_validate(e.detail) for e in listener.trace]


def judged(bench, text, rule="paired", **scores):
    """One candidate, judged once."""
    candidate = bench.candidate(text)
    return bench.lab.gate(candidate, rule, evidence=bench.evidence(candidate, **scores))


def acts(bench, act):
    return [r for r in bench.lab.parts.audit.records() if r.act == act]


def test_a_proposer_hears_verdicts_and_aggregates_only(tmp_path):
    """Past gate decisions reach a proposer as their safe view, and each release is on record."""
    bench = Bench(tmp_path)
    decision = judged(bench, "One.\n", gained=120, lost=1)
    assert heard(bench) == [decision.proposal_view()]
    assert heard(bench)[0].aggregates == {
        "mean_difference": pytest.approx(119 / 121),
        "regressions": 1,
        "fixed": 120,
        "missing": 0,
    }
    assert [r.detail["decision"] for r in acts(bench, "release")] == [decision.digest]


def test_releases_run_out_and_verdicts_go_on(tmp_path):
    """With max_releases = 1 the second decision leaves without numbers, and says why."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_releases": 1})
    first, second = judged(bench, "One.\n"), judged(bench, "Two.\n")
    views = heard(bench)
    assert views[0] == first.proposal_view()
    assert (views[1].conclusion, views[1].aggregates) == (second.conclusion, {})
    assert views[1].withheld.startswith("the root policy allows 1 release(s) of aggregates")
    assert heard(bench) == views
    assert len(acts(bench, "release")) == 1
    assert bench.lab.gating.firewall.budget.released == {bench.lab.gating.firewall.split: 1}


def test_a_worn_split_is_retired_on_record(tmp_path):
    """The first refusal retires the split; after it nothing on it is judged, not even again."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_decisions": 1})
    first = bench.candidate("One.\n")
    bench.lab.gate(first, "paired", evidence=bench.evidence(first))
    with pytest.raises(EvidenceError, match="it is retired") as caught:
        judged(bench, "Two.\n")
    assert caught.value.next_step == (
        "The gate split has served all 1 decisions that the root policy allows; draw fresh gate "
        "tasks under a new holdout.salt."
    )
    with pytest.raises(EvidenceError, match="it is retired"):
        bench.lab.gate(first, "anytime", evidence=bench.evidence(first))
    (record,) = acts(bench, "retire")
    assert record.subject == bench.lab.gating.firewall.split
    assert len(record.detail["tasks"]) == 120


def test_accepted_regressions_wear_a_split_out(tmp_path):
    """max_loss = 1: two candidates that lose one task each; the third candidate is refused."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_loss": 1})
    for text in ("One.\n", "Two.\n"):
        assert judged(bench, text, lost=1).accepted
    with pytest.raises(EvidenceError, match=r"2 regressions accepted; it is retired"):
        judged(bench, "Three.\n")


def test_two_rules_lose_the_same_tasks_once(tmp_path):
    """Both gates accept one regression of one candidate: the account holds one."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_loss": 1})
    candidate = bench.candidate()
    bench.decisions(candidate, bench.evidence(candidate, lost=1))
    firewall = bench.lab.gating.firewall
    assert firewall.budget.lost == {firewall.split: 1}
    assert firewall.budget.used == {firewall.split: 1}


def test_a_new_salt_needs_new_tasks(tmp_path):
    """After a signed change of the salt the old gate tasks stay refused; others are judged."""
    holdout = {"sampling": "shared_pool", "max_decisions": 1}
    bench = Bench(tmp_path, holdout=holdout)
    judged(bench, "One.\n")
    with pytest.raises(EvidenceError):
        judged(bench, "Two.\n")
    old = bench.lab.policy
    new = old.replace(holdout=old.holdout.replace(salt="fresh"))
    signed = sign_approval(
        bench.key, role="policy_owner", scope="policy", now=bench.clock.now(),
        candidate=new.digest, evidence=old.digest, policy=old.digest,
    )  # fmt: skip
    bench.lab.change_policy(new, [signed])
    with pytest.raises(EvidenceError, match=r"got 120 task\(s\) that served a retired split"):
        judged(bench, "Three.\n")
    candidate = bench.candidate("Three.\n")
    base = {f"n{i}": 0.0 for i in range(90)}
    fresh = evidence_from_scores(base, dict.fromkeys(base, 1.0), sampling="shared_pool")
    fresh = fresh.replace(incumbent=candidate.patch.base, candidate=candidate.pack.digest)
    assert bench.lab.gate(candidate, "paired", evidence=fresh).accepted


def test_evidence_and_decisions_name_what_measured(tmp_path):
    """Scorer and verifiers travel with digests: trial, decision and audit record say the same."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    evidence = bench.evidence(candidate).replace(verifiers=("schema sha256:v",))
    decision = bench.lab.gate(candidate, evidence=evidence)
    assert (decision.scorer, decision.verifiers) == ("by hand", ("schema sha256:v",))
    (record,) = acts(bench, "gate")
    assert (record.detail["scorer"], record.detail["verifiers"]) == ("by hand", ["schema sha256:v"])


def test_a_scorers_digest_is_its_labels_and_parts():
    """Another label, weight or part is another scorer; the same ones are the same."""
    same = [ExactScorer({"a": {"x": 1}}), ExactScorer({"a": {"x": 1}})]
    other = [
        ExactScorer({"a": {"x": 2}}),
        ExactScorer({"a": {"x": 1}}, [Part(1.0, fields_equal("x"))]),
        ExactScorer({"a": {"x": 1}}, [Part(0.5, fields_equal("x")), Part(0.5, fields_equal("x"))]),
    ]
    assert scorer_named(same[0]) == scorer_named(same[1])
    assert scorer_named(same[0]).startswith("exact sha256:")
    assert len({scorer_named(s) for s in [same[0], *other]}) == 4


def test_trials_carry_the_scorers_digest():
    """Evidence made from runs names the scorer with its digest."""
    scorer = ExactScorer({"a": {"x": 1}})
    result = TaskResult(task="a", arm="incumbent", status="completed", output={"x": 1})
    arms = [ArmResults(arm, [result]) for arm in ("incumbent", "candidate")]
    made = evidence_of([Task(id="a")], arms, scorer, incumbent="o", candidate="n",
                       sampling="iid", verifiers=("v",))  # fmt: skip
    assert (made.scorer, made.verifiers) == (scorer_named(scorer), ("v",))


def test_verifiers_of_two_packs_are_named_once(tmp_path):
    """A pack without verifiers names none."""
    bench = Bench(tmp_path)
    assert verifiers_named(bench.lab.live, bench.candidate().pack) == ()


def test_a_guarded_gate_promotes_like_the_rule_it_guards(tmp_path):
    """A safety axis passed by name guards both gates, is priced, reproduced and promoted."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    axis = SafetyAxis(role=None, margin=0.0)
    evidence = bench.evidence(candidate)
    decisions = [
        bench.lab.gate(candidate, rule, evidence=evidence, safety=axis)
        for rule in ("paired", "anytime")
    ]
    assert all(d.params["safety"]["role"] is None for d in decisions)
    done = bench.lab.promote(decisions, [bench.approval(candidate, decisions)])
    assert done.promoted, done.reasons


def test_a_vetoed_anytime_gate_is_no_discovery(tmp_path):
    """Wealth does not buy a veto: the ledger settles the gate as no evidence."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    evidence = bench.evidence(candidate).replace(effects=("mail:send",))
    decision = bench.lab.gate(candidate, "anytime", evidence=evidence, safety=SafetyAxis(role=None))
    assert decision.reason.startswith("safety veto: ")
    assert [row.accepted for row in bench.lab.ledger.rows()] == [False]


def test_adoptions_are_listed_for_an_audit_on_fresh_tasks(tmp_path):
    """Two promotions, oldest first, with the tasks they saw; a refusal is no adoption."""
    bench = Bench(tmp_path)
    bench.promote(bench.candidate("One.\n"))
    second = bench.candidate("Two.\n")
    bench.promote(second)
    refused = bench.candidate("Three.\n")
    bench.lab.promote(bench.decisions(refused), [])
    found = adoptions(bench.lab.parts)
    assert len(found) == 2
    assert found[1].decision.candidate == second.pack.digest
    assert len(found[0].tasks) == 120
    fresh = evidence_from_scores({"r1": 0.0, "r2": 0.0}, {"r1": 1.0, "r2": 0.0})
    pairs = [
        (a, fresh.replace(incumbent=a.decision.incumbent, candidate=a.decision.candidate,
                          scorer="by hand"))
        for a in found
    ]  # fmt: skip
    assert reaudit(pairs).false_share == 0
    assert not baseline_audit(pairs[0][1]).harmful


def test_evaluate_records_which_split_it_used(tmp_path):
    """A trial counts on the split that was drawn; here it is refused before it runs."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_decisions": 1})
    judged(bench, "One.\n")
    bench.lab.scorer = object()
    tasks = bench.lab.split([Task(id=f"t{i}") for i in range(40)])["gate"]
    with pytest.raises(EvidenceError, match="it is retired"):
        asyncio.run(bench.lab.evaluate(bench.candidate("Two.\n"), tasks, progress=False))


def hurry(folder, policy, candidate, ready, queue):
    """Another process that asks for a use of the split."""
    lab = Lab(folder, policy=policy, model=ScriptedModel([]), clock=FixedClock())
    ready.wait()
    try:
        lab.gating.firewall.require(candidate, ["t"])
    except EvidenceError:
        queue.put("refused")
    else:
        queue.put("allowed")


def test_the_last_use_of_a_split_goes_to_one_process(tmp_path):
    """Two uses are left and four processes ask at once, before any trial is on record."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_decisions": 2})
    context = multiprocessing.get_context("spawn")
    queue, ready = context.Queue(), context.Barrier(4)
    folder, policy = tmp_path / "lab", bench.lab.policy
    work = [
        context.Process(target=hurry, args=(folder, policy, f"sha256:{n}", ready, queue))
        for n in range(4)
    ]
    for process in work:
        process.start()
    said = sorted(queue.get(timeout=60) for _ in work)
    for process in work:
        process.join()
    assert said == ["allowed", "allowed", "refused", "refused"]
    assert len({r.subject for r in acts(bench, "use")}) == 2


def test_a_use_is_counted_once_however_it_is_asked(tmp_path):
    """Asked twice and then judged by two rules, one candidate is one use."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_decisions": 1})
    candidate = bench.candidate()
    firewall = bench.lab.gating.firewall
    for _ in range(2):
        firewall.require(candidate.pack.digest, ["t"])
    bench.decisions(candidate, bench.evidence(candidate))
    assert firewall.budget.used == {firewall.split: 1}
    assert len(acts(bench, "use")) == 1
