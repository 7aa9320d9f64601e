"""The tool gate is the only way a tool body runs."""

import asyncio
from typing import Any, ClassVar

import pytest

from logoslab.errors import EffectRefused, ToolError
from logoslab.pack.tool import ToolSpec
from logoslab.run.effects import Caller, ToolGate
from logoslab.run.trace import Trace
from logoslab.testing.clock import FixedClock
from tests.run.make import MemoryRecorder, Tools, make_policy, make_tools, tool

NO_AUTHORITY = "the tool needs a person's authority and none was given"
WRITE_NOT_ALLOWED = "effect class transactional_write is not in effects.allowed"
FORBIDDEN = "the root policy forbids this tool"
CALLER = Caller("writer", "tool/draft@1", "draft/tool")


class Case:
    """A gate with its recorder and tools, called synchronously."""

    def __init__(self, tools: Tools | None = None, effects: Any = None, **gate: Any) -> None:
        self.recorder, self.tools = MemoryRecorder(), tools or make_tools()
        trace = Trace(self.recorder, FixedClock(step=0.5), run="r", task="t", arm="incumbent")
        self.gate = ToolGate(self.tools, make_policy(**(effects or {})), trace, **gate)

    def call(
        self, name: str, effect: str = "read_only", _spec: Any = None, **arguments: Any
    ) -> Any:
        spec = ToolSpec.model_validate(tool(name, effect, **(_spec or {})))
        return asyncio.run(self.gate.call(spec, arguments, CALLER))

    @property
    def kinds(self) -> list[str]:
        return [e.kind for e in self.recorder.events]


def test_a_read_is_an_action_and_an_observation() -> None:
    """Reading reaches nothing outside, so there is no effect event."""
    case = Case()
    assert case.call("definitions", data="brochures") == {
        "data": "brochures",
        "data_class": "public",
    }
    assert case.kinds == ["action", "observation"]
    action, observation = case.recorder.events
    assert (action.call, action.name, action.component) == (
        "draft/tool/1",
        "definitions",
        "tool/draft@1",
    )
    assert (observation.call, observation.latency) == ("draft/tool/1", 0.5)


def test_a_write_is_an_effect() -> None:
    """An allowed write runs once and is recorded as executed, with what it reached."""
    case = Case()
    case.call("draft", "transactional_write", data_class="public")
    [effect] = case.recorder.of("effect")
    assert (effect.status, effect.target) == ("executed", "POST exceptions/draft")


@pytest.mark.parametrize(
    ("name", "effect", "effects", "reason"),
    [
        ("submit", "external_side_effect", {}, NO_AUTHORITY),
        ("draft", "transactional_write", {"allowed": ["read_only"]}, WRITE_NOT_ALLOWED),
        ("draft", "destructive", {}, "effect class destructive is not in effects.allowed"),
        ("draft", "transactional_write", {"forbidden": ["draft"]}, FORBIDDEN),
        ("other", "read_only", {}, "the tool is not in permissions.tools"),
    ],
)
def test_outside_the_envelope_nothing_runs(
    name: str, effect: str, effects: dict[str, Any], reason: str
) -> None:
    """The refusal is an effect event, an observation and a risk; the body never ran."""
    case = Case(effects=effects)
    with pytest.raises(EffectRefused) as caught:
        case.call(name, effect, x=1)
    target = "table" if effect == "read_only" else f"POST exceptions/{name}"
    assert str(caught.value) == (
        f"tool {name}: allowed calls inside the root policy's envelope; got {target}: {reason}. "
        "Ask a person for authority, or change the plan; nothing was executed."
    )
    assert case.kinds == ["action", "effect", "observation", "risk"]
    assert case.recorder.of("effect")[0].status == "refused"
    assert case.recorder.of("observation")[0].result == {"error": "refused", "reason": reason}
    assert case.gate.refused == [f"{name}:{effect}"]
    assert case.tools.called == []


def test_an_empty_allow_list_allows_nothing_and_a_star_everything() -> None:
    """permissions.tools fails closed; only the literal ``*`` opens it."""
    case = Case()
    permissions = case.gate.policy.permissions
    case.gate.policy = case.gate.policy.replace(permissions=permissions.replace(tools=()))
    with pytest.raises(EffectRefused):
        case.call("tickets", ticket_id="T-1")
    case.gate.policy = case.gate.policy.replace(permissions=permissions.replace(tools=("*",)))
    assert case.call("tickets", ticket_id="T-1")["ticket_id"] == "T-1"


def test_standing_authority_lets_a_live_arm_act() -> None:
    """A person's authority opens one tool, and nothing a policy forbids."""
    case = Case(authorities=frozenset({"submit"}))
    assert case.call("submit", "external_side_effect") == {"submitted": True}
    closed = Case(effects={"forbidden": ["submit"]}, authorities=frozenset({"submit"}))
    with pytest.raises(EffectRefused):
        closed.call("submit", "external_side_effect")


def test_an_arm_that_is_not_live_only_previews() -> None:
    """Even with authority, a candidate's irreversible effect is described and not executed."""
    case = Case(preview=True, authorities=frozenset({"submit"}))
    assert case.call("submit", "external_side_effect", case="T-1") == {
        "preview": {"target": "POST exceptions/submit", "arguments": {"case": "T-1"}}
    }
    assert case.recorder.of("effect")[0].status == "previewed"
    assert case.tools.called == []
    case.call("draft", "transactional_write", x=1)
    assert case.tools.called == [("draft", {"x": 1})]


class Refused422(ToolError):
    """What a service's refusal looks like: a message for people, a body for the trace."""

    status = 422
    body: ClassVar[Any] = {"error": "schema", "missing": ["data_class"]}


def refuse(**_: Any) -> Any:
    raise Refused422("tool draft", got="HTTP 422", allowed="a 2xx answer", next_step="Compare.")


def test_the_error_body_of_a_service_is_in_the_trace() -> None:
    """A 422 says what it expected; those words stand in the observation, and the effect failed."""
    case = Case(make_tools(draft=refuse))
    with pytest.raises(ToolError):
        case.call("draft", "transactional_write", x=1)
    [observation], [effect] = case.recorder.of("observation"), case.recorder.of("effect")
    assert observation.ok is False
    assert observation.result == {
        "error": "schema",
        "message": "tool draft: allowed a 2xx answer; got HTTP 422. Compare.",
        "status": 422,
        "missing": ["data_class"],
    }
    assert effect.status == "failed"


def test_a_repeated_idempotent_write_has_one_effect() -> None:
    """The second identical call in a task gets the first result; other arguments are a new call."""
    case = Case()
    results = [case.call("draft", "transactional_write", {"idempotency": "key"}, x=1) for _ in "ab"]
    assert results[0] == results[1]
    assert len(case.tools.called) == len(case.recorder.of("effect")) == 1
    case.call("draft", "transactional_write", {"idempotency": "key"}, x=2)
    assert len(case.tools.called) == 2


def test_a_write_that_is_not_idempotent_is_not_repeated() -> None:
    """Repeating it would be a second effect, so it is refused."""
    case = Case()
    case.call("draft", "transactional_write", {"idempotency": "none"}, x=1)
    with pytest.raises(EffectRefused, match="already ran in this task and is not idempotent"):
        case.call("draft", "transactional_write", {"idempotency": "none"}, x=1)
    assert len(case.tools.called) == 1


def test_a_secret_in_a_result_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that echoes a credential does not put it into the trace."""
    monkeypatch.setenv("EXCEPTIONS_TOKEN", "canary-77aa31")
    case = Case(make_tools(tickets=lambda ticket_id: {"echo": "canary-77aa31"}))
    case.call("tickets", ticket_id="canary-77aa31")
    assert "canary-77aa31" not in case.recorder.text
    assert "[redacted]" in case.recorder.text
