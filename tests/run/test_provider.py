"""Hosted models, against a scripted server on the loopback interface."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from logoslab.errors import ModelReplyInvalid, ModelUnavailable
from logoslab.pack.model import Message, ModelReply, ModelRequest
from logoslab.run.models.attempts import FailedAttempt, listening
from logoslab.run.models.catalog import resolve_model, try_model
from logoslab.run.models.provider import ProviderModel
from logoslab.testing.openai_server import FakeOpenAI, Scenario
from tests.run.make import ANSWER, MemoryRecorder, Task, make_backend, make_pack

CANARY = "sk-canary-4be1f0c2d9"
HELP = "Check the key, the model's name and the network, then run again; finished tasks are kept."


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)


class Asked:
    """One call: the reply or the error, the failed attempts, the pauses, the server."""

    def __init__(
        self,
        scenarios: Sequence[Scenario],
        schema: dict[str, Any] | None = None,
        name: str = "openai/gpt-4o-mini",
        delay: float = 5.0,
        **options: Any,
    ) -> None:
        self.attempts: list[FailedAttempt] = []
        self.pauses: list[float] = []
        self.reply: ModelReply | None = None
        self.error: Exception | None = None

        async def pause(seconds: float) -> None:
            self.pauses.append(seconds)

        with FakeOpenAI(scenarios, delay=delay) as self.server, listening(self.attempts.append):
            model = ProviderModel(name, api_base=self.server.url, pause=pause, **options)
            try:
                self.reply = asyncio.run(model.complete(request(schema)))
            except (ModelUnavailable, ModelReplyInvalid) as error:
                self.error = error


def request(schema: dict[str, Any] | None = None) -> ModelRequest:
    hi = Message(role="user", content="Hi")
    return ModelRequest(model="m", messages=(hi,), output_schema=schema, seed=7)


def test_an_answer_with_its_cost() -> None:
    """12 tokens in at 0.15 and 3 out at 0.60 USD a million is 3.6e-6 USD."""
    reply = Asked(["ok"]).reply
    assert reply is not None
    assert (reply.text, reply.tokens_in, reply.tokens_out) == ("Hello.", 12, 3)
    assert reply.usd == pytest.approx((12 * 0.15 + 3 * 0.60) / 1e6)


def test_structured_output_is_asked_for_and_checked() -> None:
    """The schema travels as response_format, the seed and temperature as they are."""
    asked = Asked(["json"], ANSWER)
    assert asked.reply is not None
    assert asked.reply.data == {"data": "card numbers"}
    [body] = asked.server.requests
    assert body["response_format"]["json_schema"]["schema"] == ANSWER
    assert (body["temperature"], body["seed"], len(body["messages"])) == (0.0, 7, 1)


def test_a_model_without_structured_output_is_told_in_words() -> None:
    """An unknown model also gets the schema as a system turn; its price is unknown, not 0."""
    asked = Asked(["json"], ANSWER, name="openai/some-local-model")
    assert asked.reply is not None
    assert asked.reply.usd is None
    assert asked.server.requests[0]["messages"][0]["role"] == "system"


def test_an_answer_against_the_schema_is_not_asked_again() -> None:
    """The same request would cost again; the ladder decides what comes next."""
    asked = Asked(["ok"], ANSWER)
    assert isinstance(asked.error, ModelReplyInvalid)
    assert len(asked.server.requests) == 1


def test_a_cut_off_answer_is_invalid() -> None:
    """finish_reason ``length`` is never an answer."""
    assert str(Asked(["truncated"], ANSWER).error) == (
        "reply of openai/gpt-4o-mini: allowed a complete answer (finish reason 'stop'); got finish "
        "reason 'length' after '{\"data\": '. Raise max_tokens, or shorten what the schema asks "
        "for."
    )


def test_no_usage_is_unknown_use() -> None:
    """A server that counts no tokens leaves tokens and cost None."""
    reply = Asked(["no_usage"]).reply
    assert reply is not None
    assert (reply.tokens_in, reply.tokens_out, reply.usd) == (None, None, None)


def test_each_retry_is_told() -> None:
    """429, a dropped connection, then an answer: two failed attempts with growing pauses."""
    asked = Asked(["429", "dropped", "ok"])
    assert asked.reply is not None
    assert [(a.number, a.wait) for a in asked.attempts] == [(1, 0.5), (2, 1.0)]
    assert asked.attempts[0].reason.startswith("RateLimitError 429: ")
    assert asked.pauses == [0.5, 1.0]
    assert len(asked.server.requests) == 3


def test_attempts_are_bounded() -> None:
    """Three server errors and it gives up, with the last reason."""
    asked = Asked(["500"])
    assert len(asked.server.requests) == len(asked.attempts) == 3
    assert str(asked.error) == (
        "model openai/gpt-4o-mini: allowed a complete answer within the time limit; got "
        "InternalServerError 500: litellm.InternalServerError: InternalServerError: "
        f"OpenAIException - scripted 500 (attempt 3 of 3). {HELP}"
    )
    assert asked.attempts[-1].wait is None


def test_a_refused_key_is_not_tried_again() -> None:
    """401 will not get better by waiting."""
    asked = Asked(["401"])
    assert len(asked.server.requests) == 1
    assert "AuthenticationError 401" in str(asked.error)


def test_time_runs_out() -> None:
    """A server that thinks for 5 s gets 0.2 s an attempt."""
    asked = Asked(["slow"], timeout=0.2, attempts=2, delay=2.0)
    assert str(asked.error) == (
        "model openai/gpt-4o-mini: allowed a complete answer within the time limit; got no answer "
        f"within 0.2 s (attempt 2 of 2). {HELP}"
    )


def test_a_missing_key_is_named_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says which variable to set."""
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(resolve_model("anthropic/claude-x").complete(request()))
    assert str(caught.value) == (
        "model anthropic/claude-x: allowed a key in the environment (it is read at call time and "
        "kept nowhere); got no ANTHROPIC_API_KEY in the environment. Set ANTHROPIC_API_KEY, or use "
        "the model 'embedded'."
    )


def test_a_local_server_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a base URL and no key, a word stands in for the key."""
    monkeypatch.delenv("OPENAI_API_KEY")
    asked = Asked(["ok"])
    assert asked.reply is not None
    assert asked.server.authorizations == ["Bearer none"]


def test_a_key_can_be_tested_with_one_word() -> None:
    """The smallest request that proves a key and a server."""
    with FakeOpenAI(["json"], data={"word": "yes"}) as server:
        reply = asyncio.run(try_model("openai/gpt-4o-mini", api_base=server.url))
    assert reply.data == {"word": "yes"}
    assert server.requests[0]["max_tokens"] == 32


def test_the_key_reaches_the_server_and_nothing_else() -> None:
    """A run through retries and a refusal that quotes the key: no event or result holds it."""
    recorder = MemoryRecorder()

    async def no_pause(seconds: float) -> None:
        return None

    with FakeOpenAI(["429", "json", "401"], data={"data": "payroll files"}) as server:
        model = ProviderModel("openai/gpt-4o-mini", api_base=server.url, pause=no_pause)
        backend = make_backend(recorder, model)
        tasks = [Task(id=f"t{i}", inputs={"ticket_id": f"T-{i}"}) for i in range(2)]
        first = asyncio.run(backend.run_task(make_pack(), tasks[0], run="r", arm="incumbent"))
        with pytest.raises(ModelUnavailable) as refused:
            asyncio.run(backend.run_task(make_pack(), tasks[1], run="r", arm="incumbent"))
    assert first.status == "completed"
    assert set(server.authorizations) == {f"Bearer {CANARY}"}
    assert CANARY not in recorder.text + first.model_dump_json() + str(refused.value)
    tried = [o for o in recorder.of("observation") if o.name == model.name and not o.ok]
    assert [o.result["error"] for o in tried] == ["attempt", "attempt", "ModelUnavailable"]


def test_an_error_that_quotes_the_key_is_redacted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some providers repeat the refused key in their message."""
    monkeypatch.setenv("OPENAI_API_KEY", "scripted 401")
    error = Asked(["401"]).error
    assert "scripted 401" not in str(error)
    assert "[redacted]" in str(error)
    assert error is not None
    assert error.__suppress_context__
