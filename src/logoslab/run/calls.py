"""Every model call of a task: budget first, then action, attempts, observation and cost."""

from __future__ import annotations

from collections.abc import Callable

from logoslab.errors import ModelError
from logoslab.pack.model import ModelReply, ModelRequest
from logoslab.ports import Model
from logoslab.run.budget import Spending
from logoslab.run.models.attempts import FailedAttempt, listening
from logoslab.run.trace import Trace


class ModelCalls:
    """The one way a stage reaches a model within a task.

    Parameters
    ----------
    model : Model
    trace : Trace
    spending : Spending
    agent, component, purpose : str
        Who asks, under which skill version, and the beginning of the call ids.
    """

    def __init__(
        self,
        model: Model,
        trace: Trace,
        spending: Spending,
        *,
        agent: str,
        component: str,
        purpose: str,
    ) -> None:
        self.model, self.trace, self.spending = model, trace, spending
        self.agent, self.component, self.purpose = agent, component, purpose

    async def ask(self, request: ModelRequest) -> ModelReply:
        """The model's reply.

        Raises
        ------
        BudgetExceeded
            Before the call, when it does not fit.
        ModelError
            What the model raised, after it was recorded.
        """
        self.spending.check_call()
        call = self.trace.new_call(self.purpose)
        arguments = request.model_dump(mode="json", exclude={"model"})
        self._emit("action", call, arguments=arguments)
        try:
            with listening(self._attempt_recorder(call)):
                reply = await self.model.complete(request)
        except ModelError as error:
            self.spending.add(None)
            self._emit("observation", call, ok=False, result=_words(error))
            raise
        self.spending.add(reply)
        self._emit("observation", call, ok=True, result=reply.text, latency=reply.latency)
        self._cost(call, reply)
        return reply

    def _emit(self, kind: str, call: str, **fields: object) -> None:
        who = {"agent": self.agent, "component": self.component}
        self.trace.emit(kind, call=call, name=self.model.name, **who, **fields)

    def _cost(self, call: str, reply: ModelReply) -> None:
        self.trace.emit(
            "cost",
            agent=self.agent,
            component=self.component,
            call=call,
            model=reply.model,
            **reply.model_dump(include={"tokens_in", "tokens_out", "usd", "latency", "replayed"}),
        )

    def _attempt_recorder(self, call: str) -> Callable[[FailedAttempt], None]:
        def record(attempt: FailedAttempt) -> None:
            result = {"error": "attempt", **attempt.model_dump(exclude={"latency"})}
            self._emit("observation", call, ok=False, result=result, latency=attempt.latency)

        return record


def _words(error: ModelError) -> dict[str, str]:
    return {"error": type(error).__name__, "message": str(error)}
