"""Reference numbers shared by the tests of this room."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def reference() -> dict[str, Any]:
    """Numbers of published implementations, recomputed from the definitions; see its README."""
    shared = Path(os.environ.get("LOGOSLAB_SHARED", ROOT.parent / "shared"))
    path = shared / "reference" / "reference_values.json"
    if not path.exists():
        pytest.skip(f"no reference numbers at {path}; set LOGOSLAB_SHARED to their folder")
    numbers: dict[str, Any] = json.loads(path.read_text())
    return numbers
