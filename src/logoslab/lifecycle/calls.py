"""Recorded model calls as a file, so that a notebook replays on another machine."""

from __future__ import annotations

import json
from pathlib import Path

from logoslab.errors import StoreError
from logoslab.store import TraceStore

EVERY_CALL = "SELECT key, reply FROM calls ORDER BY key"


def export_calls(traces: TraceStore, path: Path) -> int:
    """Write every recorded call as one JSON line; returns how many."""
    rows = traces.sql(EVERY_CALL).itertuples(index=False)
    lines = [json.dumps({"key": key, "reply": json.loads(reply)}) for key, reply in rows]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return len(lines)


def import_calls(traces: TraceStore, path: Path) -> int:
    """Record every call of a file that :func:`export_calls` wrote; returns how many.

    Raises
    ------
    StoreError
        When the file is missing or a line is no recorded call; nothing is taken then.
    """
    try:
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        calls = [(str(record["key"]), json.dumps(record["reply"])) for record in records]
    except (OSError, ValueError, KeyError, TypeError) as cause:
        raise StoreError(
            f"recorded calls {path.name}",
            got=str(cause).splitlines()[0],
            allowed="JSON lines with key and reply, as `Lab.export_calls` writes them",
            next_step="Export the calls again from the lab that made them.",
        ) from cause
    for key, reply in calls:
        traces.record_call(key, reply)
    traces.flush()
    return len(calls)
