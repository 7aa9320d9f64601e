"""Tasks and splits, plans, skills, policies, events, evidence."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from logoslab.errors import EvidenceError, InvalidValue, PackError, PolicyError
from logoslab.pack.event import EVENT_KINDS, EffectEvent, event_adapter
from logoslab.pack.evidence import Evidence, Trial, evidence_from_scores
from logoslab.pack.plan import ExecutionPlan, Phase, ToolStep
from logoslab.pack.policy import RootPolicy, parse_policy
from logoslab.pack.skill import SkillRule, parse_skill
from logoslab.pack.task import Task, split_of, split_tasks

FRACTIONS = {"proposal": 0.25, "selection": 0.1, "gate": 0.4, "report": 0.25}


def test_splits_are_disjoint_complete_and_of_the_declared_size():
    """10,000 ids fall into four disjoint splits within 2 points of the declared shares."""
    tasks = [Task(id=f"T{i}") for i in range(10_000)]
    parts = split_tasks(tasks, FRACTIONS, "salt")
    assert sorted(t.id for part in parts.values() for t in part) == sorted(t.id for t in tasks)
    shares = {split: len(part) / 10_000 for split, part in parts.items()}
    assert shares == pytest.approx(FRACTIONS, abs=0.02)


@given(st.text(min_size=1), st.text())
def test_a_split_depends_on_id_and_salt_alone(task_id, salt):
    """Asking twice, in any order, gives the same split."""
    assert split_of(task_id, FRACTIONS, salt) == split_of(task_id, FRACTIONS, salt)


def test_fractions_must_sum_to_one():
    """Shares of 0.9 in all are refused, in words."""
    with pytest.raises(InvalidValue, match="allowed non-negative shares that sum to 1"):
        split_of("t", {"gate": 0.9}, "s")


def phase(name, *needs):
    return Phase(id=name, agent="a", step=ToolStep(tool="t"), needs=needs)


def test_plan_order_respects_needs_and_then_file_order():
    """d needs b, b needs a: a, b, c, d (c is free and keeps its place)."""
    plan = ExecutionPlan(phases=(phase("d", "b"), phase("a"), phase("b", "a"), phase("c")))
    assert [p.id for p in plan.in_order()] == ["a", "b", "d", "c"]


@pytest.mark.parametrize(
    "phases",
    [(phase("a", "b"), phase("b", "a")), (phase("a", "nobody"),), (phase("a"), phase("a"))],
)
def test_cycles_unknown_needs_and_duplicates_are_refused(phases):
    """A plan is a DAG over its own phases."""
    with pytest.raises(ValidationError, match="needs name other phases without a cycle"):
        ExecutionPlan(phases=phases)


SKILL = """---
name: intake
description: Read a ticket.
metadata:
  owner: security
---
Copy the data phrase.

## Examples
- input: Holds "price lists".
  output: {"data": "price lists"}

## Rules
- when description mentions "Archive", data_class is "confidential"
- a line that is only prose
"""


def test_skill_parts_and_rules():
    """Instructions, examples and rules are read; prose in the rules section is ignored."""
    skill = parse_skill(SKILL)
    assert skill.instructions == "Copy the data phrase."
    assert skill.examples[0].output == {"data": "price lists"}
    assert skill.rules == (
        SkillRule(field="description", text="Archive", target="data_class", value="confidential"),
    )
    fired = skill.apply_rules({"description": "the ARCHIVE share"}, {"data_class": "public"})
    assert fired == {"data_class": "confidential"}
    assert skill.apply_rules({"description": "the wiki"}, {"x": 1}) == {"x": 1}


@given(*[st.from_regex(r"[a-z]{1,8}", fullmatch=True)] * 4)
def test_a_rule_reads_back_from_its_own_line(field, text, target, value):
    """``SkillRule.line`` is the grammar that ``parse_skill`` reads."""
    rule = SkillRule(field=field, text=text, target=target, value=value)
    assert parse_skill(f"---\nname: a\ndescription: b\n---\n## Rules\n{rule.line()}\n").rules == (
        rule,
    )


@pytest.mark.parametrize("text", ["", "no front matter", "---\nname: [\n---\n", "---\nx: 1\n---\n"])
def test_a_malformed_skill_is_a_pack_error(text):
    """Missing, broken or foreign front matter is named, not guessed."""
    with pytest.raises(PackError, match="allowed YAML front matter with name and description"):
        parse_skill(text)


def test_policy_round_trips_through_toml():
    """The file says everything the value says."""
    policy = RootPolicy(objective="review", evaluator={"delta_min": 0.05})
    assert parse_policy(policy.to_toml()) == policy


@pytest.mark.parametrize(
    ("text", "got"),
    [
        ("objective = ", "got Invalid value"),
        ("", "got objective: Field required"),
        ('objective = "x"\n[evaluator]\nalpha = 2', "got evaluator.alpha: Input should be less"),
        ('objective = "x"\nfriend = 1', "got friend: Extra inputs are not permitted"),
    ],
)
def test_a_malformed_policy_names_the_field(text, got):
    """Not TOML, missing, out of range, unknown: each is one clear line."""
    with pytest.raises(PolicyError, match=got):
        parse_policy(text)


def test_every_event_kind_is_in_the_union():
    """The twelve kinds of the trace are exactly the members of the union."""
    schema = event_adapter.json_schema()
    assert set(schema["discriminator"]["mapping"]) == set(EVENT_KINDS)
    event = EffectEvent(
        run="r", seq=0, at=1.0, call="c", tool="t", effect="read_only", status="executed"
    )
    assert event_adapter.validate_json(event.model_dump_json()) == event


def test_missing_results_count_as_failure_and_stay_in_the_denominator():
    """Tasks a, b, c; candidate lost c: d = (+1, 0, −1), n = 3, and c is named."""
    evidence = evidence_from_scores({"a": 0, "b": 1, "c": 1}, {"a": 1, "b": 1, "c": None})
    pairs = evidence.pairs()
    assert pairs.difference.tolist() == [1.0, 0.0, -1.0]
    assert pairs.filled == ("c",)


def test_a_task_that_only_one_arm_ran_is_kept():
    """A task absent from the candidate file altogether is a failure too."""
    assert evidence_from_scores({"a": 1, "b": 1}, {"a": 1}).pairs().difference.tolist() == [0, -1]


def test_replicates_are_averaged_within_a_task():
    """Incumbent 0, 1 and candidate 1, 1 on one task give d = 0.5 (Eq. 58)."""
    values = [("incumbent", 0.0), ("incumbent", 1.0), ("candidate", 1.0), ("candidate", 1.0)]
    trials = [Trial(task="a", arm=a, value=v, replicate=i % 2) for i, (a, v) in enumerate(values)]
    assert Evidence(trials=trials).pairs().difference.tolist() == [0.5]


def test_one_arm_is_no_paired_evidence():
    """Without a candidate there is nothing to compare, and the message says which arm is there."""
    evidence = Evidence(trials=(Trial(task="a", arm="incumbent", value=1.0),))
    with pytest.raises(EvidenceError, match=r"got arms \['incumbent'\] among 1 trials"):
        evidence.pairs()


def test_evidence_frame_is_tidy():
    """One row a trial, one column a field, NaN where unmeasured."""
    frame = evidence_from_scores({"a": 1.0}, {"a": None}).frame()
    assert list(frame.columns) == list(Trial.model_fields)
    assert np.isnan(frame.value[1])


def test_a_json_file_of_the_wrong_shape_never_parses():
    """Extra fields are refused everywhere: a typo cannot pass as a setting."""
    with pytest.raises(ValidationError):
        Task.model_validate_json(json.dumps({"id": "a", "label": 1}))
