"""The quickstart's two widgets, clicked in a real browser: kernel, page and lab change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from tests.browser.lab import LabServer, OpenNotebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]
QUICKSTART = Path(__file__).parents[2] / "notebooks/00_quickstart.ipynb"
Opener = Callable[[Path], OpenNotebook]


def up_to_the_queue(root: Path) -> Path:
    """The quickstart, ending with the approval widget: from there on a person acts."""
    notebook = nbformat.read(QUICKSTART, 4)
    last = next(i for i, c in enumerate(notebook.cells) if "approval" in c.metadata.get("tags", []))
    notebook.cells = notebook.cells[: last + 1]
    path = root / "quickstart.ipynb"
    nbformat.write(notebook, path)
    return path


def test_a_person_steps_through_the_gate_and_approves(
    lab_server: LabServer, open_notebook: Opener
) -> None:
    """Next moves the stepper, a reason and Approve sign in the lab, and the lab then promotes."""
    nb = open_notebook(up_to_the_queue(lab_server.root))
    nb.run_all(timeout=400)

    assert nb.value("(stepper.position, lab.queue.get(change.id).ruling)") == (1, None)
    nb.button("Next").first.click()
    nb.wait_for_value("stepper.position", 2)

    card = nb.page.locator(".ll-card").first
    assert "risk_rating" in card.inner_text()
    card.locator("textarea").fill("it repairs the drafts and breaks none")
    nb.button("Approve", card).click()
    nb.wait_for_value("lab.queue.get(change.id).ruling is not None", True)
    nb.page.get_by_text("Nothing waits for approval.").wait_for()
    nb.screenshot("quickstart-approved")

    said = "(lambda r: (r.act, r.reason, r.approval is not None))(lab.queue.get(change.id).ruling)"
    assert nb.value(said) == ("approve", "it repairs the drafts and breaks none", True)
    approvals = list((lab_server.root / "quickstart-out/lab/approvals").glob("*.json"))
    assert len(approvals) == 1
    assert "it repairs the drafts" in approvals[0].read_text()

    promote = (
        "lab.promote(story.judged['repair'].decisions, "
        "lab.approvals(candidates['repair'])).promoted"
    )
    assert nb.value(promote) is True
    live = (lab_server.root / "quickstart-out/lab/live").read_text()
    assert nb.value("candidates['repair'].pack.digest") in live
    assert nb.errors == []
