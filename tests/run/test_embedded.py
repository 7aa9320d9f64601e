"""The embedded model: what is missing is said, what it answers is checked."""

import asyncio
import hashlib
import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from logoslab.errors import ModelReplyInvalid, ModelUnavailable
from logoslab.pack.model import Message, ModelReply, ModelRequest
from logoslab.pack.skill import parse_skill
from logoslab.run.models import embedded
from logoslab.run.models.catalog import try_model
from logoslab.run.models.embedded import EmbeddedModel
from logoslab.run.models.weights import SHA256, find_default_weights, sha256_of
from logoslab.run.stages import skill_messages
from tests.run.make import ANSWER, SKILL

TEXTS = ("Acme keeps payroll files on the NAS", "brochures at Globex", "Initech sends card numbers")


def request(text: str = TEXTS[0], **changes: Any) -> ModelRequest:
    base = ModelRequest(
        model="embedded/smollm2-135m",
        messages=skill_messages(parse_skill(SKILL), text),
        output_schema=ANSWER,
    )
    return base.replace(**changes)


def ask(text: str = TEXTS[0], **changes: Any) -> ModelReply:
    return asyncio.run(EmbeddedModel().complete(request(text, **changes)))


def test_without_weights_it_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """No GGUF anywhere: the command that brings it."""
    monkeypatch.setattr(embedded, "find_default_weights", lambda: None)
    with pytest.raises(ModelUnavailable) as caught:
        ask()
    assert str(caught.value) == (
        "embedded model: allowed the pinned weights; got no weights. Run `logoslab models install`."
    )


def test_without_the_engine_it_says_which_extra(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The weights alone cannot run."""
    file = tmp_path / "x.gguf"
    file.write_bytes(b"GGUF")
    monkeypatch.setattr(embedded, "find_default_weights", lambda: file)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    monkeypatch.setattr(embedded.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ModelUnavailable) as caught:
        ask()
    assert str(caught.value) == (
        "embedded model: allowed the extra `local`; got no engine (package xllamacpp). Run "
        "`pip install 'logoslab[local]'`, then `logoslab models install`."
    )


def test_a_path_to_nothing_is_named(tmp_path: Path) -> None:
    """A user's own GGUF must exist; its folder is not part of the message."""
    model = EmbeddedModel(tmp_path / "mine.gguf")
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(model.complete(request()))
    assert str(caught.value) == (
        "embedded model: allowed an existing GGUF file; got no file mine.gguf. Correct the path."
    )
    assert model.name == "embedded/mine"


def test_a_users_weights_are_known_by_their_bytes(tmp_path: Path) -> None:
    """The digest follows the file, also when it is replaced under the same name."""
    file = tmp_path / "mine.gguf"
    file.write_bytes(b"GGUF one")
    assert EmbeddedModel(file).weights == hashlib.sha256(b"GGUF one").hexdigest()
    file.write_bytes(b"GGUF two!")
    assert EmbeddedModel(file).weights == hashlib.sha256(b"GGUF two!").hexdigest()


class Engine:
    """What the engine answers, scripted; remembers from which threads and how many at once."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers, self.bodies, self.threads = list(answers), list[Any](), set[str]()

    def handle_chat_completions(self, body: dict[str, Any]) -> dict[str, Any]:
        self.bodies.append(body)
        self.threads.add(threading.current_thread().name)
        return self.answers[min(len(self.bodies), len(self.answers)) - 1]


def answer(text: str, finish: str = "stop") -> dict[str, Any]:
    choice = {"finish_reason": finish, "message": {"content": text}}
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 4}}


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Put a scripted engine in the place of the real one; counts loads."""

    def script(*answers: dict[str, Any]) -> Engine:
        file, engine = tmp_path / "x.gguf", Engine(*answers)
        file.write_bytes(b"GGUF")
        monkeypatch.setattr(embedded, "find_default_weights", lambda: file)
        monkeypatch.setattr(embedded, "_require_engine", lambda: None)
        monkeypatch.setattr(embedded, "_engines", {})
        loads = iter([engine])
        monkeypatch.setattr(embedded, "_load", lambda path: next(loads))
        return engine

    return script


def test_the_request_is_bounded_and_the_reply_counted(scripted: Any) -> None:
    """Every open string gets an end before decoding; tokens are counted, nobody bills."""
    engine = scripted(answer('{"data": "x"}'))
    reply = ask()
    assert engine.bodies[0]["json_schema"]["properties"]["data"]["maxLength"] == 120
    assert (reply.data, reply.tokens_in, reply.tokens_out, reply.usd) == ({"data": "x"}, 9, 4, 0.0)


def test_one_server_one_thread_for_many_calls(scripted: Any) -> None:
    """Ten calls at once are served one after the other, off the event loop, by one server."""
    engine = scripted(answer('{"data": "x"}'))

    async def many() -> None:
        await asyncio.gather(*(EmbeddedModel().complete(request()) for _ in range(10)))

    asyncio.run(many())
    assert len(engine.bodies) == 10
    assert engine.threads == {"embedded-model_0"}


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (answer('{"data": "x', "length"), "finish reason 'length'"),
        (answer('{"data": 3}'), "data: 3 is not of type 'string'"),
        ({"error": {"message": "request (5031 tokens) exceeds the context"}}, "request (5031"),
    ],
)
def test_an_unusable_answer_is_an_error(scripted: Any, said: dict[str, Any], problem: str) -> None:
    """Cut off, against the schema, or refused by the engine: a typed error each time."""
    scripted(said)
    with pytest.raises(ModelReplyInvalid) as caught:
        ask()
    assert problem in str(caught.value)


@pytest.mark.model
def test_the_pinned_weights_are_the_installed_ones() -> None:
    """The digest in the source is the digest of the file."""
    file = find_default_weights()
    assert file is not None
    assert sha256_of(file) == SHA256


@pytest.mark.model
def test_the_real_model_answers_under_the_schema() -> None:
    """Every reply is valid, complete and counted; the easy phrase is copied exactly."""
    replies = [ask(text) for text in TEXTS]
    assert all(isinstance(r.data["data"], str) and len(r.data["data"]) <= 120 for r in replies)
    assert replies[0].data == {"data": "payroll files"}
    assert all(r.tokens_in and r.tokens_out and r.usd == 0.0 for r in replies)


@pytest.mark.model
def test_a_reply_depends_on_the_request_alone() -> None:
    """Same replies whatever was asked before: cached prompts do not change what is said."""
    seeds = {"temperature": 0.7, "seed": 11}
    forward = [ask(t, **more).text for t in TEXTS for more in ({}, seeds)]
    backward = [ask(t, **more).text for t in reversed(TEXTS) for more in (seeds, {})]
    assert forward == backward[::-1]


@pytest.mark.model
def test_a_real_answer_that_does_not_fit_is_refused() -> None:
    """Four tokens are too few for the answer, and 5,000 words too many for the prompt."""
    with pytest.raises(ModelReplyInvalid, match="finish reason 'length'"):
        ask(max_tokens=4)
    with pytest.raises(ModelReplyInvalid, match="allowed a prompt within 2048 tokens"):
        ask("word " * 5000)


@pytest.mark.model
def test_the_real_model_passes_the_one_word_test() -> None:
    """``models test`` works for the embedded model as for a key."""
    assert asyncio.run(try_model("embedded")).data["word"] in {"yes", "no"}


@pytest.mark.model
def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    """The engine's refusal becomes a typed error."""
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF but nothing else")
    with pytest.raises(ModelUnavailable) as caught:
        asyncio.run(EmbeddedModel(file).complete(request()))
    assert caught.value.which == "embedded model broken.gguf"
    assert caught.value.allowed == "a GGUF file that the engine can load"


@pytest.mark.model
def test_the_port_is_closed_to_strangers_and_the_process_ends() -> None:
    """The engine's own HTTP server wants a token nobody has, and does not keep Python alive."""
    code = """
import asyncio, json, os, urllib.request, urllib.error
from logoslab.pack.model import Message, ModelRequest
from logoslab.run.models import embedded
ask = ModelRequest(model="m", messages=(Message(role="user", content="Hi"),), max_tokens=200)
try:
    asyncio.run(embedded.EmbeddedModel().complete(ask))
except embedded.ModelReplyInvalid:
    pass
[server] = embedded._engines[os.getpid()].servers.values()
try:
    urllib.request.urlopen(server.listening_address + "/v1/models")
except urllib.error.HTTPError as error:
    print(json.dumps([server.listening_address.split(":")[1], error.code]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert json.loads(done.stdout) == ["//127.0.0.1", 401]


def test_a_message_is_a_value() -> None:
    """Requests with equal content have equal digests: that is the key of a recorded call."""
    assert request().digest == request().digest != request(TEXTS[1]).digest
    assert Message(role="user", content="x") == Message(role="user", content="x")
