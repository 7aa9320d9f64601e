"""A small review pack and the traces of its failures."""

from __future__ import annotations

import json
from typing import Any

from logoslab.pack.agent_pack import AgentPack, build_pack
from logoslab.pack.event import Event, ObservationEvent, OutcomeEvent
from logoslab.pack.policy import RootPolicy

RISKS = ["low", "medium", "high", "critical"]
CLASSES = ["public", "internal", "confidential", "restricted"]
POLICY = RootPolicy(objective="review")

SKILL = """---
name: intake
description: Read a ticket.
---
# Intake

Copy the words that name the data. Answer with JSON only.
"""


def text(*names: str) -> dict[str, Any]:
    """An object schema of plain strings."""
    return {"type": "object", "properties": {n: {"type": "string"} for n in names}}


def tool(name: str, inputs: dict[str, Any], binding: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One tool file."""
    return {
        "name": name, "description": name, "input_schema": inputs,
        "output_schema": {"type": "object"}, "binding": binding, **more,
    }  # fmt: skip


DRAFT = tool(
    "draft_exception",
    {
        "type": "object",
        "properties": {
            "ticket_id": {"type": "string"},
            "decision": {"type": "string", "enum": ["approve", "deny"]},
            "residual_risk": {"type": "string", "enum": RISKS},
        },
        "required": ["ticket_id", "decision", "residual_risk"],
    },
    {
        "kind": "rest", "service": "exceptions", "method": "POST",
        "path": "/exceptions/{ticket_id}/draft", "path_arguments": ["ticket_id"],
        "body": {"decision": "decision", "residual_risk": "residual_risk"},
    },
    effect="transactional_write",
)  # fmt: skip
DEFINITIONS = tool(
    "definitions_lookup",
    text("data"),
    {
        "kind": "table", "source": "sources/definitions.csv",
        "columns": ["data", "data_class"], "keys": {"data": "contained_in"},
    },
)  # fmt: skip


def phase(id: str, step: dict[str, Any], *needs: str) -> dict[str, Any]:
    """One phase."""
    return {"id": id, "agent": "team", "step": step, "needs": list(needs)}


PLAN = {
    "phases": [
        phase("intake_read", {"kind": "tool", "tool": "tickets", "arguments": {}}),
        phase(
            "intake_extract",
            {
                "kind": "model", "skill": "intake", "text": "$intake_read.description",
                "output_schema": text("data"),
            },
            "intake_read",
        ),
        phase(
            "classify",
            {
                "kind": "tool", "tool": "definitions_lookup", "skill": "intake",
                "arguments": {"data": "$intake_extract.data"},
            },
            "intake_extract",
        ),
        phase("residual", {"kind": "tool", "tool": "matrix", "arguments": {}}, "classify"),
        phase(
            "draft",
            {
                "kind": "tool", "tool": "draft_exception",
                "arguments": {"decision": "approve", "residual_risk": "$residual.residual_risk"},
            },
            "residual",
        ),
    ],
    "output": {
        "data_class": "$classify.data_class",
        "residual_risk": "$residual.residual_risk",
        "draft": "$draft",
    },
}  # fmt: skip


def pack(**files: str) -> AgentPack:
    """The pack, with some files replaced (``skill=``, ``plan=``, ``draft=``)."""
    return build_pack(
        "review",
        {
            "skills/intake/SKILL.md": files.get("skill", SKILL),
            "tools/draft_exception.json": files.get("draft", json.dumps(DRAFT)),
            "tools/definitions_lookup.json": json.dumps(DEFINITIONS),
            "sources/definitions.csv": "data,data_class\npayroll files,confidential\n",
            "genome.json": "{}",
            "execution_plan.json": files.get("plan", json.dumps(PLAN)),
        },
    )


def refusal(**changes: Any) -> dict[str, Any]:
    """The service's 422 after drift: residual_risk became risk_rating, data_class is required."""
    return {
        "error": "schema",
        "status": 422,
        "message": "unprocessable",
        "missing": ["risk_rating", "data_class"],
        "unexpected": ["residual_risk"],
        "invalid": {},
        "expected": {
            "decision": {"type": "string"},
            "risk_rating": {"type": "string", "enum": RISKS, "description": "new name"},
            "data_class": {"type": "string", "enum": CLASSES},
        },
        **changes,
    }


def observed(task: str, result: Any, name: str = "draft_exception", **more: Any) -> Event:
    """A failed call."""
    return ObservationEvent(
        run="r1", task=task, seq=1, at=0.0, call="c1", name=name, ok=False, result=result, **more
    )


def ended(task: str, score: float | None = None, status: Any = "completed", **output: Any) -> Event:
    """The end of a task."""
    return OutcomeEvent(
        run="r1", task=task, seq=9, at=0.0, status=status, output=output or None, score=score
    )
