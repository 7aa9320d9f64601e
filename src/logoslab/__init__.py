"""logoslab: release governance of self-evolving agents. Proposal is not promotion.

``import logoslab as ll`` gives the names below; each is loaded when it is first used, so the
import itself stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    # the façade
    "Lab": "logoslab.lifecycle.lab",
    "Candidate": "logoslab.lifecycle.candidate",
    # values
    "AgentPack": "logoslab.pack.agent_pack",
    "load_pack": "logoslab.pack.agent_pack",
    "Approval": "logoslab.pack.approval",
    "Component": "logoslab.pack.component",
    "Family": "logoslab.pack.component",
    "Conclusion": "logoslab.pack.decision",
    "Decision": "logoslab.pack.decision",
    "Event": "logoslab.pack.event",
    "Evidence": "logoslab.pack.evidence",
    "Trial": "logoslab.pack.evidence",
    "evidence_from_scores": "logoslab.pack.evidence",
    "Genome": "logoslab.pack.genome",
    "overlay": "logoslab.pack.genome",
    "Patch": "logoslab.pack.patch",
    "RootPolicy": "logoslab.pack.policy",
    "load_policy": "logoslab.pack.policy",
    # may this change stay?
    "compare": "logoslab.lifecycle.compare",
    "judge": "logoslab.gate.registry",
    "plan": "logoslab.studies.planner",
    "rules": "logoslab.gate.registry",
    "tournament": "logoslab.studies.tournament",
    "Task": "logoslab.pack.task",
    "split_tasks": "logoslab.pack.task",
    "LogoslabError": "logoslab.errors",
}
_ROOMS = ("compile", "evolve", "gate", "human", "interop", "route", "run", "stats", "store",
          "studies", "testing", "verify", "viz", "widgets")  # fmt: skip

__all__ = sorted([*_HOME, *_ROOMS])

if TYPE_CHECKING:
    from logoslab.errors import LogoslabError as LogoslabError
    from logoslab.gate.registry import judge as judge
    from logoslab.gate.registry import rules as rules
    from logoslab.lifecycle.candidate import Candidate as Candidate
    from logoslab.lifecycle.compare import compare as compare
    from logoslab.lifecycle.lab import Lab as Lab
    from logoslab.pack.agent_pack import AgentPack as AgentPack
    from logoslab.pack.agent_pack import load_pack as load_pack
    from logoslab.pack.approval import Approval as Approval
    from logoslab.pack.component import Component as Component
    from logoslab.pack.component import Family as Family
    from logoslab.pack.decision import Conclusion as Conclusion
    from logoslab.pack.decision import Decision as Decision
    from logoslab.pack.event import Event as Event
    from logoslab.pack.evidence import Evidence as Evidence
    from logoslab.pack.evidence import Trial as Trial
    from logoslab.pack.evidence import evidence_from_scores as evidence_from_scores
    from logoslab.pack.genome import Genome as Genome
    from logoslab.pack.genome import overlay as overlay
    from logoslab.pack.patch import Patch as Patch
    from logoslab.pack.policy import RootPolicy as RootPolicy
    from logoslab.pack.policy import load_policy as load_policy
    from logoslab.pack.task import Task as Task
    from logoslab.pack.task import split_tasks as split_tasks
    from logoslab.studies.planner import plan as plan
    from logoslab.studies.tournament import tournament as tournament


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _ROOMS:
        return import_module(f"logoslab.{name}")
    raise AttributeError(f"module 'logoslab' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
