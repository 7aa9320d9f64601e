"""One turn of the LOGOS loop on the demo's team, with a model that needs no weights."""

import asyncio

import pytest

from logoslab.compile import read_document
from logoslab.demo import Story, load_domain
from logoslab.evolve import Rewording, ToolSchemaRepair
from logoslab.lifecycle.logos import release_cycle
from logoslab.pack.run import Abstention
from tests.demo.make import copying_model


@pytest.fixture
def story(tmp_path):
    """A compiled team whose service has drifted."""
    domain = load_domain()
    few = dict(list(domain.tickets.items())[:200])
    with Story(
        tmp_path, domain._replace(tickets=few), model=copying_model(), progress=False
    ) as told:
        told.compile()
        for service in (told.live_service, told.sandbox_service):
            service.switch(read_document(domain.api(2)))
        yield told


def turn(story, approve, *proposers):
    return asyncio.run(
        release_cycle(story.lab, story.domain.tasks, proposers, approve, progress=False)
    )


def test_a_cycle_promotes_what_helps_and_a_person_signs(story):
    """The rewording is judged and no person is asked; the repair is accepted, signed, promoted."""
    asked = []

    def approve(change):
        asked.append(change.title)
        story.lab.desk(story.key).decide(change.id, "approve", "read it")

    cycle = turn(story, approve, Rewording("intake"), ToolSchemaRepair(), Rewording("intake"))
    assert [c.proposer for c in cycle.considered] == ["rewording", "tool_schema_repair"]
    assert cycle.promoted
    assert cycle.considered[0].promotion is None
    assert len(asked) == 1
    assert story.lab.live == cycle.considered[1].proposal.pack
    second = turn(story, approve, ToolSchemaRepair())
    assert isinstance(second.considered[0].proposal, Abstention)
    assert not second.promoted


def test_without_a_persons_answer_nothing_is_promoted(story):
    """Accepted evidence alone changes nothing live."""
    cycle = turn(story, lambda change: None, ToolSchemaRepair())
    (only,) = cycle.considered
    assert all(d.accepted for d in only.decisions)
    assert only.promotion.reasons == ("no valid approval in role release_owner",)
    assert story.lab.live == story.first
