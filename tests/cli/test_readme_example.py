"""The README's first example prints what the README says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_first_example_prints_what_the_readme_shows() -> None:
    """Each line shown is the real one, cut where an ellipsis says so; and the answer is reject."""
    text = (ROOT / "README.md").read_text("utf-8")
    command = text.split("```sh\nlogoslab gate ")[1].split("\n")[0]
    shown = text.split(command)[1].split("```text\n")[1].split("\n```")[0].split("\n")
    done = subprocess.run(
        [sys.executable, "-c", "from logoslab.cli import main; main()", "gate", *command.split()],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    real = done.stdout.rstrip("\n").split("\n")
    assert len(shown) == len(real)
    for said, line in zip(shown, real, strict=True):
        assert line == said or (said.endswith("…") and line.startswith(said[:-1]))
    assert done.returncode == 1


def test_the_example_files_are_what_their_generator_writes(tmp_path: Path) -> None:
    """Byte for byte: running a copy of the generator gives both files again."""
    folder = ROOT / "data" / "two_results"
    copy = tmp_path / "generate.py"
    copy.write_bytes((folder / "generate.py").read_bytes())
    subprocess.run([sys.executable, str(copy)], check=True)
    for name in ("old.csv", "new.csv"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
