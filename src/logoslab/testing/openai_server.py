"""A scripted server that speaks the OpenAI chat protocol on the loopback interface."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterable
from typing import Any, Literal, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

Scenario = Literal["ok", "json", "429", "500", "401", "slow", "dropped", "truncated", "no_usage"]


class FakeOpenAI:
    """Plays one scenario a request, in order; the last one repeats.

    Parameters
    ----------
    scenarios : iterable of str
        ``ok``: a text. ``json``: ``data`` as JSON. ``429``, ``500``, ``401``: that status.
        ``slow``: waits ``delay`` seconds first. ``dropped``: the connection breaks in the body.
        ``truncated``: cut off (finish reason ``length``). ``no_usage``: without token counts.
    data : object
        What ``json`` and ``slow`` answer.
    delay : float
        Seconds of ``slow``.

    Attributes
    ----------
    url : str
        Base URL, ending in ``/v1``.
    requests : list of dict
        The body of every request.
    authorizations : list of str
        The ``Authorization`` header of every request.

    Examples
    --------
    >>> with FakeOpenAI(["429", "ok"]) as server:
    ...     server.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self, scenarios: Iterable[Scenario] = ("ok",), *, data: Any = None, delay: float = 5.0
    ) -> None:
        self.scenarios: list[Scenario] = list(scenarios)
        self.data = {"data": "card numbers"} if data is None else data
        self.delay = delay
        self.requests: list[dict[str, Any]] = []
        self.authorizations: list[str] = []
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        routes = [Route("/v1/chat/completions", self._answer, methods=["POST"])]
        config = uvicorn.Config(
            Starlette(routes=routes), log_level="critical", timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        deadline = time.monotonic() + 10
        while not self._server.started and time.monotonic() < deadline:
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._socket.close()

    async def _answer(self, request: Request) -> Response:
        scenario = self.scenarios[min(len(self.requests), len(self.scenarios) - 1)]
        self.requests.append(json.loads(await request.body()))
        self.authorizations.append(request.headers.get("authorization", ""))
        if scenario in {"429", "500", "401"}:
            error = {"message": f"scripted {scenario}", "type": "scripted", "code": scenario}
            return JSONResponse({"error": error}, status_code=int(scenario))
        if scenario == "dropped":
            return StreamingResponse(_broken_body(), headers={"content-length": "1000"})
        if scenario == "slow":
            await asyncio.sleep(self.delay)
        return JSONResponse(self._completion(scenario))

    def _completion(self, scenario: Scenario) -> dict[str, Any]:
        text = "Hello." if scenario in {"ok", "no_usage"} else json.dumps(self.data)
        cut = scenario == "truncated"
        message = {"role": "assistant", "content": text[:9] if cut else text}
        body: dict[str, Any] = {
            "id": "chatcmpl-fake",
            "object": "chat.completion",
            "created": 0,
            "model": self.requests[-1].get("model", "fake"),
            "choices": [
                {"index": 0, "message": message, "finish_reason": "length" if cut else "stop"}
            ],
        }
        if scenario != "no_usage":
            body["usage"] = {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}
        return body


async def _broken_body() -> Any:
    yield b'{"id": "chatcmpl-fake", "choices": ['
    raise ConnectionResetError("scripted drop")
