"""Contract checks: one suite a port, for every implementation, third-party ones included.

Use with pytest::

    @pytest.mark.parametrize("check", admission_rule_checks(), ids=name_of)
    @pytest.mark.parametrize("rule", my_rules, ids=lambda r: r.name)
    def test_rule(rule, check): check(rule)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from logoslab.errors import LogoslabError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.event import Event, OutcomeEvent
from logoslab.pack.model import Message, ModelRequest
from logoslab.pack.patch import Patch
from logoslab.pack.policy import RootPolicy
from logoslab.pack.run import Abstention
from logoslab.pack.task import Task
from logoslab.pack.verdict import Outcome, StackVerdict, Verdict
from logoslab.ports import (
    Model,
    Proposer,
    Recorder,
    Router,
    Stage,
    Verifier,
    VerifyContext,
)
from logoslab.testing.rule_checks import (
    a_a_audit,
    admission_rule_checks,
    error_level_checks,
    rule_passes_the_a_a_audit,
)

__all__ = [
    "a_a_audit",
    "admission_rule_checks",
    "error_level_checks",
    "model_checks",
    "name_of",
    "proposer_checks",
    "recorder_checks",
    "refuses",
    "router_checks",
    "rule_passes_the_a_a_audit",
    "verifier_checks",
]


def name_of(check: Callable[..., None]) -> str:
    """The check's name as a test id."""
    return check.__name__


# --- models ------------------------------------------------------------------------------------


def model_checks() -> list[Callable[[Model], None]]:
    """What every :class:`~logoslab.ports.Model` must hold; give one that answers ``{"n": 3}``."""
    return [model_satisfies_the_schema, model_reports_unknowns_as_none]


_NUMBER: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["n"],
    "additionalProperties": False,
}


def _ask(model: Model) -> Any:
    request = ModelRequest(
        model=model.name,
        messages=(Message(role="user", content='Answer {"n": 3}.'),),
        output_schema=_NUMBER,
        max_tokens=32,
    )
    return asyncio.run(model.complete(request))


def model_satisfies_the_schema(model: Model) -> None:
    """With a schema, ``data`` is the parsed text and fits the schema."""
    reply = _ask(model)
    assert json.loads(reply.text) == reply.data
    assert 0 <= reply.data["n"] <= 9


def model_reports_unknowns_as_none(model: Model) -> None:
    """Tokens and money are positive numbers or None; an unknown price is never 0 for free."""
    reply = _ask(model)
    for value in (reply.tokens_in, reply.tokens_out):
        assert value is None or value > 0
    assert reply.usd is None or reply.usd >= 0


# --- recorders ---------------------------------------------------------------------------------


def recorder_checks() -> list[Callable[[Recorder, Callable[[], Sequence[Event]]], None]]:
    """What every :class:`~logoslab.ports.Recorder` must hold; give also a reader of all events."""
    return [recorder_keeps_events_in_order, recorder_flush_is_idempotent]


def _outcome(seq: int) -> OutcomeEvent:
    return OutcomeEvent(run="contract", task="t", seq=seq, at=float(seq), status="completed")


def recorder_keeps_events_in_order(recorder: Recorder, read: Callable[[], Sequence[Event]]) -> None:
    """After a flush every event is there once, in order."""
    events = [_outcome(seq) for seq in range(250)]
    for event in events:
        recorder.record(event)
    recorder.flush()
    assert [e for e in read() if e.run == "contract"] == events


def recorder_flush_is_idempotent(recorder: Recorder, read: Callable[[], Sequence[Event]]) -> None:
    """Flushing with nothing queued returns and adds nothing."""
    recorder.flush()
    before = len(read())
    recorder.flush()
    assert len(read()) == before


# --- verifiers ---------------------------------------------------------------------------------


def verifier_checks() -> list[Callable[[Verifier], None]]:
    """What every :class:`~logoslab.ports.Verifier` must hold."""
    return [verifier_returns_its_own_typed_verdict, verifier_does_not_pass_garbage]


def _context(output: Mapping[str, Any]) -> VerifyContext:
    return VerifyContext(
        task=Task(id="t", inputs={"text": "It holds price lists."}),
        inputs={"text": "It holds price lists."},
        output=output,
        output_schema={
            "type": "object",
            "properties": {"data": {"type": "string"}},
            "required": ["data"],
            "additionalProperties": False,
        },
        execute=lambda: (False, "no such row"),
    )


def verifier_returns_its_own_typed_verdict(verifier: Verifier) -> None:
    """The verdict carries the verifier's name, kind and scope, and a typed outcome."""
    verdict = verifier.check(_context({"data": "price lists"}))
    assert isinstance(verdict, Verdict)
    assert (verdict.verifier, verdict.kind, verdict.scope) == (
        verifier.spec.name,
        verifier.spec.kind,
        verifier.spec.scope,
    )
    assert isinstance(verdict.outcome, Outcome)


def verifier_does_not_pass_garbage(verifier: Verifier) -> None:
    """An output of the wrong shape, with a secret and a failing check, is not passed."""
    garbage = {"api_key": "sk-" + "a1B2" * 10, "data": ["\x00<script>"]}
    assert verifier.check(_context(garbage)).outcome is not Outcome.PASS


# --- routers -----------------------------------------------------------------------------------


class _Fixed:
    """A stage that offers fixed outputs and counts how often it was asked."""

    def __init__(self, name: str, *outputs: dict[str, Any]) -> None:
        self.name, self.outputs, self.asked = name, outputs, 0

    async def answers(self) -> Any:
        for output in self.outputs:
            self.asked += 1
            yield output, 1.0


def router_checks() -> list[Callable[[Callable[[], Router]], None]]:
    """What every :class:`~logoslab.ports.Router` must hold; give a factory of fresh routers."""
    return [
        router_accepts_only_what_was_accepted,
        router_answers_when_every_stage_is_right,
        router_returns_nothing_when_all_are_rejected,
        router_continues_from_a_snapshot,
    ]


def _accept_right(output: Mapping[str, Any]) -> StackVerdict:
    right = output.get("v") == "right"
    return StackVerdict(accepted=right, reason="scripted", verdicts=())


def _answer(router: Router, *stages: Stage) -> Any:
    return asyncio.run(router.answer("dimension", stages, _accept_right))


def router_accepts_only_what_was_accepted(fresh: Callable[[], Router]) -> None:
    """An output that the verifier passed comes back with the stage that gave it, or nothing does.

    A router that never escalates may end at a rejection; it may not return what was rejected.
    """
    routed = _answer(fresh(), _Fixed("cheap", {"v": "wrong"}), _Fixed("strong", {"v": "right"}))
    assert (routed.output, routed.stage) in [({"v": "right"}, "strong"), (None, None)]


def router_answers_when_every_stage_is_right(fresh: Callable[[], Router]) -> None:
    """Wherever it enters, the entry's output is accepted and returned."""
    routed = _answer(fresh(), _Fixed("cheap", {"v": "right"}), _Fixed("strong", {"v": "right"}))
    assert (routed.output, routed.stage) == ({"v": "right"}, routed.entry)


def router_returns_nothing_when_all_are_rejected(fresh: Callable[[], Router]) -> None:
    """Rejection by every stage is no output: a person's turn, never the last guess."""
    routed = _answer(fresh(), _Fixed("cheap", {"v": "wrong"}), _Fixed("strong"))
    assert (routed.output, routed.stage) == (None, None)


def router_continues_from_a_snapshot(fresh: Callable[[], Router]) -> None:
    """A router restored from a JSON snapshot decides as the original does."""
    one, two = fresh(), fresh()
    for _ in range(5):
        _answer(one, _Fixed("cheap", {"v": "wrong"}), _Fixed("strong", {"v": "right"}))
    two.restore(json.loads(json.dumps(one.snapshot())))
    stages = (_Fixed("cheap", {"v": "right"}), _Fixed("strong", {"v": "right"}))
    assert _answer(one, *stages) == _answer(two, *stages)


# --- proposers ---------------------------------------------------------------------------------


def proposer_checks() -> list[Callable[[Proposer, AgentPack, Sequence[Event], RootPolicy], None]]:
    """What every :class:`~logoslab.ports.Proposer` must hold, on a trace it can use or not."""
    return [proposer_returns_a_fitting_patch_or_abstains, proposer_abstains_on_an_empty_trace]


def proposer_returns_a_fitting_patch_or_abstains(
    proposer: Proposer, pack: AgentPack, trace: Sequence[Event], policy: RootPolicy
) -> None:
    """A proposal applies to the pack it was asked about, and asking changed nothing."""
    before = pack.digest
    proposal = proposer.propose(pack, trace, policy)
    assert pack.digest == before
    if isinstance(proposal, Patch):
        assert proposal.apply(pack).digest != before
    else:
        assert isinstance(proposal, Abstention)
        assert proposal.reason


def proposer_abstains_on_an_empty_trace(
    proposer: Proposer, pack: AgentPack, trace: Sequence[Event], policy: RootPolicy
) -> None:
    """No experience, no proposal; one that needs none says so: ``needs_trace = False``."""
    if getattr(proposer, "needs_trace", True):
        assert isinstance(proposer.propose(pack, [], policy), Abstention)


def refuses(call: Callable[[], object], kind: type[LogoslabError]) -> str:
    """Run ``call``, expect a typed refusal, return its message."""
    try:
        call()
    except kind as error:
        return str(error)
    raise AssertionError(f"expected {kind.__name__}")
