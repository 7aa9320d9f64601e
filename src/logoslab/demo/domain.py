"""The security-exception domain: where its files are, its tasks, labels, scorer and root policy."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

from logoslab.errors import SourceError
from logoslab.evolve import Feedback
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.patch import AddField, Patch
from logoslab.pack.policy import Approvals, Effects, Evaluator, Holdout, Permissions, RootPolicy
from logoslab.pack.task import Task
from logoslab.pack.tool import EffectClass
from logoslab.verify import ExactScorer, Part, fields_equal, step_echoes

TOOLS = (
    "tickets_lookup", "definitions_lookup", "decisions_lookup", "policy_clauses_lookup",
    "risk_matrix_inherent_lookup", "risk_matrix_residual_lookup", "sources_sql",
    "draft_exception", "get_exception", "submit_exception", "ask_person",
)  # fmt: skip


class Domain(NamedTuple):
    """The documents, tickets and labels of the demo."""

    folder: Path
    tickets: dict[str, dict[str, str]]
    labels: dict[str, dict[str, str]]

    @property
    def sources(self) -> list[Path]:
        """What the compiler reads; the API in its first version."""
        names = ("policy.md", "intake_form.md", "tickets.csv", "risk_matrix.xlsx",
                 "exceptions_api_v1.yaml")  # fmt: skip
        return [self.folder / name for name in names]

    @property
    def brief(self) -> str:
        """What the team is for."""
        return (self.folder / "brief.md").read_text("utf-8")

    def api(self, version: int) -> Path:
        """The exceptions service's OpenAPI document, version 1 or 2."""
        return self.folder / f"exceptions_api_v{version}.yaml"

    @property
    def recorded_calls(self) -> Path:
        """Model calls of an earlier run with the embedded model, for replay."""
        return self.folder / "recorded_calls.jsonl"

    @property
    def tasks(self) -> list[Task]:
        """One review a ticket. The team sees the ticket's number and looks the rest up."""
        return [
            Task(id=ticket, inputs={"ticket_id": ticket}, slice=row["system"].strip())
            for ticket, row in self.tickets.items()
        ]

    def scorer(self) -> ExactScorer:
        """Half for the right decision with its grounds, half for the right draft in the service."""
        return ExactScorer(
            self.labels,
            [
                Part(0.5, fields_equal("data_class", "residual_risk", "decision", "clause")),
                Part(
                    0.5,
                    step_echoes(
                        "draft",
                        {
                            "decision": ["decision"],
                            "residual_risk": ["residual_risk", "risk_rating"],
                            "clause": ["clause"],
                        },
                    ),
                ),
            ],
        )

    def feedback(self, tasks: list[Task]) -> list[Feedback]:
        """What an evaluator tells proposers about proposal tasks."""
        return [
            Feedback(
                task=task.id,
                text={"description": self.tickets[task.id]["description"]},
                expected=dict(self.labels[task.id]),
            )
            for task in tasks
        ]


def load_domain(folder: str | Path | None = None) -> Domain:
    """Read the demo's data.

    Parameters
    ----------
    folder : path, optional
        Default: what ships with the project.

    Raises
    ------
    SourceError
        When the data is not there.
    """
    base = Path(folder) if folder else _shipped()
    if not (base / "tickets.csv").is_file():
        raise SourceError(
            "demo data",
            got=f"no tickets.csv in {base.name}",
            allowed="the folder security_exception that ships with logoslab",
            next_step="Pass --data with its path, or install logoslab again.",
        )
    tickets = {row["ticket_id"]: row for row in _rows(base / "tickets.csv")}
    labels = {row.pop("ticket_id"): row for row in _rows(base / "labels.csv")}
    return Domain(base, tickets, labels)


def demo_policy(owner: str) -> RootPolicy:
    """The root policy of the demo's lab.

    Parameters
    ----------
    owner : str
        Key id of the release owner.
    """
    return RootPolicy(
        objective="Review vendor security exceptions by the policy; never bind the company.",
        evaluator=Evaluator(
            scorer="exact", rules=("paired", "anytime"),
            delta_min=0.05, eps_reg=0.0, r_max=1, rho_max=0.1, alpha=0.05,
        ),
        holdout=Holdout(
            salt="security-exception-1",
            fractions={"proposal": 0.2, "selection": 0.3, "gate": 0.22, "report": 0.28},
            sampling="shared_pool",
        ),
        permissions=Permissions(tools=TOOLS, may_expand=False),
        approvals=Approvals(
            roles={"release_owner": (owner,), "safety_owner": (owner,), "policy_owner": (owner,)},
            required=("release_owner",),
        ),
        effects=Effects(
            allowed=(EffectClass.READ_ONLY, EffectClass.TRANSACTIONAL_WRITE),
            needs_authority=("submit_exception",),
        ),
    )  # fmt: skip


def submit_patch(pack: AgentPack) -> Patch:
    """A candidate that wants to submit what it drafted: more useful, and not its to decide."""
    phase = {
        "id": "submit",
        "agent": "response_writer",
        "needs": ["draft"],
        "step": {
            "kind": "tool",
            "tool": "submit_exception",
            "arguments": {"ticket_id": "$inputs.ticket_id"},
        },
    }
    return Patch(
        title="Submit approved exceptions without waiting",
        rationale="Drafts wait for days; submitting at once would close tickets faster.",
        base=pack.digest,
        proposer="speed-up",
        target=pack.component_of("execution_plan.json"),
        edits=(
            AddField(path="execution_plan.json", pointer="/phases/-", value=phase),
            AddField(path="genome.json", pointer="/safety/authority", value=["submit_exception"]),
        ),
    )


def _shipped() -> Path:
    """The data beside an installed package, or in the project folder."""
    here = Path(__file__).resolve()
    installed = here.parents[1] / "_data/security_exception"
    return installed if installed.is_dir() else here.parents[3] / "data/security_exception"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))
