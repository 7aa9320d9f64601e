"""Lab: the folder that a release lives in, and the façade that users hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from logoslab.compile import DiagnosticPack, ProbeValidatedPack, build
from logoslab.errors import PackError
from logoslab.evolve import ToolSchemaRepair
from logoslab.files import Hook, no_hook
from logoslab.gate import GateLedger
from logoslab.human import ApprovalQueue, PersonKey, QueueItem
from logoslab.lifecycle.audit_view import AuditView
from logoslab.lifecycle.calls import export_calls, import_calls
from logoslab.lifecycle.candidate import Candidate, make_candidate
from logoslab.lifecycle.clock import SystemClock
from logoslab.lifecycle.desk import Desk, judged_evidence, pending_change, record_rulings
from logoslab.lifecycle.gating import Gating
from logoslab.lifecycle.parts import open_parts
from logoslab.lifecycle.promoting import ACTIVATE, Promoting, Promotion
from logoslab.lifecycle.running import Run, Running
from logoslab.lifecycle.sync import wait_for
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.approval import Approval
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.patch import Patch
from logoslab.pack.policy import RootPolicy
from logoslab.pack.run import Abstention
from logoslab.pack.task import Split, Task, split_tasks
from logoslab.ports import AdmissionRule, Clock, Designer, Human, Model, Proposer, Router, Scorer
from logoslab.run.budget import Budget
from logoslab.run.models.catalog import resolve_model
from logoslab.run.models.recorded import Mode, RecordedModel
from logoslab.store import RunRow

if TYPE_CHECKING:
    import pandas as pd


class Lab:
    """A lab folder: compile, run, propose, gate, promote, roll back, query, verify.

    Parameters
    ----------
    path : str or Path
        The folder; made when it does not exist.
    policy : RootPolicy, optional
        Pins the root policy of a new lab. In an existing lab it must be the pinned one. A lab
        made without one gets a policy that allows reading only and no promotion.
    model : str or Model
        ``"embedded"``, a path to a GGUF file, ``"provider/model"``, or a model object.
    replay : str
        ``record`` replays what the lab has recorded and records the rest; ``replay`` never calls
        the model; ``refresh`` calls it again and keeps the newest; ``off`` records nothing.
    services, sandbox : mapping
        Service name → base URL for live runs and for trials. Trials never reach ``services``.
    scorer : Scorer, optional
        Scores runs and trials; labels stay inside it.
    human : Human, optional
        Answers questions of running agents; without one they stay open.
    budget : Budget, optional
        For each task.
    clock : Clock, optional
    fault : callable, optional
        Fault injection for tests: hears each step of a release before it happens.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        policy: RootPolicy | None = None,
        model: str | Model = "embedded",
        replay: Mode = "record",
        services: Mapping[str, str] | None = None,
        sandbox: Mapping[str, str] | None = None,
        scorer: Scorer | None = None,
        human: Human | None = None,
        budget: Budget | None = None,
        clock: Clock | None = None,
        fault: Hook = no_hook,
    ) -> None:
        self.path = Path(path).resolve()  # A later change of folder must not move the lab.
        self.parts = open_parts(self.path, policy, clock or SystemClock(), fault)
        self.scorer = scorer
        inner = resolve_model(model) if isinstance(model, str) else model
        self._running = Running(
            self.parts,
            RecordedModel(inner, self.parts.traces, replay),
            dict(services or {}),
            dict(sandbox or {}),
            human,
            budget or Budget(),
        )
        self.gating = Gating(self.parts, self._running)
        self._promoting = Promoting(self.parts, self.gating)
        self.queue = ApprovalQueue(self.path / "approvals")

    def __repr__(self) -> str:
        live = self.live
        return f"Lab({str(self.path)!r}, live={live.digest[:15] if live else None})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Write what is still in memory to the traces. The lab can still be read and run again."""
        self.parts.traces.close()

    # --- what there is --------------------------------------------------------------------

    @property
    def policy(self) -> RootPolicy:
        """The pinned root policy."""
        return self.parts.policy

    @property
    def live(self) -> AgentPack | None:
        """The live pack; None before the first release."""
        return self.parts.releases.live_pack()

    @property
    def audit(self) -> AuditView:
        """The audit log, with this lab's public keys at hand."""
        return AuditView(self.parts.audit, self.parts.public_keys)

    @property
    def ledger(self) -> GateLedger:
        """The account of anytime gates: what was spent, what the next one costs."""
        return self.gating.ledger

    @property
    def last_run(self) -> Run | None:
        """The last run of this object; after an interrupt, what finished of it."""
        return self._running.last

    def runs(self) -> list[RunRow]:
        """Every run in the traces, oldest first."""
        return self.parts.traces.runs()

    def sql(self, query: str, params: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """One read-only query over the traces (tables ``events`` and ``calls``)."""
        return self.parts.traces.sql(query, params)

    def split(self, tasks: Sequence[Task]) -> dict[Split, list[Task]]:
        """The disjoint splits that the root policy declares, by hash of the task id."""
        holdout = self.policy.holdout
        return split_tasks(tasks, holdout.fractions, holdout.salt)

    # --- compile, operate, propose --------------------------------------------------------

    def compile(
        self,
        sources: Sequence[str | Path] | str | Path,
        brief: str,
        *,
        designer: Designer | None = None,
    ) -> ProbeValidatedPack | DiagnosticPack:
        """Compile documents and a brief into a pack, or say why not. Never raises for bad input.

        The first validated pack of a lab becomes live: it replaces nothing. Every later pack has
        to come through :meth:`gate` and :meth:`promote`.

        Parameters
        ----------
        sources : path, or sequence of paths
            A folder stands for the files in it.
        brief : str
            What the team is for.
        """
        result = wait_for(build(_files(sources), brief, designer=designer))
        self.parts.audit.append(
            "compile",
            result.pack.digest if result.pack else "none",
            {"result": result.kind, "diagnostics": len(result.diagnostics)},
        )
        if isinstance(result, ProbeValidatedPack) and self.parts.releases.live is None:
            detail = {"probes": result.report.passed, "p": result.report.p}
            self.parts.releases.make_live(result.pack, None, ACTIVATE, detail)
        return result

    async def run(
        self,
        pack: AgentPack | None,
        tasks: Sequence[Task],
        *,
        name: str = "run",
        router: Router | None = None,
        sandboxed: bool = False,
        progress: bool = True,
        concurrency: int = 1,
    ) -> Run:
        """Run a pack on tasks and record everything.

        Parameters
        ----------
        pack : AgentPack or None
            None is the live pack. Any other pack runs as a candidate: in the sandbox, with
            irreversible effects previewed.
        tasks : sequence of Task
        name : str
            The run's name; a number is added so that it is unique in the lab.
        router : Router, optional
            Default: a fresh cascade. Pass one to go on learning.
        sandboxed : bool
            Run the live pack against the sandbox services.
        progress : bool
        concurrency : int

        Returns
        -------
        Run
            Interrupting keeps what finished: it is in the trace and in :attr:`last_run`.
        """
        live = self.live
        chosen = pack or live
        if chosen is None:
            raise PackError(
                "run",
                got="no pack, in a lab where nothing is live",
                allowed="a pack, or a lab with a live one",
                next_step="Compile one first.",
            )
        is_live = live is not None and chosen.digest == live.digest
        return await self._running.run(
            chosen,
            tasks,
            name=name,
            arm="incumbent" if is_live else "candidate",
            scorer=self.scorer,
            router=router,
            sandboxed=sandboxed or not is_live,
            progress=progress,
            concurrency=concurrency,
        )

    def propose(
        self,
        run: Run | str,
        proposer: Proposer | Patch | None = None,
        *,
        tasks: Sequence[Task] = (),
    ) -> Candidate | Abstention:
        """Ask a proposer for a candidate, from the proposal-split part of a run's trace.

        Parameters
        ----------
        run : Run or str
            Whose trace to learn from.
        proposer : Proposer or Patch, optional
            Default: tool-schema repair. A patch stands for a person's or another tool's proposal.
        tasks : sequence of Task
            All tasks the lab knows; the proposer sees events of their proposal split alone. By
            default the run's own tasks.

        Returns
        -------
        Candidate or Abstention
            A candidate is isolated: nothing live has changed.
        """
        live = self._require_live()
        proposal: Patch | Abstention
        if isinstance(proposer, Patch):
            proposal = proposer
        else:
            name = run if isinstance(run, str) else run.name
            trace = self.gating.firewall.trace(name, tasks)
            proposal = (proposer or ToolSchemaRepair()).propose(live, trace, self.policy)
        if isinstance(proposal, Abstention):
            return proposal
        candidate = make_candidate(proposal, live, self.policy, self.parts.archive.renumbered)
        self.parts.archive.put_pack(candidate.pack)
        self.parts.candidates.put(candidate)
        self.parts.audit.append(
            "propose", candidate.pack.digest, {"title": proposal.title, "by": proposal.proposer}
        )
        return candidate

    # --- gate, approve, promote -----------------------------------------------------------

    async def evaluate(
        self, candidate: Candidate, tasks: Sequence[Task], *, progress: bool = True
    ) -> Evidence:
        """Run incumbent and candidate on the gate tasks in the sandbox; the paired evidence."""
        return await self.gating.evaluate(
            candidate, self._require_live(), tasks, self.scorer, progress=progress
        )

    def gate(
        self,
        candidate: Candidate,
        rule: str | AdmissionRule = "paired",
        *,
        evidence: Evidence | None = None,
        tasks: Sequence[Task] = (),
        **params: Any,
    ) -> Decision:
        """Judge a candidate and keep the decision on record. Nothing live changes.

        Parameters
        ----------
        candidate : Candidate
        rule : str or AdmissionRule
            ``paired``, ``anytime`` or another name of ``ll.gate.RULES``.
        evidence : Evidence, optional
            From :meth:`evaluate`. Without it the trials are run now, on ``tasks``.
        tasks : sequence of Task
        **params
            Override single parameters of the root policy; a promotion refuses laxer ones.
        """
        found = evidence or wait_for(self.evaluate(candidate, tasks))
        return self.gating.decide(candidate, found, rule, **params)

    def request_approval(self, candidate: Candidate, decisions: Sequence[Decision]) -> QueueItem:
        """Put a gated candidate before people: diff, risk, evidence, effects."""
        self.gating.require_known(decisions)
        evidence = self.parts.evidence.get(judged_evidence(candidate, decisions), Evidence)
        now = self.parts.clock.now()
        return self.queue.submit(pending_change(candidate, decisions, evidence, self.policy, now))

    def add_key(self, public: bytes) -> str:
        """Let the lab know a person's raw public key; returns its id, which root policy lists."""
        return self.parts.keys.add(public)

    def desk(self, key: PersonKey, role: str = "release_owner") -> Desk:
        """The queue as one person sees it, who signs with their own key."""
        return Desk(self.parts, self.queue, key, role)

    def approvals(self, candidate: Candidate | str) -> list[Approval]:
        """Signed approvals of a candidate that wait in the queue's rulings."""
        digest = candidate if isinstance(candidate, str) else candidate.pack.digest
        items = [item for item in self.queue.items() if item.change.candidate == digest]
        return [r.approval for item in items for r in item.rulings if r.approval]

    def promote(
        self, decision: Decision | Sequence[Decision], approvals: Sequence[Approval]
    ) -> Promotion:
        """Decision ∧ root policy ∧ approvals, then one atomic change (LOGOS Eqs. 21, 22)."""
        decisions = [decision] if isinstance(decision, Decision) else list(decision)
        record_rulings(self.parts, self.queue)  # Before what follows from them.
        return self._promoting.promote(decisions, approvals)

    def rollback(self, approvals: Sequence[Approval], reason: str) -> Promotion:
        """Go back to the pack before the live one. It does not undo external effects."""
        return self._promoting.rollback(approvals, reason)

    def change_policy(self, policy: RootPolicy, approvals: Sequence[Approval]) -> RootPolicy:
        """Replace the root policy, signed by its owner role."""
        return self._promoting.change_policy(policy, approvals)

    # --- recorded calls -------------------------------------------------------------------

    def export_calls(self, path: str | Path) -> int:
        """Write every recorded model call as JSON lines; returns how many."""
        return export_calls(self.parts.traces, Path(path))

    def import_calls(self, path: str | Path) -> int:
        """Take recorded calls from a file that :meth:`export_calls` wrote, so they replay here."""
        return import_calls(self.parts.traces, Path(path))

    # --- inside ---------------------------------------------------------------------------

    def _require_live(self) -> AgentPack:
        live = self.live
        if live is None:
            raise PackError(
                f"lab {self.path.name}",
                got="no live pack",
                allowed="a lab where a pack is live",
                next_step="Compile one first.",
            )
        return live


def _files(sources: Sequence[str | Path] | str | Path) -> list[Path]:
    """The files of one path, a folder's files in order of name, or a list of these.

    A link in a folder that leads out of it is left alone: the pack would ship what it points to.
    """
    given = [sources] if isinstance(sources, str | Path) else list(sources)
    found: list[Path] = []
    for source in map(Path, given):
        if source.is_dir():
            inside = source.resolve()
            files = [p for p in source.iterdir() if p.is_file()]
            found += sorted(p for p in files if p.resolve().is_relative_to(inside))
        else:
            found.append(source)
    return found
