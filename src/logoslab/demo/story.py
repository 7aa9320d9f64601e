"""The story, one method a step. The notebook and the command run the same methods."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

from logoslab.compile import ProbeValidatedPack, StubService, read_document
from logoslab.demo.domain import Domain, demo_policy, submit_patch
from logoslab.errors import PackError
from logoslab.evolve import Rewording, SkillRuleFromFailure, ToolSchemaRepair
from logoslab.human import PersonKey, new_key
from logoslab.lifecycle.candidate import Candidate
from logoslab.lifecycle.lab import Lab
from logoslab.lifecycle.promoting import Promotion
from logoslab.lifecycle.running import Run
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.run import Abstention
from logoslab.pack.task import Split, Task
from logoslab.ports import Model
from logoslab.route import Cascade

AFTER_DRIFT = 20
"""How many live tasks meet the drifted service before somebody proposes a repair."""


class Judged(NamedTuple):
    """A candidate with its evidence and the decisions of both gates."""

    candidate: Candidate
    evidence: Evidence
    decisions: tuple[Decision, ...]


class Story:
    """Compile, operate, drift, propose, gate, approve, promote, roll back, verify.

    Use as a context manager: it runs the exceptions service twice on loopback, once as the live
    one and once as the sandbox of trials, and holds a throwaway key that stands for a person.

    Parameters
    ----------
    folder : Path
        Where the lab goes, as ``folder/lab``.
    domain : Domain
    model : str or Model
    progress : bool
    """

    def __init__(
        self, folder: Path, domain: Domain, *, model: str | Model = "embedded",
        progress: bool = True,
    ) -> None:  # fmt: skip
        self.folder, self.domain, self.progress = folder, domain, progress
        self._model, self._stack = model, ExitStack()
        self.router = Cascade()
        self.judged: dict[str, Judged] = {}

    def __enter__(self) -> Self:
        first = read_document(self.domain.api(1))
        self.live_service = self._stack.enter_context(StubService(first))
        self.sandbox_service = self._stack.enter_context(StubService(first))
        # The key lives outside the lab for as long as the story: agent code cannot reach it.
        keys = Path(self._stack.enter_context(TemporaryDirectory(prefix="logoslab-demo-")))
        self.key: PersonKey = new_key("demo-release-owner", keys)
        self.lab = Lab(
            self.folder / "lab",
            policy=demo_policy(self.key.id),
            model=self._model,
            services={self.live_service.name: self.live_service.url},
            sandbox={self.sandbox_service.name: self.sandbox_service.url},
            scorer=self.domain.scorer(),
        )
        self.lab.add_key(self.key.public)
        self.splits: dict[Split, list[Task]] = self.lab.split(self.domain.tasks)
        return self

    def __exit__(self, *exception: object) -> None:
        self.lab.close()
        self._stack.close()

    # --- compile and operate --------------------------------------------------------------

    def compile(self) -> ProbeValidatedPack:
        """Documents and a brief into a pack whose every probe passed."""
        result = self.lab.compile(self.domain.sources, self.domain.brief)
        if not isinstance(result, ProbeValidatedPack):
            raise PackError(
                "demo pack",
                got="; ".join(d.message for d in result.diagnostics),
                allowed="documents that compile",
                next_step="Restore data/security_exception with its generate.py.",
            )
        self.first: AgentPack = result.pack
        return result

    async def operate(self) -> Run:
        """The proposal tasks through the cascade, against the service as it was described."""
        self.before_drift = await self._run("operate", self.splits["proposal"])
        return self.before_drift

    async def drift(self) -> Run:
        """The service moves to version 2 without notice; the next drafts fail."""
        second = read_document(self.domain.api(2))
        self.live_service.switch(second)
        self.sandbox_service.switch(second)
        self.after_drift = await self._run("drifted", self.splits["proposal"][:AFTER_DRIFT])
        return self.after_drift

    async def _run(self, name: str, tasks: list[Task]) -> Run:
        return await self.lab.run(
            None, tasks, name=name, router=self.router, progress=self.progress
        )

    # --- propose and gate -----------------------------------------------------------------

    def propose(self) -> dict[str, Candidate]:
        """Four candidates: a repair, an over-general rule, a rewording, a grab for authority."""
        feedback = self.domain.feedback(self.splits["proposal"])
        tasks = self.domain.tasks
        found = {
            "repair": self.lab.propose(self.after_drift, ToolSchemaRepair(feedback), tasks=tasks),
            "rule": self.lab.propose(
                self.before_drift, SkillRuleFromFailure(feedback), tasks=tasks
            ),
            "rewording": self.lab.propose(self.before_drift, Rewording("intake"), tasks=tasks),
            "submit": self.lab.propose(self.before_drift, submit_patch(self.first), tasks=tasks),
        }
        for name, candidate in found.items():
            if isinstance(candidate, Abstention):
                raise PackError(
                    f"demo candidate {name}",
                    got=f"abstention: {candidate.reason}",
                    allowed="a candidate",
                    next_step="Look at the trace of the run it should learn from.",
                )
        self.candidates = {n: c for n, c in found.items() if isinstance(c, Candidate)}
        return self.candidates

    async def gate(self, name: str) -> Judged:
        """Run one candidate and the incumbent on the gate tasks; both gates decide."""
        candidate = self.candidates[name]
        evidence = await self.lab.evaluate(candidate, self.splits["gate"], progress=self.progress)
        decisions = tuple(
            self.lab.gate(candidate, rule, evidence=evidence) for rule in ("paired", "anytime")
        )
        self.judged[name] = Judged(candidate, evidence, decisions)
        return self.judged[name]

    async def on_its_trigger(self) -> tuple[float | None, float | None]:
        """Mean score on the failures the rule was written from, before and after it: the proxy.

        These tasks are in the proposal split. The rule looks good on them; that is the point.
        """
        rule = self.candidates["rule"]
        word, value = _rule_of(rule)
        wrong = [
            r.task
            for r in self.before_drift.results
            if self.domain.labels[r.task]["data_class"] == value
            and (r.output or {}).get("data_class") not in (None, value)
            and word in self.domain.tickets[r.task]["description"].casefold()
        ]
        tasks = [t for t in self.splits["proposal"] if t.id in wrong]
        before = await self.lab.run(None, tasks, name="trigger", sandboxed=True, progress=False)
        after = await self.lab.run(rule.pack, tasks, name="trigger", progress=False)
        return before.mean, after.mean

    # --- approve, promote, roll back ------------------------------------------------------

    def approve(self, name: str, reason: str) -> None:
        """A person reads the change in the queue and signs it."""
        judged = self.judged[name]
        item = self.lab.request_approval(judged.candidate, judged.decisions)
        self.lab.desk(self.key).decide(item.change.id, "approve", reason)

    def promote(self, name: str, approvals_of: str | None = None) -> Promotion:
        """Ask for promotion, with the approvals of this candidate or, to cheat, of another."""
        judged = self.judged[name]
        approvals = self.lab.approvals(self.candidates[approvals_of or name])
        return self.lab.promote(judged.decisions, approvals)

    async def report_split(self) -> tuple[Run, Run]:
        """Both packs on the report split, which nobody has looked at: before and after."""
        tasks = self.splits["report"]
        runs = []
        for pack in (self.first, self.candidates["repair"].pack):
            runs.append(
                await self.lab.run(
                    pack, tasks, name="report", sandboxed=True, progress=self.progress
                )
            )
        return runs[0], runs[1]

    def rollback(self, reason: str) -> Promotion:
        """Back to the first pack, signed. Drafts already in the service stay there."""
        approval = self.lab.desk(self.key).sign_rollback(reason)
        return self.lab.rollback([approval], reason)

    def summary(self) -> dict[str, Any]:
        """Every decision with its numbers."""
        return {
            name: {
                "title": judged.candidate.title,
                "candidate": judged.candidate.pack.digest,
                "footprint": judged.candidate.footprint.model_dump(mode="json"),
                "decisions": {d.rule: _decision(d) for d in judged.decisions},
            }
            for name, judged in self.judged.items()
        }


def _decision(decision: Decision) -> Mapping[str, Any]:
    return json.loads(decision.model_dump_json(exclude={"path"}))  # type: ignore[no-any-return]


def _rule_of(candidate: Candidate) -> tuple[str, str]:
    """The word and the value of the rule that a skill-rule candidate adds."""
    rules = [rule for skill in candidate.pack.skills.values() for rule in skill.rules]
    return rules[-1].text.casefold(), rules[-1].value
