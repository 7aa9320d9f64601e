"""Small files that are either the old bytes or the new ones, locks, and a user's own folders."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from logoslab.errors import StoreError

Hook = Callable[[str], None]
"""Called with the name of a step just before it happens. Tests kill the process in it."""

ATOMIC_STEPS = ("write", "sync", "rename", "sync_folder")
LOCK_PATIENCE = 30.0


def no_hook(step: str) -> None:
    """The default hook: nothing."""


def write_atomic(path: Path, data: bytes, before: Hook = no_hook) -> None:
    """Replace a file so that a kill at any moment leaves the old bytes or the new ones.

    The caller holds a lock when several processes may write the same path: the temporary file has
    a fixed name, so that a killed writer leaves at most one behind and the next one reuses it.

    Parameters
    ----------
    path : Path
        Its folder is made when absent.
    data : bytes
    before : callable
        Called with each of :data:`ATOMIC_STEPS` before that step.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.tmp")
    before("write")
    with temporary.open("wb") as handle:
        handle.write(data)
        before("sync")
        handle.flush()
        os.fsync(handle.fileno())
    before("rename")
    temporary.replace(path)
    before("sync_folder")
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder durable. Windows has no such call and needs none."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def locked(path: Path, patience: float = LOCK_PATIENCE) -> Iterator[None]:
    """Hold ``<path>.lock`` against other processes and threads.

    The operating system releases it when the holder dies, so a killed process blocks nobody.

    Raises
    ------
    StoreError
        When another holder keeps it for longer than ``patience`` seconds.
    """
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        lock.acquire(timeout=patience)
    except Timeout as cause:
        raise StoreError(
            f"lock on {path.name}",
            got=f"still held elsewhere after {patience:g} s",
            allowed="one writer at a time",
            next_step="Wait for the other process, or stop it, and try again.",
        ) from cause
    try:
        yield
    finally:
        lock.release()


def config_folder() -> Path:
    """Settings and keys: ``LOGOSLAB_CONFIG``, else the platform's folder. Nothing is created."""
    return _own_folder("CONFIG", "APPDATA", "Roaming", "Application Support")


def cache_folder() -> Path:
    """What can be fetched again: ``LOGOSLAB_CACHE``, else the platform's folder."""
    return _own_folder("CACHE", "LOCALAPPDATA", "Local", "Caches")


def _own_folder(kind: str, variable: str, windows: str, mac: str) -> Path:
    chosen, home = os.environ.get(f"LOGOSLAB_{kind}"), Path.home()
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get(variable) or home / "AppData" / windows) / "logoslab"
    if sys.platform == "darwin":
        return home / "Library" / mac / "logoslab"
    return Path(os.environ.get(f"XDG_{kind}_HOME") or home / f".{kind.lower()}") / "logoslab"
