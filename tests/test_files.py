"""Whole-or-nothing writes, and where a user's own files live."""

from pathlib import Path

import pytest

from logoslab import files, human
from logoslab.files import ATOMIC_STEPS, write_atomic

HOME = Path("/home/x")


@pytest.mark.parametrize(
    ("platform", "environ", "config", "cache"),
    [
        ("linux", {}, HOME / ".config/logoslab", HOME / ".cache/logoslab"),
        (
            "linux",
            {"XDG_CONFIG_HOME": "/c", "XDG_CACHE_HOME": "/k"},
            Path("/c/logoslab"),
            Path("/k/logoslab"),
        ),
        (
            "darwin",
            {},
            HOME / "Library/Application Support/logoslab",
            HOME / "Library/Caches/logoslab",
        ),
        (
            "win32",
            {"APPDATA": "/r", "LOCALAPPDATA": "/l"},
            Path("/r/logoslab"),
            Path("/l/logoslab"),
        ),
        (
            "win32",
            {"APPDATA": "", "LOCALAPPDATA": ""},
            HOME / "AppData/Roaming/logoslab",
            HOME / "AppData/Local/logoslab",
        ),
        ("linux", {"LOGOSLAB_CONFIG": "/a", "LOGOSLAB_CACHE": "/b"}, Path("/a"), Path("/b")),
    ],
)
def test_each_platform_has_its_folder(
    monkeypatch: pytest.MonkeyPatch,
    platform: str,
    environ: dict[str, str],
    config: Path,
    cache: Path,
) -> None:
    """The platform's convention, unless the user says otherwise."""
    for name in ("LOGOSLAB_CONFIG", "LOGOSLAB_CACHE", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(files.sys, "platform", platform)
    monkeypatch.setattr(files.Path, "home", staticmethod(lambda: HOME))
    assert (files.config_folder(), files.cache_folder()) == (config, cache)


def test_people_and_models_share_one_config_folder() -> None:
    """Keys and model aliases cannot drift apart: both rooms use the same function."""
    from logoslab.run.models import catalog, weights

    assert human.config_folder is human.keys.config_folder is files.config_folder
    assert catalog.config_folder is files.config_folder
    assert weights.cache_folder is files.cache_folder


class Killed(Exception):
    """The process ends here."""


@pytest.mark.parametrize("at", ATOMIC_STEPS)
def test_a_kill_leaves_the_old_bytes_or_the_new(tmp_path: Path, at: str) -> None:
    """Old until the rename, new after it; a later write then succeeds."""
    path = tmp_path / "f"
    write_atomic(path, b"old")

    def die(step: str) -> None:
        if step == at:
            raise Killed

    with pytest.raises(Killed):
        write_atomic(path, b"new", die)
    assert path.read_bytes() == (b"new" if at == "sync_folder" else b"old")
    write_atomic(path, b"next")
    assert path.read_bytes() == b"next"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_a_folder_that_is_missing_is_made(tmp_path: Path) -> None:
    """However deep; nothing but the file is in it."""
    write_atomic(tmp_path / "a/b/f", b"x")
    assert (tmp_path / "a/b/f").read_bytes() == b"x"
    assert [p.name for p in (tmp_path / "a/b").iterdir()] == ["f"]
