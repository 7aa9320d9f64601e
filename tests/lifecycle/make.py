"""A small lab: one agent file to change, a throwaway key, hand-made evidence."""

import json

from logoslab.files import no_hook
from logoslab.human import new_key, sign_approval
from logoslab.lifecycle.candidate import Candidate
from logoslab.lifecycle.lab import Lab
from logoslab.pack.agent_pack import build_pack
from logoslab.pack.evidence import Evidence, evidence_from_scores
from logoslab.pack.patch import AddField, Append, Patch
from logoslab.pack.policy import RootPolicy
from logoslab.testing.clock import FixedClock
from logoslab.testing.models import ScriptedModel

FILES = {
    "agents/lead.md": "# Lead\n",
    "genome.json": json.dumps({"safety": {}}),
    "execution_plan.json": json.dumps({"phases": []}),
    "verifiers.json": "[]",
    "probes.json": "[]",
}
PACK = build_pack("small", FILES)


def policy_for(owner, **changes):
    """Both gates required; the owner holds every role."""
    base = {
        "objective": "test",
        "evaluator": {
            "rules": ("paired", "anytime"),
            "delta_min": 0.05,
            "r_max": 1,
            "accept_imported": True,
        },
        "holdout": {"sampling": "shared_pool", "max_decisions": 20},
        "approvals": {"roles": {"release_owner": (owner,), "policy_owner": (owner,)}},
    }
    return RootPolicy.model_validate(base | changes)


class Bench:
    """A lab with a live pack, a person's key, and a shorthand for each release step."""

    def __init__(self, tmp, *, fault=no_hook, model=None, live=True, **changes):
        self.key = new_key("owner", tmp / "config")
        self.clock = FixedClock()
        self.lab = Lab(
            tmp / "lab",
            policy=policy_for(self.key.id, **changes),
            model=model or ScriptedModel([]),
            clock=self.clock,
            fault=fault,
        )
        self.lab.add_key(self.key.public)
        if live:
            self.lab.parts.releases.make_live(PACK, None, "activate", {})

    def candidate(self, text="Be brief.\n", *edits) -> Candidate:
        """A candidate that appends a line to the lead's role."""
        patch = Patch(
            title=f"add {text!r}",
            base=self.lab.live.digest,
            proposer="test",
            edits=(Append(path="agents/lead.md", text=text), *edits),
        )
        found = self.lab.propose("none", patch)
        assert isinstance(found, Candidate)
        return found

    def evidence(self, candidate, gained=120, lost=0) -> Evidence:
        """``gained`` tasks go from 0 to 1 and ``lost`` from 1 to 0."""
        base = {f"g{i:03d}": 0.0 for i in range(gained)} | {f"l{i:03d}": 1.0 for i in range(lost)}
        cand = {task: 1.0 - score for task, score in base.items()}
        evidence = evidence_from_scores(base, cand, sampling="shared_pool")
        return evidence.replace(
            incumbent=candidate.patch.base, candidate=candidate.pack.digest, scorer="by hand"
        )

    def decisions(self, candidate, evidence=None):
        """Both gates on the evidence."""
        evidence = evidence or self.evidence(candidate)
        return [self.lab.gate(candidate, rule, evidence=evidence) for rule in ("paired", "anytime")]

    def approval(self, candidate, decisions, key=None, **changes):
        """A signed approval of this candidate on this evidence."""
        stated = {
            "role": "release_owner",
            "candidate": candidate.pack.digest,
            "evidence": decisions[0].evidence,
            "policy": self.lab.policy.digest,
            "now": self.clock.now(),
        }
        return sign_approval(key or self.key, **(stated | changes))

    def promote(self, candidate=None):
        """The whole way for a good candidate."""
        candidate = candidate or self.candidate()
        decisions = self.decisions(candidate)
        return self.lab.promote(decisions, [self.approval(candidate, decisions)])

    def bytes(self):
        """Every byte that says what is live."""
        folder = self.lab.path
        paths = [folder / "live", *sorted((folder / "archive/objects").glob("*"))]
        return {path.name: path.read_bytes() for path in paths if path.exists()}


GRANT = AddField(path="genome.json", pointer="/safety/authority", value=["submit"])
