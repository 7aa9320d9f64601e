"""ApprovalQueue without a browser."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import ipywidgets as W
import pytest

from logoslab.errors import AuthorityError, InvalidValue
from logoslab.pack.patch import Footprint
from logoslab.widgets import ApprovalQueue
from tests.widgets.make import EVIL, Item, Queue, demo_queue

FILES = ("execution_plan.json", "tools/draft_exception.json")


def page(widget: object) -> str:
    """All HTML that a widget tree shows."""
    own = widget.value if isinstance(widget, W.HTML) else ""
    return own + "".join(page(child) for child in getattr(widget, "children", ()))


def click(box: ApprovalQueue, id: str, choice: str) -> None:
    """As the browser does it: the message, not the convenience method."""
    box.cards[id].buttons[choice]._handle_custom_msg({"event": "click"}, [])


@pytest.mark.parametrize("choice", ["approve", "reject"])
def test_a_click_with_a_reason_decides_and_draws_again(choice: str) -> None:
    """One click records the choice and its trimmed reason, and the card leaves the page."""
    queue, told = demo_queue(), []
    box = ApprovalQueue(queue, on_decide=lambda *a: told.append(a))
    box.cards["repair-1"].reason.value = "  tested on all drafts "
    click(box, "repair-1", choice)
    assert queue.decided == [("repair-1", choice, "tested on all drafts", ())]
    assert told == [("repair-1", choice, "tested on all drafts")]
    assert list(box.cards) == ["rule-2"]
    assert box.status == f"{choice} recorded for repair-1: tested on all drafts"


def test_narrow_sends_the_files_to_keep() -> None:
    """Narrow passes on exactly the selected files; with none selected it is refused."""
    queue = demo_queue()
    box = ApprovalQueue(queue)
    card = box.cards["repair-1"]
    assert card.keep.value == FILES
    card.reason.value = "only the tool"
    card.keep.value = ()
    click(box, "repair-1", "narrow")
    assert card.status.text == (
        "files to keep: allowed at least one file of the change; got none. "
        "Select the files that may stay, or reject."
    )
    assert queue.decided == []
    card.keep.value = FILES[1:]
    click(box, "repair-1", "narrow")
    assert queue.decided == [("repair-1", "narrow", "only the tool", FILES[1:])]


def test_a_reason_is_required() -> None:
    """Without words nothing is decided, and the card says what to do."""
    queue = demo_queue()
    box = ApprovalQueue(queue)
    box.cards["repair-1"].reason.value = "   "
    click(box, "repair-1", "approve")
    assert queue.decided == []
    message = (
        "reason: allowed a reason in your own words; got no words. Write one, then approve again."
    )
    assert box.cards["repair-1"].status.text == box.status == message
    assert message in page(box)


def test_an_unknown_choice_is_refused() -> None:
    """The message names the three choices."""
    with pytest.raises(InvalidValue) as refused:
        ApprovalQueue(demo_queue()).decide("repair-1", "adopt", "x")  # type: ignore[arg-type]
    assert str(refused.value) == (
        "choice: allowed one of approve, narrow, reject; got adopt. Choose one of these."
    )


def test_a_double_click_decides_once() -> None:
    """The second click finds nothing pending, even from another thread, and says so."""
    queue, told = demo_queue(), []
    box = ApprovalQueue(queue, on_decide=lambda *a: told.append(a))
    card = box.cards["repair-1"]
    card.reason.value = "yes"
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: box.decide("repair-1", "approve", "yes"), range(8)))
    card.buttons["approve"]._handle_custom_msg({"event": "click"}, [])
    assert len(queue.decided) == len(told) == 1
    assert box.status == "repair-1 is no longer pending; nothing was changed."


def test_what_the_queue_refuses_is_shown_and_changes_nothing() -> None:
    """The queue's error stands in the status line, and the change still waits."""
    box = ApprovalQueue(demo_queue())
    message = "approval: allowed a listed key; got no key. Ask the release owner."
    with pytest.raises(AuthorityError):
        box.decide("repair-1", "approve", "refuse me")
    assert box.status == message
    assert "repair-1" in box.cards
    box.cards["repair-1"].reason.value = "refuse me"
    click(box, "repair-1", "approve")
    assert box.cards["repair-1"].status.text == message


def test_a_failing_follow_up_is_shown_after_the_decision_is_kept() -> None:
    """on_decide may fail: the decision stands, and its error is shown and not swallowed."""
    queue = demo_queue()

    def follow(*_: object) -> None:
        raise KeyError("no such lab")

    box = ApprovalQueue(queue, on_decide=follow)
    with pytest.raises(KeyError):
        box.decide("repair-1", "approve", "yes")
    assert len(queue.decided) == 1
    assert box.status == "KeyError: 'no such lab'"


def test_text_of_a_candidate_is_shown_as_text() -> None:
    """Title, proposer, diff, evidence, effects and reasons never become markup."""
    queue = demo_queue()
    box = ApprovalQueue(queue)
    html = page(box)
    assert html.count("&lt;script&gt;") >= 6
    box.decide("rule-2", "reject", EVIL)
    assert EVIL in box.status
    for text in (html, page(box)):
        assert "<script" not in text
        assert "<img" not in text


def test_the_card_shows_diff_risk_evidence_and_effects() -> None:
    """What a person must see is on the card, unmeasured values as such."""
    html = page(ApprovalQueue(demo_queue()).cards["repair-1"])
    text = re.sub(r"<[^>]*>", " ", html)
    shown = (
        "medium risk",
        "tool_schema_repair",
        "risk_rating",
        "log e",
        "3.05",
        "not measured",
        "draft_exception:transactional_write",
        "execution_plan.json",
    )
    for seen in shown:
        assert seen in text, seen


def test_a_new_widget_or_a_refresh_shows_the_queue_as_it_is() -> None:
    """The widget keeps nothing: changes made elsewhere appear, typed text of a kept card stays."""
    queue = demo_queue()
    box = ApprovalQueue(queue)
    box.cards["rule-2"].reason.value = "half a thought"
    queue.decide("repair-1", "reject", "elsewhere")
    queue.items["new-3"] = Item("new-3", "Third")
    box.refresh()
    assert list(box.cards) == list(ApprovalQueue(queue).cards) == ["rule-2", "new-3"]
    assert box.cards["rule-2"].reason.value == "half a thought"
    queue.items["rule-2"] = replace(queue.items["rule-2"], diff="+other\n")
    box.refresh()
    assert box.cards["rule-2"].reason.value == "", "another diff needs another reason"


def test_long_queues_are_cut_and_counted() -> None:
    """Twenty cards at most; the head says how many wait."""
    box = ApprovalQueue(Queue(*(Item(f"i{n}", "x") for n in range(23))))
    assert len(box.cards) == 20
    assert "23 changes wait for a person. The oldest 20 are shown." in page(box)
    assert "Nothing waits for approval." in page(ApprovalQueue(Queue()))


def test_an_item_without_proposer_is_welcome() -> None:
    """The protocol asks for seven fields; the proposer is optional."""

    class Bare:
        id, title, diff, risk = "b", "Bare", "", "low"
        footprint, summary, effects = Footprint(files=("a.md",)), {}, ()

    html = page(ApprovalQueue(Queue(Bare())))  # type: ignore[arg-type]
    assert "no change of text" in html
    assert "proposed by" not in html
