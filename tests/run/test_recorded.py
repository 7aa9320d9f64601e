"""Recorded calls replay without their model."""

import asyncio
import json

import pytest

from logoslab.errors import ModelReplyInvalid, ModelUnavailable, ReplayMiss
from logoslab.pack.model import Message, ModelReply, ModelRequest
from logoslab.run.models.embedded import EmbeddedModel
from logoslab.run.models.recorded import Mode, RecordedModel
from logoslab.run.models.weights import SHA256
from logoslab.testing.models import Scripted, ScriptedModel

SCHEMA = {"type": "object", "properties": {"data": {"type": "string"}}, "required": ["data"]}


class Calls(dict[str, str]):
    """A call store in memory."""

    def record_call(self, key: str, reply_json: str) -> None:
        self[key] = reply_json

    def recorded_call(self, key: str) -> str | None:
        return self.get(key)


def request(text: str = "hi") -> ModelRequest:
    return ModelRequest(
        model="scripted", messages=(Message(role="user", content=text),), output_schema=SCHEMA
    )


def ask(model: RecordedModel, text: str = "hi") -> ModelReply:
    return asyncio.run(model.complete(request(text)))


def recorded(calls: Calls, mode: Mode, *replies: Scripted) -> RecordedModel:
    return RecordedModel(ScriptedModel(replies), calls, mode)


def test_a_second_run_needs_no_model() -> None:
    """What mode ``record`` kept, mode ``replay`` gives again, marked, with its recorded numbers."""
    calls = Calls()
    first = ask(recorded(calls, "record", {"data": "a"}))
    again = ask(recorded(calls, "replay"))
    assert not first.replayed
    assert again == first.replace(replayed=True)


def test_record_asks_once() -> None:
    """The same request is answered from the store, another one is asked."""
    model = recorded(Calls(), "record", {"data": "a"}, {"data": "b"})
    answers = [ask(model).data, ask(model).data, ask(model, "other").data]
    assert answers == [{"data": "a"}, {"data": "a"}, {"data": "b"}]
    assert model.inner.calls == 2  # type: ignore[attr-defined]


def test_refresh_and_off_always_ask() -> None:
    """``refresh`` asks and keeps the new reply; ``off`` asks and keeps nothing."""
    calls = Calls()
    ask(recorded(calls, "record", {"data": "old"}))
    assert ask(recorded(calls, "refresh", {"data": "new"})).data == {"data": "new"}
    assert ask(recorded(calls, "replay")).data == {"data": "new"}
    kept = dict(calls)
    assert ask(recorded(calls, "off", {"data": "other"})).data == {"data": "other"}
    assert calls == kept


def test_a_miss_says_what_to_do() -> None:
    """Replay never asks the model: an unrecorded request is an error."""
    model = recorded(Calls(), "replay", {"data": "a"})
    with pytest.raises(ReplayMiss) as caught:
        ask(model)
    assert str(caught.value) == (
        f"replay of scripted call {model.key(request())[:19]}: allowed a call that was recorded in "
        "this lab; got nothing under this key. Run once with the model present (mode 'record'), "
        "or use `refresh=True`."
    )
    assert model.inner.calls == 0  # type: ignore[attr-defined]


@pytest.mark.parametrize("broken", ["{", "{}", '{"reply": {"text": 1}}', '{"invalid": {"x": 1}}'])
def test_an_unreadable_record_is_a_miss(broken: str) -> None:
    """A damaged record is never taken for a reply."""
    model = recorded(Calls(), "replay")
    model.store.record_call(model.key(request()), broken)
    with pytest.raises(ReplayMiss, match="an unreadable record"):
        ask(model)


def test_an_invalid_reply_replays_as_the_same_error() -> None:
    """A replayed run takes the path of the recorded one, also through cut-off answers."""
    calls = Calls()
    model = RecordedModel(ScriptedModel([{"data": "a"}], finish_reason="length"), calls)
    with pytest.raises(ModelReplyInvalid) as first:
        ask(model)
    with pytest.raises(ModelReplyInvalid) as again:
        ask(recorded(calls, "replay"))
    assert str(again.value) == str(first.value)


def test_an_absent_model_is_not_recorded() -> None:
    """That a model was unavailable says nothing about the request."""
    calls = Calls()
    absent = ModelUnavailable("m", got="nothing", allowed="a model", next_step="Install it.")
    with pytest.raises(ModelUnavailable):
        ask(recorded(calls, "record", absent))
    assert calls == {}


def test_other_weights_are_another_key() -> None:
    """The key holds the model's id and the digest of its weights."""
    one, two = ScriptedModel([]), ScriptedModel([])
    one.weights, two.weights = "a", "b"  # type: ignore[attr-defined]
    keys = {RecordedModel(m, Calls()).key(request()) for m in (one, two, ScriptedModel([]))}
    assert len(keys) == 3


def test_the_default_embedded_model_replays_without_its_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its digest is pinned, so neither the engine nor the file is needed to replay."""
    monkeypatch.setattr("logoslab.run.models.embedded.find_default_weights", lambda: None)
    model = RecordedModel(EmbeddedModel(), Calls(), "replay")
    reply = ModelReply(text='{"data": "a"}', data={"data": "a"}, model=model.name)
    record = json.dumps({"reply": reply.model_dump(mode="json")})
    model.store.record_call(model.key(request()), record)
    assert model.weights == SHA256
    assert ask(model).data == {"data": "a"}


def test_a_secret_in_a_reply_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The store holds the reply without the values of key-like environment variables."""
    monkeypatch.setenv("SOME_API_KEY", "canary-5d1f0c")
    calls = Calls()
    ask(recorded(calls, "record", {"data": "it is canary-5d1f0c"}))
    assert "canary-5d1f0c" not in "".join(calls.values())
    assert ask(recorded(calls, "replay")).data == {"data": "it is [redacted]"}
