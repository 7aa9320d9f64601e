"""Credit: put a failure down to one component, or abstain (LOGOS §3.6.4).

Only a primary attribution may trigger a proposal. A failure with several unrelated causes, or with
none that the trace supports, is left alone: editing the wrong component is worse than waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from logoslab.evolve.feedback import Feedback
from logoslab.evolve.rollouts import Refused, Rollout, rollouts
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.event import Event
from logoslab.pack.plan import HumanStep, Phase
from logoslab.pack.run import Attribution


class Cause(NamedTuple):
    """One thing that explains a failure; ``path`` is None when no component can be named."""

    path: str | None
    why: str


def attribute(
    pack: AgentPack, trace: Sequence[Event], feedback: Sequence[Feedback] = ()
) -> tuple[Attribution, ...]:
    """Attribute every failed rollout of the incumbent.

    Two kinds of evidence name a component. A structured 422 names the tool that sent the body.
    An answer that is wrong although the verifiers accepted it names the skill of the step that
    decided the first wrong field; without feedback on fields, a score below 1 names the skill
    when the plan has only one.

    Parameters
    ----------
    pack : AgentPack
        The incumbent that the trace is of.
    trace : sequence of Event
        Proposal-split events only; a firewall upstream sees to that.
    feedback : sequence of Feedback, optional

    Returns
    -------
    tuple of Attribution
        One for each primary component, most tasks first, then one for each reason to abstain.
        Secondary components are on record and trigger nothing.
    """
    expected = {f.task: f for f in feedback}
    found: dict[tuple[str | None, str], list[tuple[str, tuple[str, ...]]]] = {}
    for rollout in rollouts(trace):
        causes = list(_causes(pack, rollout, expected.get(rollout.task)))
        if causes:
            path, why, secondary = _primary(pack, causes)
            found.setdefault((path, why), []).append((rollout.task, secondary))
    attributions = [_attribution(pack, path, why, rows) for (path, why), rows in found.items()]
    return tuple(
        sorted(attributions, key=lambda a: (a.primary is None, -len(a.tasks), a.path or a.reason))
    )


def wrong_fields(output: Mapping[str, object], feedback: Feedback) -> list[str]:
    """Answer fields that were given and differ from the right value."""
    return [
        field
        for field, value in feedback.expected.items()
        if output.get(field) is not None and output[field] != value
    ]


def _causes(pack: AgentPack, rollout: Rollout, feedback: Feedback | None) -> Iterator[Cause]:
    """Distinct causes of one rollout's failure; nothing when it did not fail."""
    yield from dict.fromkeys(_refusal_cause(pack, refused) for refused in rollout.refusals)
    if feedback is not None:
        wrong = wrong_fields(rollout.output, feedback)
        if wrong and rollout.status != "interrupted":
            yield _answer_cause(pack, wrong)
            return
    if rollout.refusals:
        return  # the refusal alone explains a low score or a failed status
    low = rollout.score is not None and rollout.score < 1
    if feedback is None and rollout.status == "completed" and low:
        yield _only_skill(pack)
    elif rollout.status == "failed":
        where = ", ".join(dict.fromkeys(rollout.other_errors)) or "no call"
        yield Cause(None, f"failed without a structured refusal ({where} answered with an error)")


def _refusal_cause(pack: AgentPack, refused: Refused) -> Cause:
    path = f"tools/{refused.tool}.json"
    if path not in pack.files:
        return Cause(None, f"the refused tool {refused.tool} is not in the pack")
    if refused.component not in (None, pack.component_of(path)):
        return Cause(None, f"the trace is of {refused.component}, not {pack.component_of(path)}")
    return Cause(path, "the service refused the body that this tool sends")


def _answer_cause(pack: AgentPack, wrong: Sequence[str]) -> Cause:
    """The skill behind the first wrong field in plan order; later ones follow from it."""
    for phase in pack.plan.in_order():
        given = [f for f in wrong if str(pack.plan.output.get(f, "")).startswith(f"${phase.id}.")]
        if given:
            skill = _skill_of(phase)
            path = f"skills/{skill}/SKILL.md"
            if skill and path in pack.files:
                return Cause(path, f"accepted answers with a wrong {given[0]}")
            return Cause(None, f"no skill decides {given[0]}, so a wrong one has no owner")
    return Cause(None, f"the plan gives no {', '.join(wrong)}")


def _only_skill(pack: AgentPack) -> Cause:
    skills = sorted({s for phase in pack.plan.phases if (s := _skill_of(phase))})
    if len(skills) != 1:
        return Cause(None, f"a low score and {len(skills)} skills that could have caused it")
    return Cause(f"skills/{skills[0]}/SKILL.md", "accepted answers with a low score")


def _skill_of(phase: Phase) -> str | None:
    return None if isinstance(phase.step, HumanStep) else phase.step.skill


def _primary(pack: AgentPack, causes: Sequence[Cause]) -> tuple[str | None, str, tuple[str, ...]]:
    """One supported cause is primary; several, or none, are an abstention."""
    paths = tuple(dict.fromkeys(c.path for c in causes if c.path))
    if len(causes) == 1:
        return causes[0].path, causes[0].why, ()
    refs = tuple(pack.component_of(path) for path in paths)
    return None, "several unrelated causes", refs


def _attribution(
    pack: AgentPack, path: str | None, why: str, rows: Sequence[tuple[str, tuple[str, ...]]]
) -> Attribution:
    return Attribution(
        primary=pack.component_of(path) if path else None,
        path=path,
        secondary=tuple(dict.fromkeys(ref for _, secondary in rows for ref in secondary)),
        reason=why,
        tasks=tuple(dict.fromkeys(task for task, _ in rows)),
    )
