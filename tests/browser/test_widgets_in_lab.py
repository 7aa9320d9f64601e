"""The widgets in a real JupyterLab, driven by clicks and read from the kernel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from tests.browser.lab import LabServer, OpenNotebook

pytestmark = pytest.mark.browser
REPOSITORY = Path(__file__).parents[2]
Opener = Callable[[Path], OpenNotebook]


def notebook(lab: LabServer, name: str, *cells: str) -> Path:
    """A notebook in the served folder; its first cell finds the test doubles."""
    path = lab.root / f"{name}.ipynb"
    first = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\nfrom tests.widgets.make import *"
    # Without a kernel name the page would wait in a dialog for somebody to choose one.
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    code = [new_code_cell(c) for c in (first, *cells)]
    nbformat.write(new_notebook(cells=code, metadata=metadata), path)
    return path


def test_approve_is_clicked(lab_server: LabServer, open_notebook: Opener) -> None:
    """Approve without a reason is refused in the page; with one, kernel and page both change."""
    nb = open_notebook(
        notebook(
            lab_server,
            "approval",
            "from logoslab.widgets import ApprovalQueue\nqueue = demo_queue()\n"
            "told = []\nbox = ApprovalQueue(queue, on_decide=lambda *a: told.append(a))\nbox",
        )
    )
    nb.run_all()
    cards = nb.page.locator(".ll-card")
    cards.nth(1).wait_for()
    assert cards.count() == 2
    assert "risk_rating" in cards.first.inner_text()
    nb.screenshot("approval-queue")

    nb.button("Approve", cards.first).click()
    cards.first.get_by_text("a reason in your own words").wait_for()
    assert nb.value("queue.decided") == []

    cards.first.locator("textarea").fill("fixes every failing draft")
    nb.button("Approve", cards.first).click()
    nb.wait_for_value("len(queue.decided)", 1)
    assert nb.value("queue.decided") == [("repair-1", "approve", "fixes every failing draft", ())]
    assert nb.value("told") == [("repair-1", "approve", "fixes every failing draft")]
    nb.page.get_by_text("approve recorded for repair-1").wait_for()
    nb.page.wait_for_function("document.querySelectorAll('.ll-card').length === 1")

    assert nb.page.evaluate("window.pwned") is None, "text of a candidate ran as code"
    assert "<script>" in cards.first.inner_text(), "hostile text is shown as text"
    assert nb.errors == []


def test_queue_survives_a_reload(lab_server: LabServer, open_notebook: Opener) -> None:
    """After a page reload the widget shows the queue of the live kernel and still works."""
    nb = open_notebook(
        notebook(lab_server, "reload", "from logoslab.widgets import ApprovalQueue",
                 "queue = demo_queue()\nbox = ApprovalQueue(queue)\nbox")
    )  # fmt: skip
    nb.run_all()
    nb.page.locator(".ll-card").first.wait_for()
    nb.value("box.decide('repair-1', 'reject', 'not now')")
    nb.page.evaluate("() => window.jupyterapp.commands.execute('docmanager:save')")
    nb.reload()
    card = nb.page.locator(".ll-card")
    card.first.wait_for()
    assert card.count() == 1
    card.locator("textarea").fill("breaks other tickets")
    nb.button("Reject", card).click()
    nb.wait_for_value(
        "[d[:2] for d in queue.decided]", [("repair-1", "reject"), ("rule-2", "reject")]
    )
    nb.page.get_by_text("Nothing waits for approval.").wait_for()


def test_gate_stepper_is_driven(lab_server: LabServer, open_notebook: Opener) -> None:
    """Next adds a task; the position and R_max sliders change the verdict in kernel and page."""
    nb = open_notebook(
        notebook(lab_server, "stepper", "from logoslab.widgets import GateStepper",
                 "step = GateStepper(evidence(), gates, alpha=0.06)\nstep")
    )  # fmt: skip
    nb.run_all()
    headline = nb.page.locator(".ll h4", has_text="After")
    headline.wait_for()
    nb.button("Next").click()
    nb.wait_for_value("step.position", 2)
    nb.page.get_by_text("After 2 of 8 tasks: undecided").wait_for()

    # Sliders are noUiSlider: arrow keys move the focused handle by one step.
    handles = nb.page.locator(".jp-OutputArea-output .noUi-handle")
    for _ in range(4):
        handles.first.press("ArrowRight")
    nb.wait_for_value("(step.position, step.verdict)", (6, "accept"))
    nb.page.get_by_text("After 6 of 8 tasks: accept").wait_for()
    nb.button("Next").click()
    nb.page.get_by_text("After 7 of 8 tasks: reject harmful").wait_for()
    assert nb.value("step.what_if") is False
    assert "replay of recorded evidence" in nb.page.locator(".ll .note").inner_text()

    handles.nth(3).press("ArrowRight")  # R_max, the fourth slider of the widget
    nb.wait_for_value("(step.params.r_max, step.verdict)", (1, "accept"))
    nb.page.get_by_text("exploration, not a decision").wait_for()
    assert nb.page.locator("svg[role=img][aria-label^='Wealth so far: gain']").count() == 1
    nb.screenshot("gate-stepper")

    nb.button("Reset").click()
    nb.wait_for_value("(step.what_if, step.verdict)", (False, "reject_harmful"))
    assert nb.errors == []


def test_gate_planner_is_driven(lab_server: LabServer, open_notebook: Opener) -> None:
    """Sliders by keyboard: an impossible effect is said in the page, a possible one planned."""
    nb = open_notebook(
        notebook(lab_server, "planner", "from logoslab.widgets import GatePlanner",
                 "box = GatePlanner(['mcnemar'], effect=0.19, discordance=0.2, n=160)\nbox")
    )  # fmt: skip
    nb.run_all()
    nb.page.locator(".ll h4", has_text="mcnemar on").wait_for()
    assert nb.page.locator("svg[role=img][aria-label^='Power of']").count() == 1
    nb.screenshot("gate-planner")

    effect = nb.page.locator(".jp-OutputArea-output .noUi-handle").first
    for _ in range(2):
        effect.press("ArrowRight")
    nb.page.get_by_text("at most the discordance 0.2 in size").wait_for()
    nb.wait_for_value("(round(box.question.effect, 2), box.plan)", (0.21, None))
    assert nb.page.locator(".ll h4", has_text="No plan").count() == 1

    for _ in range(6):
        effect.press("ArrowLeft")
    nb.wait_for_value("(round(box.question.effect, 2), box.status)", (0.15, ""))
    nb.page.locator(".ll h4", has_text="mcnemar on").wait_for()
    assert nb.errors == []
