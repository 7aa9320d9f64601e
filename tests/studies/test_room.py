"""The room of studies: its pages are reachable from the package."""

import subprocess
import sys
from pathlib import Path

import pytest

import logoslab as ll


def test_the_named_pages_are_reachable_from_the_package():
    """In a fresh process ``ll.studies.<page>`` is the module, for every page that is named."""
    folder = Path(ll.studies.__file__).parent
    pages = {p.stem for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert {"histories", "surface", "streams", "summary"} <= set(ll.studies.__all__) <= pages
    assert dir(ll.studies) == ll.studies.__all__
    code = (
        "import logoslab as ll; print(*(getattr(ll.studies, p).__name__ for p in dir(ll.studies)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [f"logoslab.studies.{page}" for page in ll.studies.__all__]


def test_an_unknown_page_is_an_attribute_error():
    """A typo fails like any module attribute."""
    with pytest.raises(AttributeError, match="has no attribute 'history'"):
        _ = ll.studies.history
