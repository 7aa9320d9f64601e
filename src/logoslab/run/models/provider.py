"""Any provider through litellm: keys checked first, own bounded retries, unknown cost is None.

Keys are read from the environment by litellm at call time. They are never held here, and every
error text passes through the redaction before it leaves.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import time
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from logoslab.errors import ModelReplyInvalid, ModelUnavailable
from logoslab.pack.model import ModelReply, ModelRequest
from logoslab.run.models.attempts import FailedAttempt, tell
from logoslab.run.models.reply import parse_reply
from logoslab.run.redact import redact, secrets_in_environment

RETRYABLE_STATUS = frozenset({408, 409, 425, 429})
MAX_WAIT = 20.0


class ProviderModel:
    """A hosted model, or a local server that speaks the OpenAI protocol.

    Parameters
    ----------
    name : str
        ``provider/model``, as litellm spells it.
    api_base : str, optional
        Base URL of an OpenAI-compatible server. Such a server may need no key.
    timeout : float, default 60
        Seconds for one attempt, enforced here whatever the provider does.
    attempts : int, default 3
        Tries in all. Rate limits, server errors, dropped connections and timeouts are tried
        again; refused keys and malformed requests are not.
    wait : float, default 0.5
        Seconds before the second attempt; doubled each time, 20 at most.
    pause : callable
        Awaits a number of seconds; an argument so that tests need not wait.
    """

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        timeout: float = 60.0,
        attempts: int = 3,
        wait: float = 0.5,
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.name, self.api_base, self.timeout = name, api_base, timeout
        self.attempts, self.wait, self.pause = attempts, wait, pause

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply; its data satisfies ``request.output_schema``.

        Raises
        ------
        ModelUnavailable
            No key, an unknown model, or every attempt failed.
        ModelReplyInvalid
            The answer is cut off or breaks the schema. It is not asked for again here: the same
            request would cost again, and a ladder has better next steps.
        """
        litellm = await asyncio.to_thread(import_litellm)
        self._require_key(litellm)
        start = time.perf_counter()
        for number in range(1, self.attempts + 1):
            began = time.perf_counter()
            try:
                response = await self._attempt(litellm, request)
            except (TimeoutError, *litellm.LITELLM_EXCEPTION_TYPES) as cause:
                wait = self._wait_after(number) if _retryable(cause) else None
                reason = _reason(cause, self.timeout)
                latency = time.perf_counter() - began
                tell(
                    FailedAttempt(
                        model=self.name, number=number, reason=reason, latency=latency, wait=wait
                    )
                )
                if wait is None:
                    raise self._given_up(reason, number) from None  # its text may quote a key
                await self.pause(wait)
            else:
                return _reply(response, request, self.name, time.perf_counter() - start)
        raise AssertionError("the last attempt returns or raises")  # pragma: no cover

    def _wait_after(self, number: int) -> float | None:
        """Seconds before the next attempt; None after the last."""
        if number >= self.attempts:
            return None
        return min(self.wait * 2.0 ** (number - 1), MAX_WAIT)

    async def _attempt(self, litellm: ModuleType, request: ModelRequest) -> Any:
        arguments = _arguments(litellm, self.name, request)
        if self.api_base is not None:
            arguments |= {"api_base": self.api_base}
            if not os.environ.get("OPENAI_API_KEY"):
                arguments |= {"api_key": "none"}
        async with asyncio.timeout(self.timeout):
            return await litellm.acompletion(**arguments, timeout=self.timeout)

    def _require_key(self, litellm: ModuleType) -> None:
        if self.api_base is not None:
            return
        missing = litellm.validate_environment(self.name)["missing_keys"]
        if missing:
            raise ModelUnavailable(
                f"model {self.name}",
                got=f"no {', '.join(missing)} in the environment",
                allowed="a key in the environment (it is read at call time and kept nowhere)",
                next_step=f"Set {missing[0]}, or use the model 'embedded'.",
            )

    def _given_up(self, reason: str, number: int) -> ModelUnavailable:
        return ModelUnavailable(
            f"model {self.name}",
            got=f"{reason} (attempt {number} of {self.attempts})",
            allowed="a complete answer within the time limit",
            next_step="Check the key, the model's name and the network, then run again; "
            "finished tasks are kept.",
        )


def import_litellm() -> ModuleType:
    """Import litellm without its network look-ups (it is slow: call this off the event loop).

    Raises
    ------
    ModelUnavailable
        When litellm is not installed.
    """
    if importlib.util.find_spec("litellm") is None:
        raise ModelUnavailable(
            "hosted models",
            got="no package litellm",
            allowed="an installed litellm",
            next_step="Run `pip install litellm`, or use the model 'embedded'.",
        )
    # Must be set before the import: otherwise it fetches a price list from the network.
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    os.environ.setdefault("LITELLM_LOG", "ERROR")
    import litellm

    litellm.suppress_debug_info = True
    module: ModuleType = litellm
    return module


def _arguments(litellm: ModuleType, name: str, request: ModelRequest) -> dict[str, Any]:
    messages = [m.model_dump() for m in request.messages]
    arguments: dict[str, Any] = {
        "model": name,
        "messages": messages,
        "temperature": request.temperature,
        "max_tokens": request.max_tokens,
        "seed": request.seed,
        "drop_params": True,  # a provider that knows no seed still answers
        "max_retries": 0,
        "num_retries": 0,
    }
    if request.output_schema is not None:
        shape = {"name": "answer", "schema": request.output_schema}
        arguments["response_format"] = {"type": "json_schema", "json_schema": shape}
        if not litellm.supports_response_schema(model=name):
            messages.insert(0, {"role": "system", "content": _in_words(request.output_schema)})
    return arguments


def _in_words(schema: dict[str, Any]) -> str:
    text = json.dumps(schema, sort_keys=True, ensure_ascii=False)
    return f"Answer with one JSON value and nothing else. It must satisfy this schema: {text}"


def _retryable(cause: BaseException) -> bool:
    """By our own rule: litellm maps the same fault to different classes by provider."""
    if isinstance(cause, TimeoutError):
        return True
    status = getattr(cause, "status_code", None)
    return status is None or status in RETRYABLE_STATUS or status >= 500


def _reason(cause: BaseException, timeout: float) -> str:
    if isinstance(cause, TimeoutError):
        return f"no answer within {timeout:g} s"
    status = getattr(cause, "status_code", None)
    text = f"{type(cause).__name__} {status or ''}: {cause}"
    first: str = redact(text, secrets_in_environment()).splitlines()[0]
    return first[:200]


def _reply(response: Any, request: ModelRequest, name: str, latency: float) -> ModelReply:
    if not getattr(response, "choices", None):
        raise ModelReplyInvalid(
            f"reply of {name}",
            got="no choices",
            allowed="one complete answer",
            next_step="Ask again, or use another model.",
        )
    choice = response.choices[0]
    text = choice.message.content or ""
    tokens_in, tokens_out = _tokens(response)
    known = tokens_in is not None
    return ModelReply(
        text=text,
        data=parse_reply(text, request.output_schema, choice.finish_reason, name),
        model=name,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        usd=response._hidden_params.get("response_cost") if known else None,
        latency=latency,
    )


def _tokens(response: Any) -> tuple[int | None, int | None]:
    """Tokens in and out; a missing or all-zero usage is unknown, not nothing."""
    usage = getattr(response, "usage", None)
    tokens_in = getattr(usage, "prompt_tokens", None)
    tokens_out = getattr(usage, "completion_tokens", None)
    return (tokens_in, tokens_out) if tokens_in else (None, None)
