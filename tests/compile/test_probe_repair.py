"""Probes really call the tools; repair is bounded and deletes nothing."""

from __future__ import annotations

import json

import pytest

from logoslab.compile import PackTools, StubService, probe, read_document, repair_loop
from logoslab.compile.probe import ProbeReport, ProbeResult
from logoslab.errors import ToolError
from tests.compile.make import DEMO, demo, demo_pack, run


class Recording:
    """Passes every call on, and remembers the tools."""

    def __init__(self, inner):
        self.inner, self.called = inner, []

    async def call(self, spec, arguments):
        self.called.append(spec.name)
        return await self.inner.call(spec, arguments)


class Fixed:
    """A runner for which every call succeeds, or every call fails."""

    def __init__(self, error=None):
        self.error = error

    async def call(self, _spec, _arguments):
        if self.error:
            raise self.error


def _edit(path, change):
    value = json.loads(demo_pack().files[path])
    change(value)
    return demo_pack().with_files({path: json.dumps(value)})


def _probe(pack, runner=None):
    return run(probe(pack, runner or Fixed(), stubbed=True))


def _failed(report):
    return {r.id: r.detail for r in report.failures}


def test_demo_battery_counts():
    """5 documents + the plan + 3 levels for 10 tools + 2 for the person = 38, all passed."""
    report = demo().report
    assert (report.passed, len(report.results), report.tools, report.p) == (38, 38, 11, 1.0)
    assert demo_pack().manifest.certification == {"probes": 38, "passed": 38, "p": 1.0}


def test_invoke_really_calls_every_tool_but_the_person():
    """L2 goes through the runner, writes included, and what the stub saw is the draft."""
    pack = demo_pack()
    with StubService(read_document(DEMO / "exceptions_api_v1.yaml")) as service:
        runner = Recording(PackTools(pack, {"exceptions": service.url}))
        report = run(probe(pack, runner, stubbed=True))
        assert report.p == 1.0
        assert sorted(runner.called) == sorted(set(pack.tools) - {"ask_person"})
        assert [call.operation for call in service.calls] == [
            "draft_exception", "get_exception", "submit_exception",
        ]  # fmt: skip


def test_without_a_stub_nothing_with_an_effect_is_called():
    """Both writes fail their probe unreached; reads are still called."""
    runner = Recording(Fixed())
    report = run(probe(demo_pack(), runner, stubbed=False))
    why = "it has an effect and there is no stub to try it on"
    assert _failed(report) == {"L2:draft_exception": why, "L2:submit_exception": why}
    assert not {"draft_exception", "submit_exception"} & set(runner.called)


def test_levels_are_cumulative():
    """A tool that does not parse fails L0, and L1 and L2 are not reached."""
    report = _probe(demo_pack().with_files({"tools/tickets_lookup.json": "{"}))
    failed = _failed(report)
    assert failed.pop("L0:tickets_lookup").startswith("Expecting property name")
    assert failed.pop("L1:tickets_lookup") == failed.pop("L2:tickets_lookup") == "not reached"
    assert "no tool tickets_lookup" in failed["L1:plan"]


def test_tool_that_cannot_be_instantiated_is_not_called():
    """L1 fails, so L2 is not reached and the runner never sees the tool."""
    runner = Recording(Fixed())
    broken = _edit(
        "tools/tickets_lookup.json", lambda t: t["input_schema"]["required"].append("zz")
    )
    assert _failed(_probe(broken, runner))["L2:tickets_lookup"] == "not reached"
    assert "tickets_lookup" not in runner.called


@pytest.mark.parametrize(
    ("path", "change", "probe_id", "detail"),
    [
        ("tools/tickets_lookup.json", lambda t: t.update(name="other"), "L0:tickets_lookup",
         "the tool is called other"),
        ("tools/tickets_lookup.json", lambda t: t.update(effect="kind"), "L0:tickets_lookup",
         "effect: Input should be 'read_only', 'transactional_write', 'destructive' or "
         "'external_side_effect'"),
        ("tools/tickets_lookup.json", lambda t: t["input_schema"]["required"].append("zz"),
         "L1:tickets_lookup", "zz is required but has no schema"),
        ("tools/tickets_lookup.json", lambda t: t["binding"].update(source="sources/no.csv"),
         "L1:tickets_lookup", "sources/no.csv is not in the pack"),
        ("tools/definitions_lookup.json", lambda t: t["binding"].update(columns=["data", "x"]),
         "L1:definitions_lookup", "sources/definitions.csv has columns data, data_class"),
        ("tools/sources_sql.json", lambda t: t["binding"]["tables"].update(x="sources/x.csv"),
         "L1:sources_sql", "sources/x.csv is not in the pack"),
        ("tools/draft_exception.json", lambda t: t["binding"].update(path_arguments=[]),
         "L1:draft_exception", "path and path_arguments disagree about ticket_id"),
        ("tools/draft_exception.json", lambda t: t["binding"]["body"].update(risk="rating"),
         "L1:draft_exception", "argument rating has no schema"),
        ("tools/get_exception.json", lambda t: t.update(output_schema={"type": 7}),
         "L1:get_exception", "output_schema is not JSON Schema: 7 is not valid under any of the "
         "given schemas"),
        ("execution_plan.json", lambda p: p["phases"][0].update(agent="nobody"), "L1:plan",
         "intake_read: there is no agent nobody"),
        ("execution_plan.json", lambda p: p["phases"][2]["step"].update(skill="none"), "L1:plan",
         "classify: there is no skill none"),
        ("execution_plan.json", lambda p: p["phases"][3]["step"]["arguments"].pop("exposure"),
         "L1:plan", "inherent: risk_matrix_inherent_lookup needs exposure"),
        ("execution_plan.json", lambda p: p["phases"][3]["step"]["arguments"].update(z="1"),
         "L1:plan", "inherent: risk_matrix_inherent_lookup has no argument z"),
        ("execution_plan.json", lambda p: p["phases"][3].update(needs=["classify"]), "L1:plan",
         None),
        ("execution_plan.json", lambda p: p["phases"][2]["step"]["arguments"].update(
            data="$draft.x"), "L1:plan", "classify: refers to draft, which is not finished "
         "before it"),
        ("execution_plan.json", lambda p: p["phases"][2]["step"]["arguments"].update(
            data=["$draft.x"]), "L1:plan", "classify: refers to draft, which is not finished "
         "before it"),
        ("execution_plan.json", lambda p: p["phases"][2]["step"]["arguments"].update(
            data="$Big money"), "L1:plan", "classify: refers to $Big money, which is not finished "
         "before it"),
        ("genome.json", lambda g: g.update(extra={}), "L0:genome.json", None),
        ("verifiers.json", lambda v: v.append({"name": "x"}), "L0:verifiers.json", None),
        ("probes.json", lambda p: p.clear(), "L2:tickets_lookup", "no L2 probe for tickets_lookup"),
    ],
)  # fmt: skip
def test_each_flaw_fails_its_probe(path, change, probe_id, detail):
    """One edit, one named failure with the reason."""
    failed = _failed(_probe(_edit(path, change)))
    if path == "execution_plan.json" and detail is None:
        assert probe_id not in failed  # intake_read is still an ancestor, through classify
        return
    assert probe_id in failed
    assert detail is None or failed[probe_id] == detail


def test_failing_call_is_reported_in_the_tools_own_words():
    """The ToolError's message is the detail."""
    error = ToolError("tool x", got="y", allowed="z", next_step="Do.")
    failed = _failed(_probe(demo_pack(), Fixed(error)))
    assert failed["L2:tickets_lookup"] == "tool x: allowed z; got y. Do."
    assert len(failed) == 10


def test_no_tool_makes_p_undefined():
    """p = passed/|C| has no value for an empty C; it is None, not 0 and not 1."""
    report = ProbeReport(results=(ProbeResult(id="L0:x", path="x", passed=True),), tools=0)
    assert report.p is None


def _repaired(pack, rounds=3, defaults=None):
    async def battery(candidate):
        return await probe(candidate, Fixed(), stubbed=True)

    return run(repair_loop(pack, battery, defaults or {}, rounds))


@pytest.mark.parametrize(
    ("path", "change"),
    [
        ("tools/tickets_lookup.json", lambda t: t["input_schema"].update(required=[])),
        ("tools/tickets_lookup.json", lambda t: t["input_schema"]["required"].append("zz")),
        ("tools/definitions_lookup.json", lambda t: t["binding"].update(columns=["data", "x"])),
        ("tools/draft_exception.json", lambda t: t["binding"]["body"].update(risk="rating")),
        ("execution_plan.json", lambda p: p["phases"][3]["step"]["arguments"].pop("exposure")),
        ("execution_plan.json", lambda p: p["phases"][7]["step"]["arguments"].pop("ticket_id")),
        ("execution_plan.json", lambda p: p["phases"][3]["step"]["arguments"].update(z="1")),
        ("execution_plan.json", lambda p: p["phases"][0].update(agent="nobody")),
    ],
)
def test_structural_flaws_are_repaired_without_defaults(path, change):
    """Schema and binding, plan and tools are made to agree; every capability is kept."""
    broken = _edit(path, change)
    repaired = _repaired(broken)
    known = {"L1:plan"} if "zz" in broken.files[path] else set()  # a new argument nobody gives
    assert set(_failed(repaired.report)) == known
    assert set(repaired.pack.tools) == set(demo_pack().tools)
    assert repaired.notes[0] == f"round 1: repaired {path}" or "nobody" in repaired.notes[0]


def test_plan_argument_comes_back_from_the_phase_that_gives_it():
    """The dropped reference is found again by name, and needs are kept in step."""

    def cut(plan):
        plan["phases"][3]["step"]["arguments"].pop("exposure")
        plan["phases"][3]["needs"] = ["classify"]

    broken = _edit("execution_plan.json", cut)
    phase = _repaired(broken).pack.plan.phases[3]
    assert phase.step.arguments["exposure"] == "$intake_read.exposure"
    assert "intake_read" in phase.needs


@pytest.mark.parametrize("path", ["genome.json", "execution_plan.json", "probes.json",
                                  "tools/sources_sql.json", "skills/intake/SKILL.md"])  # fmt: skip
def test_documents_that_do_not_parse_go_back_to_the_draft(path):
    """With the deterministic draft at hand, garbage in any file is replaced by it."""
    broken = demo_pack().with_files({path: "garbage"})
    repaired = _repaired(broken, defaults=demo_pack().files)
    assert repaired.report.p == 1.0
    assert repaired.pack.files[path] == demo_pack().files[path]


def test_unrepairable_tool_is_kept_and_keeps_failing():
    """Nothing is deleted to make a battery pass."""
    broken = demo_pack().with_files({"tools/get_exception.json": "garbage"})
    repaired = _repaired(broken)
    assert "tools/get_exception.json" in repaired.pack.files
    assert "L0:get_exception" in _failed(repaired.report)


def test_rounds_are_bounded_and_the_best_pack_is_kept():
    """A battery that gets worse with each repair ends with the first pack, after N + 1 runs."""
    scores = iter([5, 4, 3, 2])
    runs = []

    async def battery(pack):
        runs.append(pack)
        passed = next(scores)
        results = [
            ProbeResult(id=f"L1:{n}", path=f"tools/{n}.json", passed=n < passed) for n in range(6)
        ]
        # Something to repair in each round: the plan's agent file is removed again and again.
        results.append(
            ProbeResult(id="L0:x", path=f"file{len(runs)}", passed=False, detail="broken")
        )
        return ProbeReport(results=tuple(results), tools=6)

    defaults = {f"file{n}": "text" for n in range(1, 9)}
    repaired = run(repair_loop(demo_pack(), battery, defaults, 3))
    assert len(runs) == 4
    assert (repaired.pack, repaired.report.passed, repaired.rounds) == (demo_pack(), 5, 0)
    assert repaired.notes == ()


def test_zero_rounds_only_probes():
    """N = 0 repairs nothing."""
    broken = demo_pack().with_files({"genome.json": "garbage"})
    repaired = _repaired(broken, rounds=0, defaults=demo_pack().files)
    assert (repaired.pack, repaired.rounds) == (broken, 0)
