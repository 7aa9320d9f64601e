"""Fixtures that drive a real JupyterLab: ``lab_server``, ``chromium``, ``open_notebook``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.chromium import chromium_path
from tests.browser.lab import CHROMIUM_FLAGS, LabServer, OpenNotebook, running_lab

ARTEFACTS = Path(os.environ.get("LOGOSLAB_ARTEFACTS", "test-artefacts"))


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A headless browser. (Not named ``browser``: a common plugin takes that name.)

    It lives for one module: while it does, playwright keeps an event loop running in this thread,
    and no other test could call ``asyncio.run``.
    """
    path = chromium_path()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=CHROMIUM_FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def lab_server(chromium: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One JupyterLab for the module. Copy or write notebooks below its ``root``."""
    home = tmp_path_factory.mktemp("jupyter")
    with running_lab(home / "root", home) as lab:
        yield lab


@pytest.fixture
def open_notebook(
    chromium: Browser, lab_server: LabServer
) -> Iterator[Callable[[Path], OpenNotebook]]:
    """Opens a notebook that lies below ``lab_server.root``; closes page and kernel afterwards."""
    opened: list[OpenNotebook] = []

    def open_it(path: Path) -> OpenNotebook:
        page = chromium.new_page(viewport={"width": 1280, "height": 1500})
        opened.append(OpenNotebook(page, lab_server, path, ARTEFACTS))
        return opened[-1]

    yield open_it
    for notebook in opened:
        notebook.close()
    lab_server.stop_kernels()
