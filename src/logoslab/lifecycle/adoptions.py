"""What a lab adopted, from its audit log, for an audit on fresh tasks."""

from __future__ import annotations

from logoslab.gate import Adoption
from logoslab.lifecycle.parts import Parts
from logoslab.lifecycle.promoting import PROMOTE
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence


def adoptions(parts: Parts) -> tuple[Adoption, ...]:
    """Every promotion of a lab, oldest first, with the tasks that it was adopted on.

    One that was rolled back later was adopted all the same. For ``ll.gate.reaudit``, with fresh
    evidence about each ``decision.candidate`` against its ``decision.incumbent``.

    Parameters
    ----------
    parts : Parts
        ``lab.parts``.

    Raises
    ------
    StoreError, PackTampered
        When a document of an adoption is gone or was changed.
    """
    found = []
    for record in parts.audit.records():
        carried = record.detail.get("decisions")
        if record.act == PROMOTE and isinstance(carried, list):
            decision = parts.decisions.get(str(carried[0]), Decision)
            evidence = parts.evidence.get(decision.evidence, Evidence)
            tasks = sorted({trial.task for trial in evidence.trials})
            found.append(Adoption(decision=decision, tasks=tuple(tasks)))
    return tuple(found)
