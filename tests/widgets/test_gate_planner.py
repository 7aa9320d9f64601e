"""GatePlanner without a browser."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from logoslab.gate.peers import McNemar
from logoslab.gate.rule import PairedRule
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence, Pairs
from logoslab.pack.needs import Needs
from logoslab.studies.planner import plan
from logoslab.widgets import GatePlanner
from logoslab.widgets.cost_plot import cost_svg

EVIL = "<script>alert(1)</script>"


class Hostile(PairedRule):
    """A rule with a hostile name and a need that no plan meets."""

    name: ClassVar[str] = EVIL
    source: ClassVar[str] = "test"
    needs: ClassVar[Needs] = Needs(metrics=(EVIL,))

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        raise AssertionError("it is never asked")


def planner(**start: object) -> GatePlanner:
    return GatePlanner([McNemar()], **{"simulations": 400, "n": 120, **start})


def test_the_widget_shows_the_plan_of_its_sliders() -> None:
    """The same question asked of plan() gives the same plan: the widget adds nothing."""
    widget = planner()
    assert widget.question.sizes == (30, 60, 120)
    assert widget.plan == plan(
        effect=0.1, discordance=0.2, n=(30, 60, 120), price=0.02, rules=[McNemar()],
        simulations=400, rng=np.random.default_rng(0),
    )  # fmt: skip


def test_every_parameter_of_a_design_has_a_slider() -> None:
    """δ_min, R_max, runs and noise reach plan(); δ_min at 0 leaves each rule its own default."""
    widget = GatePlanner(["paired", "wilcoxon"], noise=0.3, n=40, simulations=60)
    assert "discordance" not in widget.sliders
    assert widget.question.discordance is None
    assert "delta_min" in widget._view.value  # graded scores: the paired gate asks for one
    for name, value in (("delta_min", 0.02), ("r_max", 3), ("replicates", 2)):
        widget.sliders[name].value = value
    assert widget.plan == plan(
        effect=0.1, noise=0.3, n=(10, 20, 40), price=0.02, rules=["paired", "wilcoxon"],
        delta_min=0.02, r_max=3, replicates=2, simulations=60, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert {d.replicates for d in widget.plan.designs} == {2}
    assert {d.params.get("r_max") for d in widget.plan.designs} == {3, None}


def test_a_moved_slider_plans_again() -> None:
    """A larger effect makes the smallest design good enough; the sentence and table follow."""
    widget = planner()
    assert widget.plan is not None
    assert widget.plan.recommended is None
    assert "no design meets both targets" in widget._view.value
    widget.sliders["discordance"].value = 0.5
    widget.sliders["effect"].set_state({"value": 0.4})
    best = widget.plan.recommended
    assert best is not None
    assert f"<h4>mcnemar on {best.n} tasks</h4>" in widget._view.value
    assert widget.plan.reason in widget._view.value
    assert "<tr class=now><td>mcnemar</td>" in widget._view.value


def test_the_figure_says_in_words_what_it_shows() -> None:
    """The inline SVG carries its alternative text and one titled mark a design."""
    view = planner(effect=0.4, discordance=0.5)._view.value
    assert 'role="img"' in view
    assert "designs by expected cost" in view
    assert view.count("<g><title>mcnemar, n=") == 3
    assert "designs by expected evaluations" in planner(price=0.0)._view.value


def test_an_impossible_question_is_said_not_raised() -> None:
    """Effect above discordance: no plan is left standing and the status line says why."""
    widget = planner()
    widget.sliders["effect"].value = 0.3
    assert widget.plan is None
    assert widget.status.startswith("effect: allowed at most the discordance 0.2 in size")
    assert "No plan" in widget._view.value
    widget.sliders["effect"].value = 0.1
    assert (widget.status, widget.plan is None) == ("", False)


def test_foreign_text_is_escaped() -> None:
    """A rule's name and reason are data."""
    widget = GatePlanner([Hostile(), McNemar()], simulations=50, n=20)
    assert "Not planned" in widget._view.value
    assert "<script>" not in widget._view.value
    assert "&lt;script&gt;" in widget._view.value


def test_the_figure_escapes_the_names_of_designs() -> None:
    """A hostile design is text in the tooltip and in the alternative text."""
    found = plan(effect=0.4, discordance=0.5, n=60, rules=[McNemar()], rng=np.random.default_rng(0))
    drawn = cost_svg(found.frame.assign(design=EVIL, recommended=True), 0.8)
    assert "<script>" not in drawn
    assert drawn.count("&lt;script&gt;") == 2


def test_only_rules_that_cannot_be_planned() -> None:
    """No table and no figure, but the reason."""
    widget = GatePlanner([Hostile()], simulations=50, n=20)
    assert "No rule can be planned from paired tasks alone" in widget._view.value
    assert "<svg" not in widget._view.value


def test_sliders_are_named_and_reach_their_start() -> None:
    """Every control has a label, acts when released, and does not clip the declared start."""
    widget = planner(n=800, price=3.0, power=0.4)
    for slider in widget.sliders.values():
        assert slider.description
        assert slider.continuous_update is False
    assert widget.question[2:4] == (800, 3.0)
    assert widget.question.power == 0.4
