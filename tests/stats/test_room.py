"""The room as a whole: what it exports, what it imports, and that its pages stay short."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import logoslab.stats as stats
from logoslab.stats import eprocess

PAGES = sorted(Path(stats.__file__).parent.glob("*.py"))


def test_exported_names_exist_and_are_complete():
    """`__all__` is sorted, and lists every public name that is imported into the room."""
    assert stats.__all__ == sorted(stats.__all__, key=lambda name: name)
    public = {
        name
        for name, value in vars(stats).items()
        if not name.startswith("_") and not inspect.ismodule(value) and name != "annotations"
    }
    assert public == set(stats.__all__)


def test_every_public_name_has_a_docstring():
    """A reader meets no public function or class without a sentence about it."""
    assert [name for name in stats.__all__ if not inspect.getdoc(getattr(stats, name))] == []


def test_import_is_light():
    """Importing the room pulls in numpy and scipy.special but neither scipy.stats nor pandas."""
    code = (
        "import sys, logoslab.stats; "
        "print([m for m in ('scipy.stats', 'scipy.optimize', 'pandas', 'pydantic') "
        "if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_the_room_stands_on_numpy_scipy_and_errors():
    """No page imports anything else from outside the standard library."""
    outside = set()
    for page in PAGES:
        for node in ast.walk(ast.parse(page.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                outside.add(node.module.split(".")[0] + "." + ".".join(node.module.split(".")[1:2]))
            elif isinstance(node, ast.Import):
                outside.update(name.name.split(".")[0] + "." for name in node.names)
    foreign = {
        name
        for name in outside
        if name.split(".")[0] not in sys.stdlib_module_names | {"numpy", "scipy", "__future__"}
    }
    assert foreign == {"logoslab.stats", "logoslab.errors"}


def test_pages_stay_short():
    """One idea a file: no page over 400 lines."""
    assert [page.name for page in PAGES if page.read_text().count("\n") > 400] == []


def test_examples_in_docstrings_run():
    """The documented example of the e-process gives the documented number."""
    assert doctest.testmod(eprocess, extraglobs={"math": eprocess.math}) == (0, 2)
