"""The ledger figure: the frame is the ledger row for row, the figure is the frame."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from logoslab.errors import InvalidValue
from logoslab.gate import AnytimeGate, GateLedger
from logoslab.viz import alt_text, gate_ledger, gate_ledger_frame
from tests.gate.make import from_differences
from tests.viz.make import EVIL


def booked() -> GateLedger:
    """One accepted gate, one that was abandoned, one still open."""
    book = GateLedger(0.05, "shared_pool")
    for name, d in (("repair", [1.0] * 80), (EVIL, [0.0])):
        level = book.price(name)
        book.settle(name, AnytimeGate(level=level).decide(from_differences(d)))
    book.price("open one")
    return book


def test_the_frame_is_every_priced_gate() -> None:
    """Level, 1/level and e-value of each gate; an open gate has no e-value, not 0."""
    book = booked()
    frame = gate_ledger_frame(book)
    assert list(frame) == ["gate", "label", "level", "e_value", "needed", "state"]
    assert frame["state"].tolist() == ["accepted", "not accepted", "open"]
    assert frame["label"].tolist() == ["repair", EVIL, "open one"]
    assert frame["level"].tolist() == [row.level for row in book.rows()]
    assert frame["needed"].tolist() == [1 / row.level for row in book.rows()]
    assert frame["e_value"][0] >= frame["needed"][0]
    assert math.isnan(frame["e_value"][2])


def test_the_figure_draws_the_frame() -> None:
    """Prices for all, e-values by state; labels are escaped; the alt text names what passed."""
    frame = gate_ledger_frame(booked())
    fig = gate_ledger(frame)
    assert [t.name for t in fig.data] == ["needed (1/level)", "accepted", "not accepted", "open"]
    assert list(fig.data[0].y) == frame["needed"].tolist()
    assert list(fig.data[1].y) == [frame["e_value"][0]]
    assert list(fig.data[3].y) == [frame["needed"][2]]
    assert EVIL not in fig.data[2].text
    assert alt_text(fig).endswith("Accepted: repair.")
    assert fig.layout.yaxis.type == "log"


def test_extreme_e_values_stay_on_the_page() -> None:
    """An e-value of 0 or beyond any axis is drawn at the edge; the hover tells the number."""
    frame = gate_ledger_frame(booked())
    frame["e_value"] = [math.exp(700), 0.0, math.nan]
    fig = gate_ledger(frame)
    assert list(fig.data[1].y) == [1e12]
    assert list(fig.data[2].y) == [1e-6]
    assert list(fig.data[2].customdata) == [0.0]


def test_an_empty_ledger_is_said() -> None:
    """A lab that priced no gate has no figure, and the message says what is needed."""
    frame = gate_ledger_frame(GateLedger(0.05, "iid"))
    assert frame.empty
    with pytest.raises(InvalidValue, match=r"frame for gate_ledger: .*got no rows"):
        gate_ledger(frame)
    with pytest.raises(InvalidValue, match="no column label"):
        gate_ledger(pd.DataFrame({"gate": [1]}))
