"""Notebooks: clean in git, equal to their twins, and they run from top to bottom."""

import os
from pathlib import Path

import jupytext
import nbformat
import pytest
from tests.browser.chromium import figure_suffixes
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


def cells(notebook):
    return [(c.cell_type, c.source, c.metadata.get("tags", [])) for c in notebook.cells]


def test_there_are_notebooks():
    """The quickstart is there."""
    assert FOLDER / "00_quickstart.ipynb" in NOTEBOOKS


@each
def test_clean(path):
    """No outputs, counts, machine paths or foreign metadata; ids are unique; valid nbformat."""
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert len({c.id for c in notebook.cells}) == len(notebook.cells)
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert set(notebook.metadata) <= {"jupytext", "kernelspec", "language_info"}
    text = path.read_text("utf-8")
    assert not [p for p in ("/home/", "/root/", "/Users/", "C:\\") if p in text]


@each
def test_equal_to_its_twin(path):
    """The .py beside it has the same cells; `make notebooks` brings them in line."""
    assert cells(jupytext.read(path.with_suffix(".py"))) == cells(nbformat.read(path, 4))


@each
def test_begins_with_a_question_and_parameters_and_ends_in_an_assertion(path):
    """A question in the first cell, one parameters cell, an assertion in the last."""
    notebook = nbformat.read(path, 4)
    assert "?" in notebook.cells[0].source
    assert sum("parameters" in c.metadata.get("tags", []) for c in notebook.cells) == 1
    assert "assert " in notebook.cells[-1].source


@each
@pytest.mark.slow()
def test_runs_top_to_bottom(path, tmp_path):
    """From a clean kernel in an empty folder; it leaves a RESULT and its figures."""
    notebook = nbformat.read(path, 4)
    notebook.cells.append(new_code_cell("import json; print(json.dumps(RESULT, default=str)[:80])"))
    os.environ.setdefault("LOGOSLAB_FAST", "1")
    client = NotebookClient(
        notebook,
        timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    assert notebook.cells[-1].outputs[0].text.startswith("{")
    figures = {p.suffix for p in tmp_path.rglob("*") if p.is_file()}
    assert figure_suffixes() <= figures
