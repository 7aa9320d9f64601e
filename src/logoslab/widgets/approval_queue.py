"""Approval queue: what waits for a person, with diff, risk, evidence and effects beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, Literal, Protocol

import ipywidgets as W

from logoslab.errors import InvalidValue, LogoslabError
from logoslab.pack.patch import Footprint
from logoslab.widgets.markup import STYLE, box, chip, diff, facts, said
from logoslab.widgets.status import Status

Choice = Literal["approve", "reject", "narrow"]
CHOICES: dict[Choice, tuple[str, str]] = {
    "approve": ("Approve", "success"),
    "narrow": ("Narrow", "warning"),
    "reject": ("Reject", "danger"),
}


class PendingItem(Protocol):
    """One change that waits. ``proposer`` may be absent. Every text in it is data.

    ``summary`` is the evidence in short: name → number, text or mapping of these.
    """

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def diff(self) -> str: ...
    @property
    def risk(self) -> str: ...
    @property
    def footprint(self) -> Footprint: ...
    @property
    def summary(self) -> Mapping[str, Any]: ...
    @property
    def effects(self) -> Sequence[str]: ...


class PendingQueue(Protocol):
    """What the widget needs of a queue. The queue keeps the truth; the widget keeps nothing."""

    def pending(self) -> Sequence[PendingItem]:
        """What still waits, oldest first."""

    def decide(self, id: str, choice: Choice, reason: str, keep: Sequence[str] = ()) -> object:
        """Record a person's word. ``keep`` names the files that may stay, for ``narrow`` only."""


class ApprovalQueue(W.VBox):  # type: ignore[misc]
    """Cards of pending changes with approve, narrow and reject.

    A decision needs a reason, goes to the queue, and the cards are drawn again from the queue, so
    a page reload or a new widget on the same queue shows the same truth. A second click on a
    decided change does nothing. Handlers may run in any thread.

    Parameters
    ----------
    queue : PendingQueue
    on_decide : callable, optional
        Called as ``on_decide(id, choice, reason)`` after the queue has recorded the decision.
    limit : int, default 20
        How many cards are shown at once; the rest is counted.

    Attributes
    ----------
    cards : dict of str to Card
        The cards on show, by id.
    status : str
        What the status line says.
    """

    def __init__(
        self,
        queue: PendingQueue,
        on_decide: Callable[[str, Choice, str], object] | None = None,
        *,
        limit: int = 20,
    ) -> None:
        self.queue, self._on_decide, self._limit = queue, on_decide, limit
        self.cards: dict[str, Card] = {}
        self._lock, self._status, self._head = RLock(), Status(), W.HTML()
        super().__init__()
        self.refresh()

    @property
    def status(self) -> str:
        """What the status line says, as plain text."""
        return self._status.text

    def refresh(self) -> None:
        """Draw the cards from the queue again. Text typed into a card that stays is kept."""
        with self._lock, self._status.shown():
            items = list(self.queue.pending())
            old = self.cards
            self.cards = {
                item.id: old[item.id]
                if item.id in old and old[item.id].item == item
                else Card(item, self._clicked)
                for item in items[: self._limit]
            }
            self._head.value = STYLE + box(f"<h4>{_waiting(len(items), self._limit)}</h4>")
            self.children = (self._head, self._status, *self.cards.values())

    def decide(self, id: str, choice: Choice, reason: str, keep: Sequence[str] = ()) -> bool:
        """Decide on one change, as the buttons do. False when it was no longer pending.

        Raises
        ------
        InvalidValue
            Without a reason, or when narrowing without a file to keep.
        LogoslabError
            Whatever the queue refuses.
        """
        with self._lock, self._status.shown():
            if id not in {item.id for item in self.queue.pending()}:
                self.refresh()
                self._status.say("note", f"{id} is no longer pending; nothing was changed.")
                return False
            _check(choice, reason, keep)
            words = reason.strip()
            if choice == "narrow":
                self.queue.decide(id, choice, words, keep=tuple(keep))
            else:
                self.queue.decide(id, choice, words)
            self.refresh()
            self._status.say("done", f"{choice} recorded for {id}: {words}")
            if self._on_decide is not None:
                self._on_decide(id, choice, words)
            return True

    def _clicked(self, card: Card, choice: Choice) -> None:
        # Shown beside the button too: the queue's own line may be far up the page.
        with suppress(LogoslabError), card.status.shown():
            self.decide(card.item.id, choice, card.reason.value, card.keep.value)


class Card(W.VBox):  # type: ignore[misc]
    """One pending change. Controls: ``buttons`` (choice → button), ``reason``, ``keep``."""

    def __init__(self, item: PendingItem, on_choice: Callable[[Card, Choice], None]) -> None:
        self.item = item
        files = tuple(item.footprint.files)
        self.reason = W.Textarea(
            placeholder="Reason (required): what convinced you, or what is missing",
            rows=2,
            layout={"width": "100%"},
        )
        self.keep = W.SelectMultiple(
            options=files,
            value=files,
            rows=min(5, len(files) + 1),
            description="Narrow: keep",
            tooltip="Files that may stay when the change is narrowed",
            style={"description_width": "95px"},
            layout={"width": "100%"},
        )
        self.buttons = {choice: _button(choice) for choice in CHOICES}
        for choice, button in self.buttons.items():
            button.on_click(lambda _, choice=choice: on_choice(self, choice))
        body = W.HBox(
            [_panel(_left(item), "1 1 340px"), _panel(_right(item), "1 1 300px")],
            layout={"flex_flow": "row wrap", "align_items": "flex-start"},
        )
        self.status = Status()
        controls = W.HBox(list(self.buttons.values()))
        super().__init__(
            [W.HTML(_heading(item)), body, self.reason, self.keep, controls, self.status],
            layout={"padding": "12px 14px", "margin": "0 0 12px"},
        )
        self.add_class("ll-card")


def _check(choice: str, reason: str, keep: Sequence[str]) -> None:
    if choice not in CHOICES:
        raise InvalidValue("choice", got=choice, allowed=f"one of {', '.join(CHOICES)}",
                           next_step="Choose one of these.")  # fmt: skip
    if not reason.strip():
        raise InvalidValue("reason", got="no words", allowed="a reason in your own words",
                           next_step=f"Write one, then {choice} again.")  # fmt: skip
    if choice == "narrow" and not keep:
        raise InvalidValue("files to keep", got="none", allowed="at least one file of the change",
                           next_step="Select the files that may stay, or reject.")  # fmt: skip


def _waiting(count: int, limit: int) -> str:
    if not count:
        return "Nothing waits for approval."
    more = f" The oldest {limit} are shown." if count > limit else ""
    return f"{count} {'change waits' if count == 1 else 'changes wait'} for a person.{more}"


def _button(choice: Choice) -> W.Button:
    label, style = CHOICES[choice]
    return W.Button(description=label, button_style=style, tooltip=f"{label} this change")


def _panel(html: str, flex: str) -> W.HTML:
    return W.HTML(html, layout={"flex": flex, "min_width": "0", "margin": "0 12px 0 0"})


def _heading(item: PendingItem) -> str:
    proposer = getattr(item, "proposer", None)
    by = f" proposed by {said(proposer)}" if proposer else ""
    return box(
        f"<h4>{said(item.title)}</h4>{chip(item.risk + ' risk', item.risk)} "
        f'<span class="soft">{said(item.id)}{by}</span>'
    )


def _left(item: PendingItem) -> str:
    return box("<h5>Change</h5>", diff(item.diff))


def _right(item: PendingItem) -> str:
    touched = {k: v for k, v in item.footprint.model_dump().items() if v}
    return box(
        f"<h5>Evidence</h5>{facts(item.summary)}"
        f"<h5>Effects</h5>{facts(item.effects)}"
        f"<h5>Footprint</h5>{facts(touched)}"
    )
