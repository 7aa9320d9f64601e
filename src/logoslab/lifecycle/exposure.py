"""The firewall of a lab: how worn its gate split is, and what its proposers hear of its gates."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue

from logoslab.errors import EvidenceError
from logoslab.files import locked
from logoslab.gate import Exposure, ExposureBudget, holdout_digest, proposal_trace
from logoslab.lifecycle.parts import Parts
from logoslab.pack.decision import Decision, ProposalView
from logoslab.pack.event import AuditEvent, Event
from logoslab.pack.evidence import Evidence
from logoslab.pack.task import Task, split_tasks
from logoslab.store import AuditRecord

GATE, TRIAL, RELEASE, RETIRE, USE = "gate", "trial", "release", "retire", "use"


class Firewall:
    """Counts what left the lab's gate split, from the audit log; nothing sets a count back."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def split(self) -> str:
        """Identity of the gate split that the root policy draws now."""
        return holdout_digest(self._parts.policy.holdout)

    @property
    def budget(self) -> ExposureBudget:
        """What the current split has served: candidates, releases and accepted regressions."""
        holdout, split = self._parts.policy.holdout, self.split
        return ExposureBudget(
            max_decisions=holdout.max_decisions,
            max_releases=holdout.max_releases,
            max_loss=holdout.max_loss,
            used={split: len(self._seen())},
            released={split: len(self._released())},
            lost={split: self._lost()},
        )

    def require(self, candidate: str, tasks: Sequence[str]) -> None:
        """Refuse a trial or a decision that the exposure budget does not allow.

        A candidate counts once, whichever gate tasks it ran on: they are all of one split. It
        counts from here on, before its trial runs, so that two labs at once cannot share the last
        use; one whose trial never ends has still been counted. The
        first refusal retires the split, on record; from then on every decision on it, and every
        task that served it, is refused.

        Raises
        ------
        EvidenceError
        """
        with locked(self._parts.folder / "firewall"):
            retired = [r for r in self._parts.audit.records() if r.act == RETIRE]
            for record in retired:
                if record.subject == self.split:
                    raise self._worn(str(record.detail["reason"]))
                self._require_fresh(record, tasks)
            asked = self._asked(candidate)
            if not asked.allowed:
                self._retire(asked.reason)
                raise self._worn(asked.reason)
            if candidate not in self._seen():
                self._parts.audit.append(USE, candidate, {"holdout": self.split})

    def view(self, decision: Decision) -> ProposalView:
        """The proposal-safe view of a decision; the release of its aggregates is on record."""
        return self.views([decision])[0]

    def views(self, decisions: Sequence[Decision]) -> list[ProposalView]:
        """The proposal-safe view of each decision.

        Once ``holdout.max_releases`` decisions have been released, later ones leave as verdicts
        alone, and the view says so. A decision that was released tells nothing new.
        """
        found = []
        with locked(self._parts.folder / "firewall"):
            released, budget, split = self._released(), self.budget, self.split
            for decision in decisions:
                asked = budget.ask_release(split)
                if asked.allowed and decision.digest not in released:
                    detail: dict[str, JsonValue] = {"decision": decision.digest, "holdout": split}
                    self._parts.audit.append(RELEASE, decision.candidate, detail)
                    released.add(decision.digest)
                    budget = budget.release(split)
                inside = "" if decision.digest in released else asked.reason
                found.append(decision.proposal_view(withheld=inside))
        return found

    def trace(self, run: str, tasks: Sequence[Task]) -> tuple[Event, ...]:
        """All that a proposer is given: events of proposal tasks, then verdicts of past gates.

        Parameters
        ----------
        run : str
        tasks : sequence of Task
            By default the run's own.
        """
        events = self._parts.traces.events(run=run)
        known = tasks or [Task(id=task) for task in sorted({e.task for e in events if e.task})]
        holdout = self._parts.policy.holdout
        mine = split_tasks(known, holdout.fractions, holdout.salt)["proposal"]
        return (*proposal_trace(events, [task.id for task in mine]), *self._verdicts(run))

    def _verdicts(self, run: str) -> list[AuditEvent]:
        """Every gate decision of the lab, as its view."""
        judged = [r for r in self._parts.audit.records() if r.act == GATE]
        kept = [self._parts.decisions.get(str(r.detail["decision"]), Decision) for r in judged]
        return [
            AuditEvent(
                run=run,
                seq=record.seq,
                at=record.at,
                act=GATE,
                subject=record.subject,
                detail=view.model_dump(mode="json"),
            )
            for record, view in zip(judged, self.views(kept), strict=True)
        ]

    def _asked(self, candidate: str) -> Exposure:
        """Another decision on a candidate that was counted costs none, but losses still count."""
        budget = self.budget
        seen = candidate in self._seen()
        return (budget.replace(used={}) if seen else budget).ask(self.split)

    def _records(self, *acts: str) -> list[AuditRecord]:
        """Records of these acts on the current split; one that names no split counts as on it."""
        split, records = self.split, self._parts.audit.records()
        return [r for r in records if r.act in acts and r.detail.get("holdout", split) == split]

    def _seen(self) -> set[str]:
        return {r.subject for r in self._records(GATE, TRIAL, USE)}

    def _released(self) -> set[str]:
        return {str(r.detail["decision"]) for r in self._records(RELEASE)}

    def _lost(self) -> float:
        """Accepted regressions; a candidate that several rules accepted lost its tasks once."""
        lost: dict[str, float] = {}
        for record in self._records(GATE):
            loss = float(str(record.detail.get("loss", 0)))
            lost[record.subject] = max(loss, lost.get(record.subject, 0.0))
        return sum(lost.values())

    def _retire(self, reason: str) -> None:
        served = {str(r.detail["evidence"]) for r in self._records(GATE, TRIAL)}
        found = [self._parts.evidence.get(digest, Evidence) for digest in sorted(served)]
        tasks = sorted({trial.task for evidence in found for trial in evidence.trials})
        self._parts.audit.append(RETIRE, self.split, {"reason": reason, "tasks": [*tasks]})

    def _require_fresh(self, record: AuditRecord, tasks: Sequence[str]) -> None:
        served = record.detail["tasks"]
        again = sorted(set(tasks) & {str(t) for t in served} if isinstance(served, list) else ())
        if again:
            raise EvidenceError(
                "gate tasks",
                got=f"{len(again)} task(s) that served a retired split, first {again[0]}",
                allowed="tasks that no retired split has used",
                next_step="Leave them out, or draw fresh tasks.",
            )

    def _worn(self, reason: str) -> EvidenceError:
        budget = self.budget
        return EvidenceError(
            "gate split",
            got=f"{budget.used[self.split]} candidates judged on it, "
            f"{budget.lost[self.split]:g} regressions accepted; it is retired",
            allowed=f"at most {budget.max_decisions} (holdout.max_decisions)"
            + ("" if budget.max_loss is None else f", {budget.max_loss:g} (holdout.max_loss)"),
            next_step=f"{reason[:1].upper()}{reason[1:]} under a new holdout.salt.",
        )
