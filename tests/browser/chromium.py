"""Whether there is a browser, and what its absence means for a test."""

from __future__ import annotations

import os
import shutil

import pytest


def chromium_path() -> str:
    """Where Chromium is. Without one: a failure in CI, elsewhere a skip that says so."""
    found = _found()
    if found is None and os.environ.get("CI") == "true":
        pytest.fail("chromium is missing, and CI must not skip the browser tests", pytrace=False)
    if found is None:
        pytest.skip("no chromium on PATH; install it to run the browser tests")
    return found


def figure_suffixes() -> set[str]:
    """Suffixes of saved figures: images, or HTML where no browser is and it is not CI."""
    absent = _found() is None and os.environ.get("CI") != "true"
    return {".html"} if absent else {".png", ".svg"}


def _found() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")
