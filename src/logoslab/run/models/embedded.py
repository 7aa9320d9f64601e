"""The embedded model: a local GGUF through xllamacpp, one thread, schema-constrained."""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import os
import secrets
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from logoslab.errors import ModelReplyInvalid, ModelUnavailable
from logoslab.pack.model import ModelReply, ModelRequest
from logoslab.run.models.reply import bounded, parse_reply
from logoslab.run.models.weights import SHA256, find_default_weights, sha256_of

CONTEXT = 2048
# With small evaluation batches a prompt's numbers are the same whether or not its beginning was
# cached, so a reply depends on the request alone and not on the order of calls. Larger batches
# broke this in measurements; reuse of the cached beginning is worth a factor of three.
BATCH, MICRO_BATCH = 64, 32


class EmbeddedModel:
    """A local instruct model behind the ``Model`` port.

    Parameters
    ----------
    path : path, optional
        Any GGUF file with a chat template. By default the small model that
        ``logoslab models install`` brings.

    Notes
    -----
    Nothing is loaded before the first call. One server object a file and process, one call at a
    time (more only slows a CPU), in a thread of its own. ``usd`` is 0.0: nobody bills for it.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = Path(path) if path is not None else None
        self.name = f"embedded/{self.path.stem if self.path else 'smollm2-135m'}"

    @property
    def weights(self) -> str:
        """SHA-256 of the weights. The default's is pinned, so it is known without the file.

        Raises
        ------
        ModelUnavailable
            When ``path`` names no file.
        """
        return sha256_of(self._weights_file()) if self.path else SHA256

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply; its data satisfies ``request.output_schema``.

        Raises
        ------
        ModelUnavailable
            When the engine or the weights are missing.
        ModelReplyInvalid
            When the reply is cut off, breaks the schema, or the prompt exceeds the context.
        """
        file = self._weights_file()
        _require_engine()
        start = time.perf_counter()
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(_worker(), _complete, file, _body(request))
        return _reply(answer, request, self.name, time.perf_counter() - start)

    def _weights_file(self) -> Path:
        file = self.path or find_default_weights()
        if file is None or not file.is_file():
            raise ModelUnavailable(
                "embedded model",
                got=f"no file {self.path.name}" if self.path else "no weights",
                allowed="an existing GGUF file" if self.path else "the pinned weights",
                next_step="Correct the path." if self.path else "Run `logoslab models install`.",
            )
        return file


class _Engine(NamedTuple):
    """The loaded servers of this process by file, and the one thread that calls them."""

    servers: dict[Path, Any]
    thread: ThreadPoolExecutor


_engines: dict[int, _Engine] = {}
_lock = threading.Lock()


def _engine() -> _Engine:
    """This process's engine; a forked child gets its own instead of a dead copy."""
    with _lock:
        return _engines.setdefault(
            os.getpid(), _Engine({}, ThreadPoolExecutor(1, thread_name_prefix="embedded-model"))
        )


def _worker() -> ThreadPoolExecutor:
    return _engine().thread


@atexit.register
def _drop_servers() -> None:
    # A server's own threads would keep the process alive. A forked child has none of them.
    if os.getpid() in _engines:
        _engines[os.getpid()].servers.clear()


def _complete(file: Path, body: dict[str, Any]) -> dict[str, Any]:
    """One blocking call; runs only in the engine's thread."""
    servers = _engine().servers
    if file not in servers:
        servers[file] = _load(file)
    answer: dict[str, Any] = servers[file].handle_chat_completions(body)
    return answer


def _load(file: Path) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.n_ctx, params.n_parallel = CONTEXT, 1
    params.n_batch, params.n_ubatch = BATCH, MICRO_BATCH
    params.verbosity, params.ui, params.offline, params.cache_ram_mib = -1, False, True, 0
    # The engine also opens a loopback port. Nobody uses it: the token is never kept.
    params.api_keys = [secrets.token_urlsafe(32)]
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = 1
    try:
        return xllamacpp.Server(params)
    except RuntimeError as cause:
        raise ModelUnavailable(
            f"embedded model {file.name}",
            got=str(cause),
            allowed="a GGUF file that the engine can load",
            next_step="Check the file, or install the default with `logoslab models install`.",
        ) from cause


def _require_engine() -> None:
    if importlib.util.find_spec("xllamacpp") is None:
        raise ModelUnavailable(
            "embedded model",
            got="no engine (package xllamacpp)",
            allowed="the extra `local`",
            next_step="Run `pip install 'logoslab[local]'`, then `logoslab models install`.",
        )


def _body(request: ModelRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "messages": [m.model_dump() for m in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "seed": request.seed,
    }
    if request.output_schema is not None:
        body["json_schema"] = bounded(request.output_schema)
    return body


def _reply(answer: dict[str, Any], request: ModelRequest, name: str, latency: float) -> ModelReply:
    if "error" in answer:
        raise ModelReplyInvalid(
            f"reply of {name}",
            got=str(answer["error"].get("message", answer["error"])),
            allowed=f"a prompt within {CONTEXT} tokens and a schema the engine can constrain",
            next_step="Shorten the text or the skill's examples, or simplify the schema.",
        )
    choice, usage = answer["choices"][0], answer.get("usage", {})
    text = choice["message"]["content"] or ""
    return ModelReply(
        text=text,
        data=parse_reply(text, request.output_schema, choice["finish_reason"], name),
        model=name,
        tokens_in=usage.get("prompt_tokens"),
        tokens_out=usage.get("completion_tokens"),
        usd=0.0,
        latency=latency,
    )
