"""Failed attempts inside one model call, told to whoever listens.

The ``Model`` port gives one reply or one error, but each retry must be in the trace. A context
variable carries the listener through wrappers such as the recorded model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from logoslab.pack.base import Frozen


class FailedAttempt(Frozen):
    """One attempt that will be tried again, or the last one that will not.

    ``number`` counts from 1; ``wait`` is the pause before the next attempt in seconds, or None.
    """

    model: str
    number: int
    reason: str
    latency: float
    wait: float | None


_listener: ContextVar[Callable[[FailedAttempt], None] | None] = ContextVar(
    "logoslab_attempts", default=None
)


@contextmanager
def listening(listener: Callable[[FailedAttempt], None]) -> Iterator[None]:
    """Within this block, tell ``listener`` of every failed attempt of this task."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(attempt: FailedAttempt) -> None:
    """Tell the listener, if there is one."""
    listener = _listener.get()
    if listener is not None:
        listener(attempt)
