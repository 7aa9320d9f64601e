"""The normalised trace of one task: numbered, timed, redacted events."""

from __future__ import annotations

from typing import Any

from logoslab.pack.event import event_adapter
from logoslab.ports import Clock, Recorder
from logoslab.run.redact import redact, secrets_in_environment


class Trace:
    """Numbers the events of one (run, task, arm) from 0 without a gap and records them.

    Secrets are read from the environment when the trace begins and hidden in every event.
    """

    def __init__(self, recorder: Recorder, clock: Clock, *, run: str, task: str, arm: str) -> None:
        self.recorder, self.clock = recorder, clock
        self.run, self.task, self.arm = run, task, arm
        self.secrets = secrets_in_environment()
        self._next = 0
        self._calls = 0

    def emit(self, kind: str, **fields: Any) -> None:
        """Record one event of ``kind``."""
        event = {
            "kind": kind,
            "run": self.run,
            "task": self.task,
            "arm": self.arm,
            "seq": self._next,
            "at": self.clock.now(),
            **fields,
        }
        self.recorder.record(event_adapter.validate_python(redact(event, self.secrets)))
        self._next += 1

    def new_call(self, purpose: str) -> str:
        """An id for one call, unique in this trace: ``<purpose>/<n>``."""
        self._calls += 1
        return f"{purpose}/{self._calls}"

    def clean(self, value: Any) -> Any:
        """The value without secrets, for results that outlive the run."""
        return redact(value, self.secrets)
