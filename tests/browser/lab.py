"""A real JupyterLab on loopback, and a notebook open in headless Chromium."""

from __future__ import annotations

import ast
import json
import os
import re
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jupyter_client.blocking import BlockingKernelClient
from playwright.sync_api import Locator, Page

CHROMIUM_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage",
]  # fmt: skip
SECOND = 1000


@dataclass(frozen=True)
class LabServer:
    """A running JupyterLab. ``root`` is the folder it serves, ``runtime`` holds its kernels."""

    url: str
    token: str
    root: Path
    runtime: Path

    def kernels(self) -> list[str]:
        """Ids of the kernels that run."""
        return [kernel["id"] for kernel in self._call("GET", "api/kernels")]

    def stop_kernels(self) -> None:
        """End every kernel: they live in sessions of their own and would outlive the server."""
        for kernel in self.kernels():
            self._call("DELETE", f"api/kernels/{kernel}")

    def _call(self, method: str, path: str) -> Any:
        request = urllib.request.Request(
            f"{self.url}{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            body = reply.read()
        return json.loads(body) if body else None


@contextmanager
def running_lab(
    root: Path, home: Path, env: Mapping[str, str] | None = None
) -> Iterator[LabServer]:
    """JupyterLab serving ``root``, all its own files under ``home``. Ends it and its kernels."""
    runtime, token = home / "runtime", secrets.token_hex(16)
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    for folder in (root, runtime, settings):
        folder.mkdir(parents=True, exist_ok=True)
    # No news pop-up over the page, and no outgoing check for news.
    (settings / "notification.jupyterlab-settings").write_text('{"fetchNews": "false"}')
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root",
        "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", f"--IdentityProvider.token={token}",
        f"--ServerApp.root_dir={root}", "--LabApp.expose_app_in_browser=True",
        "--LabApp.extension_manager=readonly",
    ]  # fmt: skip
    places = {
        "JUPYTER_CONFIG_DIR": home / "config",
        "JUPYTER_DATA_DIR": home / "data",
        "JUPYTER_RUNTIME_DIR": runtime,
        "IPYTHONDIR": home / "ipython",
        "JUPYTERLAB_SETTINGS_DIR": home / "settings",
        "JUPYTERLAB_WORKSPACES_DIR": home / "workspaces",
    }
    with (home / "server.log").open("w") as log:
        server = subprocess.Popen(
            command,
            stdout=log,
            stderr=subprocess.STDOUT,
            env={**os.environ, **{k: str(v) for k, v in places.items()}, **(env or {})},
        )
        try:
            port = _port(server, runtime, home / "server.log")
            lab = LabServer(f"http://127.0.0.1:{port}/", token, root, runtime)
            yield lab
            lab.stop_kernels()
        finally:
            server.terminate()
            server.wait(timeout=30)


def _port(server: subprocess.Popen[bytes], runtime: Path, log: Path) -> int:
    said = runtime / f"jpserver-{server.pid}.json"
    for _ in range(600):
        if said.exists() and (text := said.read_text()):
            return int(json.loads(text)["port"])
        if server.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


class OpenNotebook:
    """One notebook in one page, and a line of our own into its kernel."""

    def __init__(self, page: Page, lab: LabServer, path: Path, artefacts: Path) -> None:
        self.page, self.lab, self.path, self._artefacts = page, lab, path, artefacts
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        self._load()
        self._client = self._connect()

    def run_all(self, timeout: float = 120) -> None:
        """Run every cell and wait for the last one. Raises when a cell ends in an error."""
        self.page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.page.wait_for_function(
            """() => {
                const cells = window.jupyterapp.shell.currentWidget.content.widgets
                    .map(cell => cell.model)
                    .filter(m => m.type === 'code' && m.sharedModel.getSource().trim());
                const failed = m => m.outputs.toJSON().some(o => o.output_type === 'error');
                return cells.every(m => m.executionCount !== null) || cells.some(failed);
            }""",
            timeout=timeout * SECOND,
        )
        wrong = self.page.evaluate(
            """() => window.jupyterapp.shell.currentWidget.content.widgets
                .filter(c => c.model.type === 'code').flatMap(c => c.model.outputs.toJSON())
                .filter(o => o.output_type === 'error').map(o => o.ename + ': ' + o.evalue)"""
        )
        assert not wrong, f"{self.path.name}: {wrong}"

    def value(self, expression: str) -> Any:
        """A literal from the kernel, past the browser."""
        reply = self._client.execute(
            "", silent=True, user_expressions={"it": expression}, reply=True, timeout=60
        )
        it = reply["content"]["user_expressions"]["it"]
        if it["status"] != "ok":
            raise RuntimeError(f"{expression}: {it['ename']}: {it['evalue']}")
        return ast.literal_eval(it["data"]["text/plain"])

    def wait_for_value(self, expression: str, wanted: Any, timeout: float = 20) -> None:
        """Ask the kernel until it says ``wanted``."""
        end = time.monotonic() + timeout
        got = self.value(expression)
        while got != wanted and time.monotonic() < end:
            time.sleep(0.1)
            got = self.value(expression)
        assert got == wanted, f"{expression} is {got!r}, not {wanted!r}"

    def button(self, label: str, within: Locator | None = None) -> Locator:
        """Buttons of a widget with exactly this label."""
        scope = within or self.page.locator(".jp-OutputArea-output")
        return scope.locator("button.jupyter-button", has_text=re.compile(rf"^\s*{label}\s*$"))

    def screenshot(self, name: str) -> Path:
        """The page as ``<name>.png`` among the test artefacts."""
        self._artefacts.mkdir(parents=True, exist_ok=True)
        target = self._artefacts / f"{name}.png"
        self.page.screenshot(path=target)
        return target

    def reload(self) -> None:
        """Load the page again; the kernel lives on."""
        self._load()

    def close(self) -> None:
        """Leave the kernel's channels and the page."""
        self._client.stop_channels()
        self.page.close()

    def _load(self) -> None:
        where = self.path.relative_to(self.lab.root).as_posix()
        self.page.goto(f"{self.lab.url}doc/tree/{where}?token={self.lab.token}")
        self.page.wait_for_function(
            """() => {
                const panel = window.jupyterapp && window.jupyterapp.shell.currentWidget;
                const kernel = panel && panel.sessionContext && panel.sessionContext.session
                    && panel.sessionContext.session.kernel;
                return kernel && kernel.status === 'idle' && panel.content.model;
            }""",
            timeout=90 * SECOND,
        )

    def _connect(self) -> BlockingKernelClient:
        kernel = self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
        )
        client = BlockingKernelClient(
            connection_file=str(self.lab.runtime / f"kernel-{kernel}.json")
        )
        client.load_connection_file()
        client.start_channels()
        client.wait_for_ready(timeout=60)
        return client
