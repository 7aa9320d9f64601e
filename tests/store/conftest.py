"""A clock that stands still, a small pack, and Python processes that work in a lab."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from logoslab.pack.agent_pack import AgentPack, build_pack
from logoslab.pack.event import TaskEvent
from logoslab.store import TraceStore

Script = Callable[..., "subprocess.Popen[str]"]

PRELUDE = """
import os, signal, sys, time
from pathlib import Path
from logoslab.pack.event import TaskEvent
from logoslab.store import *

class Still:
    def now(self): return 1.0

def event(run, seq):
    return TaskEvent(run=run, task="t1", seq=seq, at=float(seq), inputs={"n": seq})

lab = Path(sys.argv[1])
"""


class Still:
    """Time 1.0, always."""

    def now(self) -> float:
        return 1.0


def event(run: str, seq: int, **more: object) -> TaskEvent:
    """A task event that is easy to count."""
    return TaskEvent.model_validate(
        {"run": run, "task": "t1", "seq": seq, "at": float(seq), "inputs": {"n": seq}, **more}
    )


@pytest.fixture
def still() -> Still:
    return Still()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[TraceStore]:
    store = TraceStore(tmp_path, Still())
    yield store
    store.close()


@pytest.fixture
def pack() -> AgentPack:
    """Version 1 of a pack of three components."""
    return build_pack(
        "review",
        {
            "agents/reviewer.md": "Review.\n",
            "skills/intake/SKILL.md": "---\nname: intake\ndescription: d\n---\nRead.\n",
            "genome.json": "{}\n",
        },
    )


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    """Start a Python process on the lab: its argument 1 is the lab, more follow."""
    started: list[subprocess.Popen[str]] = []

    def start(body: str, *arguments: object) -> subprocess.Popen[str]:
        code = PRELUDE + textwrap.dedent(body)
        command = [sys.executable, "-c", code, str(tmp_path), *map(str, arguments)]
        pipe = subprocess.PIPE
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
