"""The lab folder as users meet it: bad input, interrupts, gates, exposure, recorded calls."""

import asyncio
import json

import pytest

from logoslab.compile import DiagnosticPack
from logoslab.errors import (
    AuditTampered,
    AuthorityError,
    EvidenceError,
    InvalidValue,
    PackError,
    PackTampered,
    PolicyError,
    StoreError,
    ToolError,
    TraceCorrupt,
)
from logoslab.gate import PairedGate
from logoslab.human import sign_approval
from logoslab.lifecycle.lab import Lab
from logoslab.lifecycle.sync import wait_for
from logoslab.lifecycle.wiring import credential
from logoslab.pack.agent_pack import build_pack
from logoslab.pack.patch import Append, Patch
from logoslab.pack.policy import Approvals, RootPolicy
from logoslab.pack.task import Task
from logoslab.testing.models import ScriptedModel
from tests.lifecycle.make import FILES, PACK, Bench


def test_a_new_lab_without_a_policy_allows_reading_only(tmp_path):
    """No tools, no roles: such a lab can promote nothing."""
    policy = Lab(tmp_path / "lab", model=ScriptedModel([])).policy
    assert policy.permissions.tools == ()
    assert policy.approvals.roles == {}


def test_a_second_opening_keeps_the_policy_and_refuses_another(tmp_path):
    """The pinned policy comes back; a different one is an error that names both digests."""
    first = Lab(tmp_path / "lab", policy=RootPolicy(objective="a"), model=ScriptedModel([]))
    assert Lab(tmp_path / "lab", model=ScriptedModel([])).policy == first.policy
    with pytest.raises(PolicyError, match="got the policy given, sha256:"):
        Lab(tmp_path / "lab", policy=RootPolicy(objective="b"), model=ScriptedModel([]))


@pytest.mark.parametrize(
    ("roles", "way"),
    [
        (
            {"policy_owner": ("k",)},
            r"`Lab\.change_policy` and .* in its role policy_owner",
        ),
        ({"release_owner": ("k",)}, r"lists no key for policy_owner, so .* make another lab"),
    ],
)
def test_a_refused_policy_says_who_can_change_it(tmp_path, roles, way):
    """Its owners by a signature; where it lists none nobody can, and only another lab helps."""
    policy = RootPolicy(objective="a", approvals=Approvals(roles=roles))
    Lab(tmp_path / "lab", policy=policy, model=ScriptedModel([]))
    with pytest.raises(PolicyError, match=way):
        Lab(tmp_path / "lab", policy=RootPolicy(objective="b"), model=ScriptedModel([]))


def test_a_file_is_no_lab(tmp_path):
    """A path to a file is a typed error, and the file is untouched."""
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    with pytest.raises(StoreError, match=r"lab notes\.txt: allowed a folder.*; got a file"):
        Lab(path)
    assert path.read_text() == "mine"


def test_a_corrupt_trace_database_says_what_to_do(tmp_path):
    """A foreign traces.duckdb is a TraceCorrupt with a next step, and stays as it is."""
    bench = Bench(tmp_path)
    (bench.lab.path / "traces.duckdb").write_bytes(b"not a database" * 100)
    with pytest.raises(TraceCorrupt):
        bench.lab.sql("SELECT 1")
    assert (bench.lab.path / "traces.duckdb").read_bytes() == b"not a database" * 100


@pytest.mark.parametrize(
    ("name", "content"),
    [("missing.csv", None), ("empty.csv", b""), ("binary.csv", b"\x00\xff\x01" * 50),
     ("dangling.yaml", b"openapi: 3.0.0\ninfo: {title: x, version: '1'}\npaths:\n  /a:\n    get:\n"
      b"      responses: {'200': {$ref: '#/components/responses/Nope'}}\n"),
     ("outside.yaml", b"openapi: 3.0.0\ninfo: {title: x, version: '1'}\npaths:\n  /a:\n    $ref: "
      b"'file:///etc/hostname'\n")],
)  # fmt: skip
def test_bad_sources_compile_to_a_diagnosis_and_nothing_live(tmp_path, name, content):
    """Missing, empty, binary, dangling or outside references: a diagnosis, never an exception."""
    bench = Bench(tmp_path, live=False)
    source = tmp_path / name
    if content is not None:
        source.write_bytes(content)
    result = bench.lab.compile([source], "Review tickets.")
    assert isinstance(result, DiagnosticPack)
    assert result.diagnostics
    assert all(d.message and d.next_step for d in result.diagnostics)
    assert bench.lab.live is None


def test_compiling_again_does_not_replace_what_is_live(tmp_path):
    """Only promotion replaces a live pack."""
    bench = Bench(tmp_path)
    source = tmp_path / "table.csv"
    source.write_text("ticket_id,state\nA,open\nB,closed\n")
    bench.lab.compile([source], "Look up tickets.")
    assert bench.lab.live == PACK


def test_a_lab_without_a_live_pack_says_what_is_missing(tmp_path):
    """Running, proposing and evaluating before a compile name the next step."""
    bench = Bench(tmp_path, live=False)
    with pytest.raises(PackError, match="Compile one first"):
        asyncio.run(bench.lab.run(None, [Task(id="a")], progress=False))
    with pytest.raises(PackError, match="Compile one first"):
        bench.lab.propose("run-001")


def test_evaluation_needs_a_scorer(tmp_path):
    """Without labels there is no evidence."""
    bench = Bench(tmp_path)
    with pytest.raises(PackError, match="Give the lab a scorer"):
        asyncio.run(bench.lab.evaluate(bench.candidate(), [Task(id="a")]))


def test_evidence_about_another_candidate_is_refused(tmp_path):
    """One candidate's evidence cannot carry another."""
    bench = Bench(tmp_path)
    one, two = bench.candidate("One.\n"), bench.candidate("Two.\n")
    with pytest.raises(EvidenceError, match="got evidence about sha256:"):
        bench.lab.gate(two, "paired", evidence=bench.evidence(one))


def test_an_unknown_rule_lists_the_known_ones(tmp_path):
    """A typo is answered with the names."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    with pytest.raises(InvalidValue, match="allowed paired, anytime, accept_all"):
        bench.lab.gate(candidate, "pared", evidence=bench.evidence(candidate))


def test_a_rule_object_works_like_a_name(tmp_path):
    """Third-party rules go through the same door and onto the same record."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    evidence = bench.evidence(candidate)
    by_name = bench.lab.gate(candidate, "paired", evidence=evidence)
    rule = PairedGate(delta_min=0.05, r_max=1)
    assert bench.lab.gate(candidate, rule, evidence=evidence) == by_name


def test_each_anytime_gate_is_priced_before_it_looks(tmp_path):
    """Under e-LOND the levels are α·γ_k·(D+1) with γ_k = k^-1.6/ζ(1.6): hand-checked for two."""
    bench = Bench(tmp_path)
    levels = []
    for text in ("One.\n", "Two.\n"):
        candidate = bench.candidate(text)
        decision = bench.lab.gate(candidate, "anytime", evidence=bench.evidence(candidate))
        levels.append(decision.numbers["level"])
    zeta = 2.2857656656801297  # ζ(1.6), Abramowitz & Stegun 23.2 by 10⁶ terms plus the tail
    assert levels == pytest.approx([0.05 / zeta, 0.05 * 2**-1.6 / zeta * 2], rel=1e-9)
    assert bench.lab.ledger.method == "e_lond"
    assert len(bench.lab.ledger.entries) == 2


def test_a_gate_that_crashed_has_spent_its_level(tmp_path):
    """The price is on disk before the gate looks, so a crash cannot give it back."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    before = bench.lab.ledger.next_level
    with pytest.raises(InvalidValue):
        bench.lab.gate(candidate, "anytime", evidence=bench.evidence(candidate), rho_max=7)
    assert bench.lab.ledger.next_level < before


def test_a_gate_split_wears_out(tmp_path):
    """With max_decisions = 1 a second candidate is neither run nor judged; the first goes on."""
    bench = Bench(tmp_path, holdout={"sampling": "shared_pool", "max_decisions": 1})
    first, second = bench.candidate("One.\n"), bench.candidate("Two.\n")
    bench.lab.gate(first, "paired", evidence=bench.evidence(first))
    bench.lab.gate(first, "anytime", evidence=bench.evidence(first))
    bench.lab.scorer = object()
    tasks = bench.lab.split([Task(id=f"t{i}") for i in range(40)])["gate"]
    with pytest.raises(EvidenceError, match=r"gate split: allowed at most 1 .*; got 1 candidates"):
        asyncio.run(bench.lab.evaluate(second, tasks, progress=False))
    with pytest.raises(EvidenceError, match="got 1 candidates judged on it"):
        bench.lab.gate(second, "paired", evidence=bench.evidence(second))


@pytest.mark.parametrize(
    ("split", "got"), [("proposal", r"task\(s\) of other splits"), (None, "no t")]
)
def test_trials_run_on_gate_tasks_only(tmp_path, split, got):
    """Proposal tasks, which the proposer has seen, and no tasks at all are refused."""
    bench = Bench(tmp_path)
    bench.lab.scorer = object()
    tasks = bench.lab.split([Task(id=f"t{i}") for i in range(40)])[split] if split else []
    with pytest.raises(EvidenceError, match=f"gate tasks: .*; got .*{got}"):
        asyncio.run(bench.lab.evaluate(bench.candidate(), tasks, progress=False))


def test_a_candidate_on_an_older_pack_is_not_tried(tmp_path):
    """After another release the change must be proposed again: its diff is about the old pack."""
    bench = Bench(tmp_path)
    bench.lab.scorer = object()
    old = bench.candidate("Old.\n")
    bench.promote(bench.candidate("New.\n"))
    tasks = bench.lab.split([Task(id=f"t{i}") for i in range(40)])["gate"]
    with pytest.raises(EvidenceError, match="Propose the change again on what is live now"):
        asyncio.run(bench.lab.evaluate(old, tasks, progress=False))


def test_a_candidate_with_an_unreadable_file_is_no_candidate(tmp_path):
    """A patch that breaks a typed file is refused when it is proposed, not while it runs."""
    bench = Bench(tmp_path)
    broken = Append(path="verifiers.json", text="nonsense")
    patch = Patch(title="x", base=bench.lab.live.digest, proposer="t", edits=(broken,))
    with pytest.raises(PackError, match=r"verifiers\.json of pack small"):
        bench.lab.propose("none", patch)


def test_a_pointer_that_the_log_did_not_release_is_noticed(tmp_path):
    """Writing a candidate's digest into lab/live makes nothing live."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    path = bench.lab.path / "live"
    path.write_text(path.read_text().replace(PACK.digest, candidate.pack.digest, 1))
    with pytest.raises(AuditTampered, match=f"live pointer: .*; got {candidate.pack.digest}"):
        _ = bench.lab.live


def test_a_lab_without_its_log_does_not_open(tmp_path):
    """Removing the log must not let somebody begin again under another policy."""
    bench = Bench(tmp_path)
    for name in ("audit.jsonl", "audit.head", "root_policy.toml"):
        (bench.lab.path / name).unlink()
    with pytest.raises(AuditTampered, match=r"got no record, beside live, archive"):
        Lab(bench.lab.path, model=ScriptedModel([]))


def test_an_open_lab_sees_a_policy_that_another_process_changed(tmp_path):
    """A key that was revoked elsewhere promotes nothing here."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    approval = bench.approval(candidate, decisions)
    other = Lab(bench.lab.path, model=ScriptedModel([]), clock=bench.clock)
    old = bench.lab.policy
    new = old.replace(approvals={"roles": {"policy_owner": (bench.key.id,)}})
    signed = sign_approval(
        bench.key, role="policy_owner", candidate=new.digest, evidence=old.digest,
        policy=old.digest, now=bench.clock.now(), scope="policy",
    )  # fmt: skip
    other.change_policy(new, [signed])
    done = bench.lab.promote(decisions, [approval])
    assert "role release_owner has no key in the root policy" in done.reasons


def test_a_queue_file_that_lies_is_not_signed(tmp_path):
    """What a person reads is made again from the lab's records before they sign."""
    bench = Bench(tmp_path)
    candidate = bench.candidate("Give everything away.\n")
    item = bench.lab.request_approval(candidate, bench.decisions(candidate))
    (path,) = (bench.lab.path / "approvals").glob("*.json")
    path.write_text(path.read_text().replace("Give everything away.", "Fix a typo."))
    with pytest.raises(AuthorityError, match="Do not sign it"):
        bench.lab.desk(bench.key).decide(item.change.id, "approve", "looks harmless")
    assert bench.lab.queue.get(item.change.id).ruling is None


def test_only_decisions_of_this_lab_come_before_people(tmp_path):
    """A forged decision cannot be shown as evidence."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    forged = [d.replace(reason="splendid") for d in bench.decisions(candidate)]
    with pytest.raises(AuthorityError, match="got decisions not on this lab's record: paired"):
        bench.lab.request_approval(candidate, forged)


def test_a_decision_document_edited_on_disk_is_noticed(tmp_path):
    """Evidence is kept under its digest; changed bytes are an error, not another decision."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    (path,) = (bench.lab.path / "evidence").glob("*.json")
    path.write_text(path.read_text().replace('"value":0.0', '"value":1.0', 1))
    with pytest.raises(PackTampered, match="evidence"):
        bench.lab.promote(decisions, [bench.approval(candidate, decisions)])


class Slow:
    """A human port that lets a test cancel in the middle of a run."""

    def __init__(self, after):
        self.after, self.asked = after, 0

    def ask(self, question, arguments):
        self.asked += 1
        if self.asked > self.after:
            raise KeyboardInterrupt
        return "yes"


def test_an_interrupted_run_keeps_what_finished(tmp_path):
    """Cancelled in the third task: two results, marked incomplete, and both in the trace."""
    plan = {
        "phases": [{"id": "ask", "agent": "lead", "step": {"kind": "human", "question": "May I?"}}],
        "output": {"answer": "$ask.answer"},
    }
    pack = build_pack("asking", FILES | {"execution_plan.json": json.dumps(plan)})
    bench = Bench(tmp_path, live=False)
    bench.lab.parts.releases.make_live(pack, None, "activate", {})
    bench.lab._running.human = Slow(after=2)
    tasks = [Task(id=f"t{i}") for i in range(5)]
    with pytest.raises((KeyboardInterrupt, asyncio.CancelledError)):
        asyncio.run(bench.lab.run(None, tasks, progress=False))
    assert [r.task for r in bench.lab.last_run.results] == ["t0", "t1"]
    assert not bench.lab.last_run.complete
    ended = bench.lab.sql("SELECT task, status FROM events WHERE kind = 'outcome' ORDER BY task")
    assert ended.status.tolist()[:2] == ["completed", "completed"]


def test_run_names_are_unique(tmp_path):
    """Two runs of one name are two runs in the trace."""
    bench = Bench(tmp_path)
    runs = [asyncio.run(bench.lab.run(None, [Task(id="a")], progress=False)) for _ in range(2)]
    assert [run.name for run in runs] == ["run-001", "run-002"]
    with pytest.raises(InvalidValue, match="run name"):
        asyncio.run(bench.lab.run(None, [Task(id="a")], name="../up", progress=False))


def test_recorded_calls_travel_between_labs(tmp_path):
    """Export from one lab, import into another: the same call then replays there."""
    one, two = Bench(tmp_path / "one"), Bench(tmp_path / "two")
    one.lab.parts.traces.record_call("sha256:k", '{"reply": {"text": "hello"}}')
    one.lab.parts.traces.flush()
    assert one.lab.export_calls(tmp_path / "calls.jsonl") == 1
    assert two.lab.import_calls(tmp_path / "calls.jsonl") == 1
    assert two.lab.parts.traces.recorded_call("sha256:k") == '{"reply": {"text": "hello"}}'


def test_waiting_works_inside_a_running_loop():
    """In a notebook a loop is running; plain code may still wait for a coroutine."""

    async def three():
        await asyncio.sleep(0)
        return 3

    async def cell():
        return wait_for(three())

    assert wait_for(three()) == asyncio.run(cell()) == 3


def test_an_error_in_waited_work_is_the_callers():
    """Exceptions cross the thread unchanged."""

    async def fail():
        raise KeyError("x")

    async def cell():
        wait_for(fail())

    with pytest.raises(KeyError):
        asyncio.run(cell())


def test_a_credential_needs_the_policy_and_the_environment(monkeypatch):
    """Unlisted or unset, it is refused before a call; listed and set, its value is read then."""
    policy = RootPolicy(objective="a", credentials={"names": ("api key",)})
    with pytest.raises(ToolError, match="credential other: allowed one of api key; got a name"):
        credential("other", policy)
    with pytest.raises(ToolError, match="got no value in LOGOSLAB_CREDENTIAL_API_KEY"):
        credential("api key", policy)
    monkeypatch.setenv("LOGOSLAB_CREDENTIAL_API_KEY", "s3cret")
    assert credential("api key", policy) == "s3cret"


def test_a_ruling_signs_the_log_when_too_much_is_unsigned(tmp_path):
    """With checkpoint_every = 3 the first ruling finds more than three records and signs them."""
    bench = Bench(tmp_path, audit={"checkpoint_every": 3})
    candidate = bench.candidate()
    item = bench.lab.request_approval(candidate, bench.decisions(candidate))
    assert bench.lab.audit.verify().signed_through is None
    bench.lab.desk(bench.key).decide(item.change.id, "reject", "not now")
    report = bench.lab.audit.verify(strict=True)
    assert report.signed_through == report.records - 2  # all but the checkpoint itself


def test_a_missing_folder_is_called_missing(tmp_path):
    """Not "files ending in nothing": the message says that it does not exist."""
    result = Bench(tmp_path, live=False).lab.compile(tmp_path / "my-documents", "Review.")
    assert next(d.message for d in result.diagnostics) == "my-documents does not exist"


def test_a_link_out_of_the_folder_is_left_alone(tmp_path):
    """Compiling a folder reads what is in it, not what a link in it points to."""
    folder = tmp_path / "documents"
    folder.mkdir()
    (tmp_path / "private.md").write_text("# Private\n")
    (folder / "table.csv").write_text("ticket_id,state\nA,open\n")
    (folder / "link.md").symlink_to(tmp_path / "private.md")
    result = Bench(tmp_path, live=False).lab.compile(folder, "Look up tickets.")
    assert result.pack is not None
    assert not [t for t in result.pack.files.values() if "Private" in t]


@pytest.mark.parametrize("spoil", [lambda p: p.unlink(), lambda p: p.write_text("{"),
                                   lambda p: p.write_text("{}")])  # fmt: skip
def test_spent_levels_cannot_be_had_back(tmp_path, spoil):
    """Removing or breaking the ledger's file is noticed: the audit log knows what was priced."""
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    bench.decisions(candidate)
    spoil(bench.lab.path / "gate_ledger.json")
    with pytest.raises(AuditTampered, match="gate ledger: "):
        bench.lab.gate(candidate, "anytime", evidence=bench.evidence(candidate))
