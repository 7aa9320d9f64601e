"""A failure is put down to one component, or to none."""

from __future__ import annotations

import pytest

from logoslab.evolve import Feedback, attribute
from logoslab.evolve.rollouts import schema_refusal
from logoslab.pack.event import ObservationEvent
from tests.evolve.make import SKILL, ended, observed, pack, refusal

PACK = pack()
TOOL, INTAKE = "tool/draft_exception@1", "skill/intake@1"


def right(task: str, **expected: str) -> Feedback:
    """The right answer of a task."""
    return Feedback(task=task, text={"description": "…"}, expected=expected)


def test_a_structured_refusal_names_the_tool() -> None:
    """Two drafts met the 422: one attribution of both tasks to that tool version."""
    trace = [observed(t, refusal(), component=TOOL) for t in ("a", "b")]
    (found,) = attribute(PACK, trace)
    assert (found.primary, found.path) == (TOOL, "tools/draft_exception.json")
    assert (found.tasks, found.secondary) == (("a", "b"), ())
    assert found.reason == "the service refused the body that this tool sends"


def test_a_wrong_accepted_answer_names_the_skill_of_the_first_wrong_field() -> None:
    """A wrong class makes the risk wrong too; the class comes first in the plan."""
    trace = [ended("a", 0.5, data_class="public", residual_risk="low")]
    (found,) = attribute(PACK, trace, [right("a", data_class="internal", residual_risk="high")])
    assert (found.primary, found.path) == (INTAKE, "skills/intake/SKILL.md")
    assert found.reason == "accepted answers with a wrong data_class"


def test_a_wrong_field_without_a_skill_has_no_owner() -> None:
    """The class is right and the table's risk is wrong: no skill decided that."""
    trace = [ended("a", 0.5, data_class="internal", residual_risk="low")]
    (found,) = attribute(PACK, trace, [right("a", data_class="internal", residual_risk="high")])
    assert found.primary is None
    assert found.reason == "no skill decides residual_risk, so a wrong one has no owner"


def test_two_unrelated_causes_abstain_and_are_on_record() -> None:
    """The draft was refused and the class is wrong: neither is edited for this task."""
    trace = [observed("a", refusal()), ended("a", 0.0, "failed", data_class="public")]
    (found,) = attribute(PACK, trace, [right("a", data_class="internal")])
    assert found.primary is None
    assert found.reason == "several unrelated causes"
    assert found.secondary == (TOOL, INTAKE)


def test_the_refusal_alone_explains_a_low_score() -> None:
    """With the right class, half the score is lost to the draft: only the tool is named."""
    trace = [observed("a", refusal()), ended("a", 0.5, "failed", data_class="internal")]
    (found,) = attribute(PACK, trace, [right("a", data_class="internal")])
    assert found.primary == TOOL


def test_a_score_alone_names_the_only_skill_or_nobody() -> None:
    """Zero counts as low; with two skills a score cannot tell them apart."""
    for low in (0.0, 0.5):
        assert attribute(PACK, [ended("a", low, data_class="x")])[0].primary == INTAKE
    plan = PACK.files["execution_plan.json"].replace(
        '"tool": "definitions_lookup", "skill": "intake"',
        '"tool": "definitions_lookup", "skill": "other"',
    )
    two = pack(plan=plan)
    (found,) = attribute(two, [ended("a", 0.0, data_class="x")])
    assert found.reason == "a low score and 2 skills that could have caused it"


def test_an_unstructured_failure_is_left_alone() -> None:
    """A time-out says nothing about a component."""
    trace = [observed("a", {"error": "ToolError", "message": "timeout"}), ended("a", 0.0, "failed")]
    (found,) = attribute(PACK, trace)
    assert found.primary is None
    assert found.reason == (
        "failed without a structured refusal (draft_exception answered with an error)"
    )


def test_what_did_not_fail_is_not_attributed() -> None:
    """Full score, an open question to a person, a lookup that missed before another stage."""
    trace = [
        ended("a", 1.0, data_class="internal"),
        ended("b", None, "escalated"),
        observed("c", {"error": "no row"}, "definitions_lookup"),
        ended("c", 1.0, data_class="internal"),
    ]
    assert attribute(PACK, trace) == ()
    assert attribute(PACK, trace, [right("b", data_class="internal")]) == ()


def test_other_arms_teach_nothing() -> None:
    """A candidate's failure is not the incumbent's."""
    event = observed("a", refusal()).replace(arm="candidate")
    assert attribute(PACK, [event]) == ()


def test_a_trace_of_an_older_version_abstains() -> None:
    """The tool was changed since: its old failures are no evidence."""
    trace = [observed("a", refusal(), component="tool/draft_exception@7")]
    (found,) = attribute(PACK, trace)
    assert found.primary is None
    assert found.reason == "the trace is of tool/draft_exception@7, not tool/draft_exception@1"


def test_primaries_come_first_and_larger_first() -> None:
    """Two tool tasks, one skill task, one abstention."""
    trace = [observed(t, refusal()) for t in ("a", "b")]
    trace += [ended("c", 0.0, data_class="public"), ended("d", 0.0, "failed")]
    feedback = [right("c", data_class="internal")]
    assert [a.primary for a in attribute(PACK, trace, feedback)] == [TOOL, INTAKE, None]


@pytest.mark.parametrize(
    "result",
    [
        None,
        "422",
        {"error": "schema"},
        {"error": "schema", "missing": "x"},
        {"error": "schema", "missing": ["x"], "status": 500},
        {"error": "auth", "missing": ["x"]},
    ],
)
def test_only_the_structure_counts(result: object) -> None:
    """A body that merely mentions a schema is no structured refusal."""
    event = observed("a", result)
    assert isinstance(event, ObservationEvent)
    assert schema_refusal(event) is None
    assert "Copy the words" in SKILL
