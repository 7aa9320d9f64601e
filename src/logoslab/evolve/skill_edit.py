"""Write a skill rule from the template of a failure. Cheap, plausible, and often wrong.

It sees failures only, so it over-generalises by design: whether a rule breaks more than it fixes
is for a gate to find out, not for a proposer to promise.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from logoslab.evolve.credit import attribute, wrong_fields
from logoslab.evolve.feedback import Feedback
from logoslab.evolve.rollouts import rollouts
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.event import Event
from logoslab.pack.patch import Append, Patch
from logoslab.pack.plan import ModelStep
from logoslab.pack.policy import RootPolicy
from logoslab.pack.run import Abstention, Attribution
from logoslab.pack.skill import RULE, SkillRule
from logoslab.pack.tool import TableBinding

WORD: Final = re.compile(r"[^\W\d_]{4,}")
COMMON: Final = frozenset(
    WORD.findall(
        """about after also because been before being cannot could does ends every from have held
        here into keep keeps last more most need needs never next only other over please says
        should since some still such than that their them then there these they this those through
        today until very were what when where which while will with would year your"""
    )
)


class Failure(NamedTuple):
    """One wrong answer: which field, the right value, and the text it was read from."""

    task: str
    target: str
    value: str
    text: str


class SkillRuleFromFailure:
    """Proposer: one ``## Rules`` line for the most frequent correction.

    Of the accepted-but-wrong answers it takes the largest group with one right value, and of
    their words the one that most proposal tasks mention, so that the rule keeps firing; ties go
    to the longer, then the alphabetically first word. Words of the pack's own definitions and
    common words are left out.

    Parameters
    ----------
    feedback : sequence of Feedback
        On proposal tasks only.
    """

    name = "skill_rule"

    def __init__(self, feedback: Sequence[Feedback]) -> None:
        self._feedback = {f.task: f for f in feedback}

    def propose(
        self, pack: AgentPack, trace: Sequence[Event], policy: RootPolicy
    ) -> Patch | Abstention:
        """A patch that appends one rule to the skill, or the reason for none."""
        found = attribute(pack, trace, tuple(self._feedback.values()))
        skills = [a for a in found if a.path and a.path.startswith("skills/")]
        if not skills:
            why = "; ".join(a.reason for a in found) or "no failed rollout"
            return self._abstain(f"no failure is put down to a skill: {why}")
        field = text_field(pack, skills[0].path or "", list(self._feedback.values()))
        if field is None:
            return self._abstain("the feedback holds no text field")
        group = self._largest_group(pack, trace, skills[0], field)
        if not group:
            return self._abstain("no feedback says which field should have been what")
        word = self._salient_word(pack, group, field)
        if word is None:
            return self._abstain("the failing texts have no word of their own")
        rule = SkillRule(field=field, text=word, target=group[0].target, value=group[0].value)
        if not RULE.fullmatch(rule.line()):
            return self._abstain("the corrected value cannot stand in a rule")
        return self._patch(pack, skills[0], rule, group)

    def _largest_group(
        self, pack: AgentPack, trace: Sequence[Event], skill: Attribution, field: str
    ) -> list[Failure]:
        groups: dict[tuple[str, str], list[Failure]] = {}
        seen: set[str] = set()
        for rollout in rollouts(trace):
            feedback = self._feedback.get(rollout.task)
            if feedback is None or rollout.task not in skill.tasks or rollout.task in seen:
                continue
            seen.add(rollout.task)
            wrong = wrong_fields(rollout.output, feedback)
            target = next((f for f in _decided(pack, skill.path or "") if f in wrong), None)
            if target is not None and field in feedback.text:
                value = str(feedback.expected[target])
                failure = Failure(rollout.task, target, value, feedback.text[field])
                groups.setdefault((target, value), []).append(failure)
        largest = max(groups, key=lambda key: (len(groups[key]), key), default=None)
        return groups[largest] if largest else []

    def _salient_word(self, pack: AgentPack, group: list[Failure], field: str) -> str | None:
        reach = Counter(w for f in self._feedback.values() for w in _words(f.text.get(field, "")))
        candidates = {w for failure in group for w in _words(failure.text)}
        candidates -= COMMON | definition_words(pack)
        return min(candidates, key=lambda w: (-reach[w], -len(w), w), default=None)

    def _patch(
        self, pack: AgentPack, skill: Attribution, rule: SkillRule, group: list[Failure]
    ) -> Patch:
        path = skill.path or ""
        return Patch(
            title=f"Skill rule: {rule.text} means {rule.value}",
            rationale=f"{len(group)} proposal task(s) should have had {rule.target} "
            f"{rule.value}; first {group[0].task}.",
            base=pack.digest,
            proposer=self.name,
            target=skill.primary or "",
            edits=(Append(path=path, text=_section(pack.files[path]) + rule.line() + "\n"),),
        )

    def _abstain(self, reason: str) -> Abstention:
        return Abstention(proposer=self.name, reason=reason)


def text_field(pack: AgentPack, skill_path: str, feedback: Sequence[Feedback]) -> str | None:
    """The field that the skill's model step reads, else the longest text on average."""
    known = {name for f in feedback for name in f.text}
    for phase in pack.plan.phases:
        step = phase.step
        if isinstance(step, ModelStep) and f"skills/{step.skill}/SKILL.md" == skill_path:
            read = str(step.text).rpartition(".")[2]
            if read in known:
                return read
    return max(
        known, key=lambda n: (sum(len(f.text.get(n, "")) for f in feedback), n), default=None
    )


def definition_words(pack: AgentPack) -> set[str]:
    """Words of every table column that is searched for in a text: the pack's own vocabulary."""
    found: set[str] = set()
    for tool in pack.tools.values():
        if not isinstance(tool.binding, TableBinding):
            continue
        columns = [c for c, match in tool.binding.keys.items() if match == "contained_in"]
        for row in csv.DictReader(io.StringIO(pack.files.get(tool.binding.source, ""))):
            found |= {w for c in columns for w in _words(row.get(c) or "")}
    return found


def _decided(pack: AgentPack, skill_path: str) -> list[str]:
    """Answer fields that a step of this skill gives, in plan order."""
    fields = []
    for phase in pack.plan.in_order():
        skill = getattr(phase.step, "skill", None)
        if skill and f"skills/{skill}/SKILL.md" == skill_path:
            fields += [
                field
                for field, ref in pack.plan.output.items()
                if str(ref) == f"${phase.id}.{field}"
            ]
    return fields


def _words(text: str) -> set[str]:
    return set(WORD.findall(text.casefold()))


def _section(text: str) -> str:
    """The heading to put first when the file does not end in a rules section."""
    headings = re.findall(r"^## .*$", text, re.M)
    return "" if headings and headings[-1].strip() == "## Rules" else "\n## Rules\n"
