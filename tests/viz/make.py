"""Small values with counts worked out by hand."""

from __future__ import annotations

import json
import math

from logoslab.pack.agent_pack import AgentPack, build_pack
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.run import Attempt, Routed
from logoslab.pack.verdict import StackVerdict

EVIL = "</script><script>alert(1)</script>"


def decision(**changes: object) -> Decision:
    """Gain doubles four times; regressions-rare creeps; harm halves. Bars at 8 and 16."""
    values = {
        "rule": "anytime",
        "conclusion": Conclusion.ACCEPT,
        "reason": f"every stream crossed {EVIL}",
        "params": {"alpha": 0.125},
        "numbers": {
            "threshold_accept": math.log(8),
            "threshold_harm": math.log(16),
            "p_safety": None,
        },
        "path": {
            "log_wealth_gain": tuple(math.log(2) * i for i in (1, 2, 3, 2)),
            "log_wealth_reg": tuple(math.log(2) * i for i in (1, 2, 2, 3)),
            "log_wealth_harm": tuple(-math.log(2) * i for i in (1, 2, 3, 4)),
            "difference": (1.0, 1.0, 1.0, -1.0),
        },
        "incumbent": "sha256:a",
        "candidate": "sha256:b",
        "evidence": "sha256:c",
        "tasks": 4,
    }
    return Decision.model_validate({**values, **changes})


def routed(*stages: str, answered: str | None) -> Routed:
    """An answer that tried ``stages`` in turn; ``answered`` is the one that passed."""
    attempts = tuple(
        Attempt(
            stage=stage,
            output={},
            verdict=StackVerdict(accepted=stage == answered, reason="", verdicts=()),
        )
        for stage in stages
    )
    output = None if answered is None else {}
    return Routed(output=output, stage=answered, entry=stages[0] if stages else "greedy",
                  attempts=attempts)  # fmt: skip


def pack() -> AgentPack:
    """read → {left, right} → end; one skill, three tools of which ``spare`` is unused."""
    phases = [
        _phase("read", [], {"kind": "tool", "tool": "lookup"}),
        _phase("left", ["read"], {
            "kind": "model", "skill": "intake", "text": "x", "output_schema": {"type": "object"},
            "check": {"tool": "lookup"}, "solver": {"tool": "solve"},
        }),
        _phase("right", ["read"], {"kind": "human", "question": "?"}),
        _phase("end", ["left", "right", "read"],
               {"kind": "tool", "tool": "absent", "skill": "intake"}),
    ]  # fmt: skip
    files = {
        "execution_plan.json": json.dumps({"phases": phases}),
        "agents/clerk.md": "You file.",
        "skills/intake/SKILL.md": "---\nname: intake\ndescription: d\n---\nRead.\n",
    }
    for name in ("lookup", "solve", "spare"):
        files[f"tools/{name}.json"] = json.dumps(
            {"name": name, "description": "", "input_schema": {}, "output_schema": {},
             "binding": {"kind": "human"}}
        )  # fmt: skip
    return build_pack("tiny", files)


def _phase(id: str, needs: list[str], step: dict[str, object]) -> dict[str, object]:
    return {"id": id, "agent": "clerk", "needs": needs, "step": step}
