"""Gating: evaluate a candidate in isolation, judge the evidence, keep the record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from logoslab.errors import AuditTampered, AuthorityError, EvidenceError, LogoslabError, PackError
from logoslab.files import locked, write_atomic
from logoslab.gate import (
    PROMOTING,
    GateLedger,
    accepted_loss,
    measured_by,
    rule_on_record,
    split_digest,
)
from logoslab.lifecycle.candidate import Candidate
from logoslab.lifecycle.evaluation import ArmResults, drawn, evidence_of
from logoslab.lifecycle.exposure import GATE, TRIAL, Firewall
from logoslab.lifecycle.measuring import verifiers_named
from logoslab.lifecycle.parts import Parts
from logoslab.lifecycle.running import Running
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Arm, Evidence
from logoslab.pack.task import Task, split_of
from logoslab.ports import AdmissionRule, Scorer

PRICE = "price"


class Gating:
    """The gate desk of a lab: it runs trials, keeps evidence and decisions, and pays the ledger."""

    def __init__(self, parts: Parts, running: Running) -> None:
        self._parts, self._running = parts, running
        self.firewall = Firewall(parts)
        self._ledger_file = parts.folder / "gate_ledger.json"

    async def evaluate(
        self,
        candidate: Candidate,
        incumbent: AgentPack,
        tasks: Sequence[Task],
        scorer: Scorer | None,
        *,
        progress: bool = True,
    ) -> Evidence:
        """Run incumbent and candidate on the same tasks, each with a fresh router, in the sandbox.

        Both arms meet the same recorded model calls where they ask the same question, so a
        difference is the patch and nothing else.
        """
        if scorer is None:
            raise PackError(
                "evaluation",
                got="a lab without a scorer",
                allowed="Lab(..., scorer=...), which holds the labels",
                next_step="Give the lab a scorer, e.g. ll.verify.ExactScorer(labels).",
            )
        self._require_gate_tasks(candidate, incumbent, tasks)
        self.firewall.require(candidate.pack.digest, [task.id for task in tasks])
        packs: tuple[tuple[Arm, AgentPack], ...] = (
            ("incumbent", incumbent),
            ("candidate", candidate.pack),
        )
        arms = []
        for arm, pack in packs:
            done = await self._running.run(
                pack,
                tasks,
                name=f"trial-{candidate.pack.digest[7:15]}",
                arm=arm,
                scorer=scorer,
                sandboxed=True,
                progress=progress,
            )
            arms.append(ArmResults(done.arm, done.results))
        evidence = evidence_of(
            tasks,
            arms,
            scorer,
            incumbent=incumbent.digest,
            candidate=candidate.pack.digest,
            sampling=self._parts.policy.holdout.sampling,
            draws=drawn(tasks, self._parts.policy.holdout, candidate.pack.digest),
            verifiers=verifiers_named(incumbent, candidate.pack),
        )
        self._parts.evidence.put(evidence)
        self._parts.audit.append(
            TRIAL,
            evidence.candidate,
            {
                "evidence": evidence.digest,
                "tasks": len(tasks),
                "holdout": self.firewall.split,
            },
        )
        return evidence

    def decide(
        self, candidate: Candidate, evidence: Evidence, rule: str | AdmissionRule, **params: Any
    ) -> Decision:
        """Judge evidence by a rule and put the decision on record.

        An anytime rule gets its level from the lab's ledger, fixed before it looks at the first
        task, and is settled after. A parameter ``safety``, a :class:`SafetyAxis`, guards a rule
        given by name.
        """
        if evidence.candidate != candidate.pack.digest:
            raise EvidenceError(
                f"evidence for candidate {candidate.title!r}",
                got=f"evidence about {evidence.candidate}",
                allowed=f"evidence about {candidate.pack.digest}",
                next_step="Evaluate this candidate, then judge that evidence.",
            )
        self.firewall.require(candidate.pack.digest, [t.task for t in evidence.trials])
        # A candidate need not have been proposed here: whatever is judged can be found again.
        self._parts.evidence.put(evidence)
        self._parts.archive.put_pack(candidate.pack)
        self._parts.candidates.put(candidate)
        evaluator = self._parts.policy.evaluator
        if rule == "anytime" and "level" not in params:
            decision = self._at_the_ledgers_level(evidence, params)
        elif isinstance(rule, str):
            decision = rule_on_record(rule, evaluator, **params).decide(evidence)
        else:
            decision = rule.decide(evidence)
        return self._keep(measured_by(decision, evidence), evidence, candidate)

    def known(self, decision: Decision) -> bool:
        """Whether this lab made the decision: it is kept, and the audit log names it."""
        return decision.digest in self._judged() and self._parts.decisions.has(decision.digest)

    def candidate_of(self, decision: Decision) -> Candidate:
        """The candidate that a :meth:`known` decision judged, from the lab's own files.

        Raises
        ------
        StoreError, PackTampered
            When the document is gone or was changed.
        """
        return self._parts.candidates.get(self._judged()[decision.digest], Candidate)

    def _judged(self) -> dict[str, str]:
        """Digest of each decision on record → digest of the candidate document it judged."""
        gates = [r.detail for r in self._parts.audit.records() if r.act == GATE]
        return {str(d["decision"]): str(d["candidate"]) for d in gates if "candidate" in d}

    def against(self, decision: Decision, evidence: Evidence) -> list[str]:
        """What the lab's own records say against a decision that wants to carry a promotion.

        Its evidence was not measured here; the rule of that name does not conclude this from that
        evidence; or an anytime gate ran at a level that the ledger did not price.
        """
        found = []
        measured = {r.detail.get("evidence") for r in self._parts.audit.records() if r.act == TRIAL}
        if evidence.digest not in measured and not self._parts.policy.evaluator.accept_imported:
            found.append("the evidence was not measured by this lab's own trials")
        if decision.rule in PROMOTING and not _reproduces(decision, evidence):
            found.append(f"{decision.rule}: the rule does not conclude this from the evidence")
        if decision.rule == "anytime" and not self._was_priced(decision):
            found.append("anytime: its level was not fixed by the ledger before the gate looked")
        return found

    def _was_priced(self, decision: Decision) -> bool:
        level = decision.numbers.get("level")
        return any(
            entry.level == level and entry.gate.startswith(f"{decision.candidate}#")
            for entry in self.ledger.entries
        )

    @property
    def ledger(self) -> GateLedger:
        """The account of anytime gates, replayed from its file.

        Raises
        ------
        AuditTampered
            When the audit log knows of more priced gates than the file: levels are spent once.
        """
        policy = self._parts.policy
        ledger = GateLedger(policy.evaluator.alpha, policy.holdout.sampling)
        if self._ledger_file.exists():
            ledger = _replayed(self._ledger_file.read_bytes())
        opened = sum(e["event"] == "open" for e in ledger.to_dict()["events"])
        priced = sum(record.act == PRICE for record in self._parts.audit.records())
        if priced > opened:
            raise AuditTampered(
                "gate ledger",
                got=f"{opened} priced gates",
                allowed=f"the {priced} that the audit log names",
                next_step=f"Restore {self._ledger_file.name} from a copy.",
            )
        return ledger

    def _at_the_ledgers_level(self, evidence: Evidence, params: dict[str, Any]) -> Decision:
        with locked(self._ledger_file):
            ledger = self.ledger
            gate = f"{evidence.candidate}#{len(ledger.to_dict()['events'])}"
            level = ledger.price(gate)
            self._save(ledger)  # Before the gate looks: a crash leaves the level spent.
            self._parts.audit.append(PRICE, evidence.candidate, {"gate": gate, "level": level})
            rule = rule_on_record("anytime", self._parts.policy.evaluator, **params, level=level)
            decision = rule.decide(evidence)
            if decision.rule == "anytime" and decision.numbers.get("level") is not None:
                ledger.settle(gate, decision)
            else:
                ledger.abandon(gate)
            self._save(ledger)
        return decision

    def _save(self, ledger: GateLedger) -> None:
        write_atomic(self._ledger_file, json.dumps(ledger.to_dict()).encode())

    def _keep(self, decision: Decision, evidence: Evidence, candidate: Candidate) -> Decision:
        self._parts.decisions.put(decision)
        self._parts.audit.append(
            GATE,
            decision.candidate,
            {
                "rule": decision.rule,
                "conclusion": decision.conclusion.value,
                "decision": decision.digest,
                "candidate": candidate.digest,
                "evidence": decision.evidence,
                "incumbent": decision.incumbent,
                "split": split_digest(t.task for t in evidence.trials),
                "holdout": self.firewall.split,
                "loss": accepted_loss(decision, evidence),
                "scorer": decision.scorer,
                "verifiers": list(decision.verifiers),
                "tasks": decision.tasks,
            },
        )
        return decision

    def require_known(self, decisions: Sequence[Decision]) -> None:
        """Refuse decisions that this lab did not make.

        Raises
        ------
        AuthorityError
        """
        unknown = [d.rule for d in decisions if not self.known(d)]
        if unknown:
            raise AuthorityError(
                "decisions",
                got=f"decisions not on this lab's record: {', '.join(unknown)}",
                allowed="decisions that `Lab.gate` returned",
                next_step="Gate the candidate in this lab first.",
            )

    def _require_gate_tasks(
        self, candidate: Candidate, incumbent: AgentPack, tasks: Sequence[Task]
    ) -> None:
        """Trials are about the live pack, on tasks of the gate split and no others."""
        if candidate.patch.base != incumbent.digest:
            raise EvidenceError(
                f"candidate {candidate.title!r}",
                got=f"a patch written on {candidate.patch.base}",
                allowed=f"a patch on the live pack {incumbent.digest}",
                next_step="Propose the change again on what is live now.",
            )
        holdout = self._parts.policy.holdout
        outside = [t.id for t in tasks if split_of(t.id, holdout.fractions, holdout.salt) != "gate"]
        if outside or not tasks:
            raise EvidenceError(
                "gate tasks",
                got=f"{len(outside)} task(s) of other splits, first {outside[0]}"
                if outside
                else "no task",
                allowed="tasks of the gate split, at least one",
                next_step='Pass lab.split(tasks)["gate"].',
            )


def _replayed(data: bytes) -> GateLedger:
    try:
        return GateLedger.replay(json.loads(data))
    except (ValueError, RecursionError, EvidenceError) as cause:
        raise AuditTampered(
            "gate ledger",
            got=str(cause).splitlines()[0],
            allowed="the account that the lab wrote",
            next_step="Restore gate_ledger.json from a copy.",
        ) from cause


def _reproduces(decision: Decision, evidence: Evidence) -> bool:
    """Whether the shipped rule, with the parameters on record, decides the same again.

    A rule is a pure function, so a decision needs no trust: it can be made again.
    """
    params: dict[str, Any] = dict(decision.params)
    try:
        again = rule_on_record(decision.rule, **params).decide(evidence)
    except (TypeError, LogoslabError):
        return False
    return (again.conclusion, again.numbers) == (decision.conclusion, decision.numbers)
