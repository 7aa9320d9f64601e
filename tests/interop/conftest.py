"""Public data beside the checkout, for tests that read other tools' files as published."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with the public data; tests without it are skipped and say so."""
    folder = Path(os.environ.get("LOGOSLAB_SHARED", ROOT.parent / "shared")) / "data"
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}; set LOGOSLAB_SHARED to its parent")
    return folder
