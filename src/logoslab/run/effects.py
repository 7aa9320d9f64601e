"""The tool gate: the only way a tool body runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from logoslab.errors import EffectRefused, ToolError
from logoslab.pack.base import digest
from logoslab.pack.policy import RootPolicy
from logoslab.pack.tool import EffectClass, RestBinding, ToolSpec
from logoslab.ports import ToolRunner
from logoslab.run.trace import Trace

# Effects that cannot be taken back; an arm that is not live only previews them.
IRREVERSIBLE = frozenset({EffectClass.EXTERNAL_SIDE_EFFECT, EffectClass.DESTRUCTIVE})


class Caller(NamedTuple):
    """Who calls a tool: the agent, the tool's component version, the beginning of call ids."""

    agent: str
    component: str
    purpose: str


class ToolGate:
    """Checks the envelope, runs the body, records what happened. One gate a task.

    Parameters
    ----------
    runner : ToolRunner
    policy : RootPolicy
        ``permissions.tools`` lists what may be called (``"*"`` is every tool; empty is none),
        ``effects`` says which classes run freely and which tools need authority.
    trace : Trace
    preview : bool
        True for arms that are not live: irreversible effects are described, not executed.
    authorities : frozenset of str
        Names of tools that a person has given standing authority for. Agents cannot add to it.

    Attributes
    ----------
    refused : list of str
        ``tool:effect`` of every refused call, in order.
    """

    def __init__(
        self,
        runner: ToolRunner,
        policy: RootPolicy,
        trace: Trace,
        *,
        preview: bool = False,
        authorities: frozenset[str] = frozenset(),
    ) -> None:
        self.runner, self.policy, self.trace = runner, policy, trace
        self.preview, self.authorities = preview, authorities
        self.refused: list[str] = []
        self._done: dict[str, Any] = {}

    async def call(self, spec: ToolSpec, arguments: Mapping[str, Any], caller: Caller) -> Any:
        """Run one tool under the envelope.

        Returns
        -------
        object
            The tool's result; for a previewed effect ``{"preview": <what would be sent>}``; for a
            repeated call of an idempotent write the first result, with no second effect.

        Raises
        ------
        EffectRefused
            Outside the envelope, or a repetition of a write that is not idempotent. The body did
            not run.
        ToolError
            The arguments break the input schema, or the tool failed; the error body is in the
            trace.
        """
        one = _Call(self.trace, spec, dict(arguments), caller)
        one.emit("action", arguments=one.arguments)
        reason = self._why_refused(spec, one.identity)
        if reason:
            raise self._refuse(one, reason)
        if one.identity in self._done:
            one.emit("observation", ok=True, result=self._done[one.identity])
            return self._done[one.identity]
        if self.preview and spec.effect in IRREVERSIBLE:
            return self._previewed(one)
        return await self._run(one)

    def _why_refused(self, spec: ToolSpec, identity: str) -> str | None:
        """The first rule of the envelope that says no; None when every rule says yes."""
        effects = self.policy.effects
        if spec.name in effects.forbidden:
            return "the root policy forbids this tool"
        if not self.policy.permissions.allows(spec.name):
            return "the tool is not in permissions.tools"
        if spec.name in effects.needs_authority and spec.name not in self.authorities:
            return "the tool needs a person's authority and none was given"
        if spec.effect not in effects.allowed and spec.name not in self.authorities:
            return f"effect class {spec.effect.value} is not in effects.allowed"
        if spec.idempotency == "none" and identity in self._done:
            return "the same call already ran in this task and is not idempotent"
        return None

    def _refuse(self, one: _Call, reason: str) -> EffectRefused:
        self.refused.append(f"{one.spec.name}:{one.spec.effect.value}")
        one.effect("refused", reason)
        one.emit("observation", ok=False, result={"error": "refused", "reason": reason})
        one.trace.emit("risk", level="high", reason=f"{one.spec.name}: {reason}", **one.who)
        return EffectRefused(
            f"tool {one.spec.name}",
            got=f"{one.target}: {reason}",
            allowed="calls inside the root policy's envelope",
            next_step="Ask a person for authority, or change the plan; nothing was executed.",
        )

    def _previewed(self, one: _Call) -> dict[str, Any]:
        one.effect("previewed", "this arm is not live")
        result = {"preview": {"target": one.target, "arguments": one.arguments}}
        one.emit("observation", ok=True, result=result)
        return result

    async def _run(self, one: _Call) -> Any:
        start = one.trace.clock.now()
        writes = one.spec.effect is not EffectClass.READ_ONLY
        try:
            result = await self.runner.call(one.spec, one.arguments)
        except ToolError as error:
            latency = one.trace.clock.now() - start
            one.emit("observation", ok=False, result=error_body(error), latency=latency)
            if writes:
                one.effect("failed", f"{type(error).__name__}; whether it took effect is unknown")
            raise
        latency = one.trace.clock.now() - start
        one.emit("observation", ok=True, result=result, latency=latency)
        if writes:
            one.effect("executed", "")
            self._done[one.identity] = result
        return result


class _Call:
    """One call on its way through the gate, and how it is written down."""

    def __init__(
        self, trace: Trace, spec: ToolSpec, arguments: dict[str, Any], caller: Caller
    ) -> None:
        self.trace, self.spec, self.arguments = trace, spec, arguments
        self.id = trace.new_call(caller.purpose)
        self.who = {"agent": caller.agent, "component": caller.component}
        self.identity = digest({"tool": spec.digest, "arguments": arguments})

    @property
    def target(self) -> str:
        """What the call would reach, in words, from the specification alone."""
        binding = self.spec.binding
        if isinstance(binding, RestBinding):
            return f"{binding.method} {binding.service}{binding.path}"
        return binding.kind

    def emit(self, kind: str, **fields: Any) -> None:
        self.trace.emit(kind, call=self.id, name=self.spec.name, **self.who, **fields)

    def effect(self, status: str, reason: str) -> None:
        self.trace.emit(
            "effect",
            call=self.id,
            tool=self.spec.name,
            effect=self.spec.effect,
            status=status,
            target=self.target,
            reason=reason,
            **self.who,
        )


def error_body(error: ToolError) -> dict[str, Any]:
    """What the tool answered with, as JSON: a service's own error body, else the message.

    A service's words (a 422 and what it expected) are the evidence that a repair is made of, so
    their fields stand at the top, beside ``status`` and ``message``.
    """
    plain = {"error": type(error).__name__, "message": str(error)}
    body, status = getattr(error, "body", None), getattr(error, "status", None)
    if status is not None:
        plain["status"] = status
    return {**plain, **body} if isinstance(body, dict) else {**plain, "body": body}
