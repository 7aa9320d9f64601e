"""The native backend runs a plan and writes down exactly what happened."""

import asyncio
import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from logoslab.errors import ModelUnavailable, ToolError
from logoslab.pack.run import TaskResult
from logoslab.run.budget import Budget
from logoslab.testing.models import ScriptedModel
from tests.run.make import (
    PLAN,
    SKILL,
    TASK,
    MemoryRecorder,
    call,
    make_backend,
    make_pack,
    make_tools,
    phase,
)

GOOD, BAD = {"data": "payroll files"}, {"data": "nothing of the kind"}


class Person:
    """Answers from a list; None is no answer."""

    def __init__(self, *answers: str | None) -> None:
        self.answers, self.asked = list(answers), list[tuple[str, Mapping[str, Any]]]()

    def ask(self, question: str, arguments: Mapping[str, Any]) -> str | None:
        self.asked.append((question, arguments))
        return self.answers.pop(0)


def go(
    recorder: MemoryRecorder, pack: Any = None, arm: str = "incumbent", **parts: Any
) -> TaskResult:
    backend = make_backend(recorder, **parts)
    return asyncio.run(backend.run_task(pack or make_pack(), TASK, run="r1", arm=arm))


def changed_plan(**steps: Any) -> dict[str, Any]:
    """The plan with some phases replaced by name."""
    plan = copy.deepcopy(PLAN)
    plan["phases"] = [steps.get(p["id"], p) for p in plan["phases"]]  # type: ignore[index,attr-defined]
    return plan


def test_a_plan_runs_to_its_answer() -> None:
    """Facts flow by reference; a phase whose condition fails is idle and stops nobody."""
    recorder = MemoryRecorder()
    result = go(recorder)
    assert result.status == "completed"
    assert result.output == {
        "data_class": "confidential",
        "draft": {"id": "d-1", "data_class": "confidential"},
        "note": "payroll files on the NAS",
    }
    assert result.stages == {"extract": "greedy"}
    assert "review" not in result.steps
    assert (result.usd, result.forbidden, result.detail) == (0.0, (), "")


def test_the_trace_is_numbered_without_a_gap_and_names_who_acted() -> None:
    """seq is 0…n−1; the kinds stand in the order of what happened; actors carry versions."""
    recorder = MemoryRecorder()
    go(recorder)
    assert [e.seq for e in recorder.events] == list(range(len(recorder.events)))
    assert [e.kind for e in recorder.events] == [
        "task", "plan",
        "action", "observation",                      # read
        "route", "action", "observation", "cost",     # greedy
        "action", "observation", "verdict", "verdict",  # its check, the verdicts
        "action", "observation",                      # classify
        "action", "observation", "effect",            # draft
        "action", "observation",                      # note
        "outcome",
    ]  # fmt: skip
    assert {e.component for e in recorder.events} == {
        None, "tool/tickets@1", "skill/intake@1", "tool/definitions@1", "tool/draft@1"
    }  # fmt: skip
    assert {(e.run, e.task, e.arm) for e in recorder.events} == {("r1", "t1", "incumbent")}
    assert [e.at for e in recorder.events] == sorted(e.at for e in recorder.events)


def test_the_ladder_climbs_on_rejection() -> None:
    """Greedy rejected, then samples until the check passes; each start is a route event."""
    recorder = MemoryRecorder()
    result = go(recorder, model=ScriptedModel([BAD, BAD, "cut off", GOOD]))
    assert result.stages == {"extract": "samples"}
    assert [(r.stage, r.entry, r.mode) for r in recorder.of("route")] == [
        ("greedy", "greedy", "delegate"),
        ("samples", "greedy", "delegate"),
    ]
    outcomes = [v.verdict.value for v in recorder.of("verdict") if v.verifier == "B_output"]
    assert outcomes == ["fail", "fail", "pass"]
    assert [c.tokens_in for c in recorder.of("cost")] == [10, 10, 10]


def test_the_solver_answers_when_models_cannot() -> None:
    """One greedy call and four samples, all rejected, then the table on the whole text."""
    recorder = MemoryRecorder()
    model = ScriptedModel([BAD] * 5)
    result = go(recorder, model=model)
    assert (result.status, result.stages, model.calls) == ("completed", {"extract": "solver"}, 5)
    assert result.steps["extract"] == {"data": "payroll files"}


def test_a_task_nobody_can_answer_goes_to_a_person() -> None:
    """Without an answer the task is escalated; what needs it stops, the rest goes on."""
    recorder = MemoryRecorder()
    result = go(recorder, model=ScriptedModel([BAD] * 5), tools=make_tools("something unknown"))
    assert result.status == "escalated"
    assert result.detail == "extract: nobody could answer; it waits for a person"
    assert result.output == {"data_class": None, "draft": None, "note": "something unknown"}
    assert result.stages == {"extract": None}
    assert [(r.stage, r.mode) for r in recorder.of("route")][-1] == ("human", "escalate")
    assert [h.act for h in recorder.of("human")] == ["question"]


@pytest.mark.parametrize(
    ("words", "status"),
    [("brochures", "completed"), ('{"data": "brochures"}', "completed"), ('{"x": 1}', "escalated")],
)
def test_a_persons_answer_must_satisfy_the_schema(words: str, status: str) -> None:
    """Plain words fill the only field; JSON is taken as it is; anything else is no answer."""
    person = Person(words)
    result = go(
        MemoryRecorder(),
        model=ScriptedModel([BAD] * 5),
        tools=make_tools("something unknown"),
        human=person,
    )
    assert result.status == status
    assert person.asked[0][1]["text"] == "something unknown"
    if status == "completed":
        assert result.stages == {"extract": "human"}
        assert result.steps["classify"] == {"data": "brochures", "data_class": "public"}


def test_an_unanswered_question_is_recorded_and_the_plan_goes_on() -> None:
    """The draft is made although the person for ``review`` has not answered yet."""
    recorder = MemoryRecorder()
    result = go(recorder, model=ScriptedModel([{"data": "launch codes"}]))
    assert result.status == "completed"
    assert result.steps["review"] == {"answer": None}
    assert result.output is not None
    assert result.output["draft"] == {"id": "d-1", "data_class": "secret"}
    [question] = recorder.of("human")
    assert (question.act, question.text) == ("question", "Allowed?")


def test_a_persons_answer_is_recorded() -> None:
    """Question and answer are both events."""
    recorder = MemoryRecorder()
    result = go(recorder, model=ScriptedModel([{"data": "launch codes"}]), human=Person("yes"))
    assert result.steps["review"] == {"answer": "yes"}
    assert [h.act for h in recorder.of("human")] == ["question", "answer"]


def test_a_failing_tool_stops_only_what_needs_it() -> None:
    """classify fails: review and draft are skipped, note still runs, the answer keeps its part."""

    def down(data: str) -> Any:
        raise ToolError("definitions", got="HTTP 503", allowed="an answer", next_step="Wait.")

    plan = changed_plan(extract=phase("extract", call("tickets", ticket_id="x"), "read"))
    plan["phases"][2] = phase("classify", call("definitions", data="x"), "extract")
    recorder = MemoryRecorder()
    result = go(recorder, make_pack(plan), tools=make_tools(definitions=down))
    assert result.status == "failed"
    assert result.detail == (
        "classify: ToolError: definitions: allowed an answer; got HTTP 503. Wait."
    )
    assert result.output == {"data_class": None, "draft": None, "note": "payroll files on the NAS"}
    assert set(result.steps) == {"read", "extract", "note"}
    assert [o.result["message"] for o in recorder.of("observation") if not o.ok] == [
        "definitions: allowed an answer; got HTTP 503. Wait."
    ]


def test_a_refused_effect_is_a_failed_result() -> None:
    """A plan that submits without authority changes nothing outside, and says so."""
    plan = changed_plan(draft=phase("draft", call("submit", case="$inputs.ticket_id")))
    tools = make_tools()
    result = go(MemoryRecorder(), make_pack(plan), tools=tools)
    assert result.status == "failed"
    assert result.forbidden == ("submit:external_side_effect",)
    assert "submit" not in [name for name, _ in tools.called]


def test_other_arms_preview_irreversible_effects() -> None:
    """With authority the incumbent submits; the candidate's submission is only described."""
    plan = changed_plan(draft=phase("draft", call("submit", case="$inputs.ticket_id")))
    live, trial = make_tools(), make_tools()
    authority = {"authorities": frozenset({"submit"})}
    go(MemoryRecorder(), make_pack(plan), tools=live, **authority)
    result = go(MemoryRecorder(), make_pack(plan), arm="candidate", tools=trial, **authority)
    assert ("submit", {"case": "T-1"}) in live.called
    assert "submit" not in [name for name, _ in trial.called]
    assert result.steps["draft"]["preview"]["target"] == "POST exceptions/submit"


def test_skill_rules_amend_a_tools_result_from_the_intake_row() -> None:
    """The rule reads the description found by an earlier phase; only existing fields change."""
    rules = (
        "\n## Rules\n"
        '- when description mentions "NAS", data_class is "secret"\n'
        '- when description mentions "NAS", colour is "red"\n'
    )
    recorder = MemoryRecorder()
    result = go(recorder, make_pack(skill=SKILL + rules))
    assert result.steps["classify"] == {"data": "payroll files", "data_class": "secret"}
    [amended] = [o for o in recorder.of("observation") if o.name == "rules of intake"]
    assert (amended.result["data_class"], amended.component) == ("secret", "skill/intake@1")


def test_rules_amend_a_models_answer_before_it_is_checked() -> None:
    """What the verifier accepts is what the next phase gets."""
    rules = '\n## Rules\n- when description mentions "NAS", data is "brochures"\n'
    tools = make_tools()
    result = go(MemoryRecorder(), make_pack(skill=SKILL + rules), tools=tools)
    assert result.steps["extract"] == {"data": "brochures"}
    assert ("definitions", {"data": "brochures"}) in tools.called


def test_a_check_with_effects_is_not_executed() -> None:
    """No output may cause an effect before it is accepted."""
    plan = changed_plan()
    plan["phases"][1]["step"]["check"] = call("draft", data="$output.data")
    tools = make_tools()
    recorder = MemoryRecorder()
    result = go(recorder, make_pack(plan), model=ScriptedModel([GOOD] * 5), tools=tools)
    assert result.status == "escalated"
    assert [name for name, _ in tools.called if name == "draft"] == []
    details = {v.detail for v in recorder.of("verdict") if v.verifier == "execution"}
    assert details == {"not executed: check tool draft is not read_only"}


def test_the_genome_shapes_the_ladder() -> None:
    """route.stages, samples and temperature are axes that may evolve."""
    genome = {"route": {"stages": ["samples"], "samples": 2, "temperature": 0.3, "strategy": "x"}}
    pack = make_pack().with_files({"genome.json": json.dumps(genome)})
    model = ScriptedModel([BAD, BAD])
    assert go(MemoryRecorder(), pack, model=model).status == "escalated"
    assert [r.temperature for r in model.requests] == [0.3, 0.3]


def test_a_genome_out_of_its_domain_is_a_failed_result() -> None:
    """A candidate cannot ask for a million samples."""
    pack = make_pack().with_files({"genome.json": '{"route": {"samples": 1000000}}'})
    assert go(MemoryRecorder(), pack).detail == (
        "extract: PackError: genome.json route: allowed stages among greedy, samples, solver; "
        "samples 1 to 32; temperature 0 to 2; got samples: Input should be less than or equal to "
        "32. Correct the field, or leave it out for its default."
    )


@pytest.mark.parametrize(
    ("budget", "name", "calls"),
    [
        (Budget(calls=2), "calls", 2),
        (Budget(tokens=40), "tokens", 3),
        (Budget(usd=0.5), "usd", 2),
        (Budget(seconds=0.1), "seconds", 0),
    ],
)
def test_a_used_up_budget_is_a_failed_result(budget: Budget, name: str, calls: int) -> None:
    """No call begins beyond the limit: 15 tokens and 0.25 USD a call."""
    model = ScriptedModel([BAD] * 5, usd=0.25)
    recorder = MemoryRecorder()
    result = go(recorder, model=model, budget=budget)
    assert result.status == "failed"
    assert f"BudgetExceeded: budget.{name}: " in result.detail
    assert model.calls == calls
    assert "medium" in {r.level for r in recorder.of("risk")}


def test_an_unknown_cost_stays_unknown() -> None:
    """One call without a price makes the task's cost None, not 0."""
    assert go(MemoryRecorder(), model=ScriptedModel([GOOD], usd=None)).usd is None


def test_a_missing_model_ends_the_run() -> None:
    """It is neither passed over for the solver nor repeated task after task; the trace says why."""
    absent = ModelUnavailable("m", got="no weights", allowed="weights", next_step="Install them.")
    recorder = MemoryRecorder()
    with pytest.raises(ModelUnavailable, match=r"got no weights\. Install them"):
        go(recorder, model=ScriptedModel([absent]))
    assert recorder.of("observation")[1].result["error"] == "ModelUnavailable"
    (outcome,) = recorder.of("outcome")
    assert (outcome.status, outcome.detail) == ("interrupted", str(absent))


@pytest.mark.parametrize(
    ("files", "detail"),
    [
        ({"execution_plan.json": "{"}, "execution_plan.json of pack review: "),
        ({"skills/intake/SKILL.md": None}, "extract: PackError: skill in execution_plan.json: "),
        ({"tools/definitions.json": None}, "classify: PackError: tool in execution_plan.json: "),
    ],
)
def test_a_broken_pack_is_a_failed_result(files: dict[str, Any], detail: str) -> None:
    """A candidate that breaks its own files fails its tasks; it does not stop the run."""
    pack = make_pack().with_files(files)
    model = ScriptedModel([GOOD] * 5)
    if "tools/definitions.json" in files:
        plan = changed_plan()
        del plan["phases"][1]["step"]["check"]
        pack = pack.with_files({"execution_plan.json": json.dumps(plan)})
    result = go(MemoryRecorder(), pack, model=model)
    assert result.status == "failed"
    assert result.detail.startswith(detail)


def test_a_dangling_output_field_fails_but_keeps_the_others() -> None:
    """The answer's other fields are still there for a scorer."""
    plan = {**changed_plan(), "output": {"note": "$note.description", "x": "$note.nowhere"}}
    result = go(MemoryRecorder(), make_pack(plan))
    assert (result.status, result.output) == (
        "failed",
        {"note": "payroll files on the NAS", "x": None},
    )
    assert result.detail.startswith("output.x: reference in execution_plan.json: ")


@pytest.mark.parametrize("interrupt", [asyncio.CancelledError, KeyboardInterrupt])
def test_an_interrupt_is_recorded_flushed_and_raised(interrupt: type[BaseException]) -> None:
    """The last event says ``interrupted``; everything before it is durable."""

    def stop(data: str) -> Any:
        raise interrupt

    recorder = MemoryRecorder()
    with pytest.raises(interrupt):
        go(recorder, tools=make_tools(definitions=stop))
    assert recorder.events[-1].kind == "outcome"
    assert recorder.of("outcome")[0].status == "interrupted"
    assert recorder.flushed == len(recorder.events)


def test_no_secret_is_recorded_or_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    """A canary that a tool and a model repeat is in no event and no result."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "canary-0b7e91")
    recorder = MemoryRecorder()

    def leak(data: str) -> Any:
        raise ToolError("definitions", got="canary-0b7e91", allowed="a row", next_step="Look.")

    result = go(
        recorder,
        model=ScriptedModel([{"data": "canary-0b7e91"}] * 5),
        tools=make_tools("the key is canary-0b7e91", definitions=leak),
    )
    assert result.status == "escalated"
    assert "canary-0b7e91" not in recorder.text + result.model_dump_json()


def test_a_detail_that_quotes_a_secret_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason of a failure is shown to people and kept in files."""
    monkeypatch.setenv("EXCEPTIONS_TOKEN", "canary-31c2d7")

    def leak(**_: Any) -> Any:
        raise ToolError("draft", got="canary-31c2d7", allowed="a row", next_step="Look.")

    result = go(MemoryRecorder(), tools=make_tools(draft=leak))
    assert result.detail == "draft: ToolError: draft: allowed a row; got [redacted]. Look."


@pytest.mark.parametrize(
    "dependent",
    [
        phase("late", call("tickets", ticket_id="x"), "broken"),
        phase("late", call("tickets", ticket_id="$broken.description")),
        phase(
            "late",
            call("tickets", ticket_id="x"),
            when={"ref": "$broken.x", "values": ["y"], "negate": True},
        ),
    ],
    ids=["by needs", "by argument", "by condition"],
)
def test_each_way_of_depending_stops_a_phase(dependent: dict[str, Any]) -> None:
    """A phase whose source failed does not run, however it says that it depends on it."""
    plan = {"phases": [phase("broken", call("submit")), dependent], "output": {}}
    recorder, tools = MemoryRecorder(), make_tools()
    result = go(recorder, make_pack(plan), tools=tools)
    assert (result.steps, tools.called) == ({}, [])
    assert not [r.reason for r in recorder.of("risk") if r.reason.startswith("late")]
    assert result.detail.startswith("broken: EffectRefused: ")


@pytest.mark.parametrize(("negate", "runs"), [(False, True), (True, False)])
def test_a_condition_can_be_negated(negate: bool, runs: bool) -> None:
    """``when`` names the values for which a phase runs, or with negate does not."""
    when = {"ref": "$inputs.ticket_id", "values": ["T-1"], "negate": negate}
    plan = {"phases": [phase("a", call("tickets", ticket_id="x"), when=when)], "output": {}}
    result = go(MemoryRecorder(), make_pack(plan))
    assert ("a" in result.steps) is runs
    assert result.status == "completed"


def test_time_ends_a_plan_without_models() -> None:
    """Seconds are checked before each phase: the clock moves .5 s at every reading."""
    plan = {
        "phases": [phase(i, call("tickets", ticket_id=i)) for i in ("a", "b", "c")],
        "output": {},
    }
    result = go(MemoryRecorder(), make_pack(plan), budget=Budget(seconds=4))
    assert set(result.steps) == {"a"}
    assert result.detail.startswith("b: BudgetExceeded: budget.seconds: ")


def test_a_call_without_a_usable_reply_is_counted() -> None:
    """Two cut-off answers use up two calls, and what they cost is unknown."""
    model = ScriptedModel(["cut off"] * 5)
    result = go(MemoryRecorder(), model=model, budget=Budget(calls=2))
    assert (model.calls, result.usd) == (2, None)
    assert "BudgetExceeded: budget.calls" in result.detail
