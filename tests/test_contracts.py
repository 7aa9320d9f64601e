"""One suite a port, over every implementation there is. Admission rules: tests/gate."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from logoslab.evolve import Feedback, Rewording, SkillRuleFromFailure, ToolSchemaRepair
from logoslab.pack.agent_pack import build_pack
from logoslab.pack.verdict import VerifierSpec
from logoslab.ports import Model, Proposer, Router, Verifier
from logoslab.route import Cascade, StaticRouter
from logoslab.run.models.embedded import EmbeddedModel
from logoslab.run.models.provider import ProviderModel
from logoslab.run.models.recorded import RecordedModel
from logoslab.store import TraceStore
from logoslab.testing.checks import (
    model_checks,
    name_of,
    proposer_checks,
    recorder_checks,
    router_checks,
    verifier_checks,
)
from logoslab.testing.clock import FixedClock
from logoslab.testing.models import ScriptedModel
from logoslab.testing.openai_server import FakeOpenAI
from logoslab.verify import ExactCheck, verifiers_for
from tests.evolve.make import POLICY, ended, observed, pack, refusal

THREE = {"n": 3}


@pytest.fixture
def open_now() -> Iterator[ExitStack]:
    """What is closed when the test ends."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def traces(tmp_path: Path, open_now: ExitStack) -> TraceStore:
    """A trace store of its own."""
    store = TraceStore(tmp_path, FixedClock())
    open_now.callback(store.close)
    return store


def scripted() -> ScriptedModel:
    """Answers three, each time."""
    return ScriptedModel(lambda request: THREE)


def provider(name: str, stack: ExitStack) -> ProviderModel:
    """A hosted model, played by a server on the loopback interface."""
    server = stack.enter_context(FakeOpenAI(["json"], data=THREE))
    return ProviderModel(name, api_base=server.url)


MODELS: dict[str, Callable[[ExitStack, TraceStore], Model]] = {
    "scripted": lambda stack, traces: scripted(),
    "scripted_unknown_cost": lambda stack, traces: ScriptedModel([THREE], tokens=None, usd=None),
    "recorded": lambda stack, traces: RecordedModel(scripted(), traces),
    "provider_with_a_price": lambda stack, traces: provider("openai/gpt-4o-mini", stack),
    "provider_without_one": lambda stack, traces: provider("openai/some-local-model", stack),
}
EMBEDDED = pytest.param(
    lambda stack, traces: EmbeddedModel(), id="embedded", marks=pytest.mark.model
)


@pytest.mark.parametrize("check", model_checks(), ids=name_of)
@pytest.mark.parametrize("make", [*(pytest.param(m, id=n) for n, m in MODELS.items()), EMBEDDED])
def test_model(
    make: Callable[[ExitStack, TraceStore], Model],
    check: Callable[[Model], None],
    open_now: ExitStack,
    traces: TraceStore,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every model answers under the schema and calls unknown what it does not know."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-the-loopback-server")
    check(make(open_now, traces))


@pytest.mark.parametrize("check", model_checks(), ids=name_of)
def test_a_replayed_model(check: Callable[[Model], None], traces: TraceStore) -> None:
    """A replay without its model keeps the contract of a model."""
    check(RecordedModel(scripted(), traces, "record"))
    check(RecordedModel(ScriptedModel([]), traces, "replay"))


@pytest.mark.parametrize("check", recorder_checks(), ids=name_of)
def test_recorder(check: Callable[..., None], traces: TraceStore) -> None:
    """The trace store keeps each event once, in order."""
    check(traces, lambda: tuple(traces.events()))


DECLARED = {
    "schema": "schema",
    "security": "security",
    "execution": "execution",
    "copied_span": "lint",
    "by_kind": "security",
    "nobody_implements": "judge",
}


def spec(name: str, kind: Any) -> VerifierSpec:
    """A declaration with a scope that a careless verifier would drop."""
    return VerifierSpec(name=name, kind=kind, scope="intake", assurance="heuristic")


def verifiers() -> list[Verifier]:
    """Every shipped check as a pack declares it, and the one that an evaluator gives."""
    declared = [spec(name, kind).model_dump() for name, kind in DECLARED.items()]
    shipped = verifiers_for(build_pack("p", {"verifiers.json": json.dumps(declared)}))
    return [*shipped, ExactCheck(spec("exact", "exact_scorer"), {"t": {"data": "price lists"}})]


@pytest.mark.parametrize("check", verifier_checks(), ids=name_of)
@pytest.mark.parametrize("verifier", verifiers(), ids=lambda v: v.spec.name)
def test_verifier(verifier: Verifier, check: Callable[[Verifier], None]) -> None:
    """Each shipped check signs its verdict with its own declaration and passes no garbage."""
    check(verifier)


ROUTERS: dict[str, Callable[[], Router]] = {
    "cascade": Cascade,
    "wary_cascade": lambda: Cascade(t_acc=0.9, c_ucb=0.0),
    "static_strong": lambda: StaticRouter({"dimension": "strong"}),
    "static_cheap": lambda: StaticRouter({"dimension": "cheap"}),
}


@pytest.mark.parametrize("check", router_checks(), ids=name_of)
@pytest.mark.parametrize("fresh", ROUTERS.values(), ids=list(ROUTERS))
def test_router(fresh: Callable[[], Router], check: Callable[[Callable[[], Router]], None]) -> None:
    """Learning or not, a router returns what the verifier passed, or nothing."""
    check(fresh)


FEEDBACK = [
    Feedback(
        task=task,
        text={"description": f"The archive number {n} holds minutes."},
        expected={"data_class": "internal"},
    )
    for n, task in enumerate("ab")
]
PROPOSERS: dict[str, Proposer] = {
    "tool_schema_repair": ToolSchemaRepair(),
    "skill_rule": SkillRuleFromFailure(FEEDBACK),
    "rewording": Rewording(),
    "rewording_of_nothing": Rewording("no_such_skill"),
}
TRACES = {
    "refused_drafts": [observed("a", refusal()), observed("b", refusal())],
    "wrong_answers": [ended(t, 0.5, data_class="confidential") for t in "ab"],
    "all_well": [ended("a", 1.0, data_class="internal")],
}


@pytest.mark.parametrize("check", proposer_checks(), ids=name_of)
@pytest.mark.parametrize("trace", TRACES.values(), ids=list(TRACES))
@pytest.mark.parametrize("proposer", PROPOSERS.values(), ids=list(PROPOSERS))
def test_proposer(proposer: Proposer, trace: list[Any], check: Callable[..., None]) -> None:
    """A patch that fits the pack, or a reason; the pack stays as it was."""
    check(proposer, pack(), trace, POLICY)


def test_the_traces_make_each_proposer_propose() -> None:
    """The suite above sees patches, not abstentions only."""
    proposed = {
        name
        for name, proposer in PROPOSERS.items()
        for trace in TRACES.values()
        if hasattr(proposer.propose(pack(), trace, POLICY), "edits")
    }
    assert proposed == {"tool_schema_repair", "skill_rule", "rewording"}
