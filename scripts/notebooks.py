"""Bring each notebook in line with its py:percent twin, without outputs: `make notebooks`.

Cell ids are kept, so that a changed line is a changed line in git.
"""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbformat

FOLDER = Path(__file__).parents[1] / "notebooks"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def paired(source: Path) -> nbformat.NotebookNode:
    """The notebook of a twin; unchanged cells keep the id they have."""
    fresh = jupytext.read(source)
    target = source.with_suffix(".ipynb")
    old = nbformat.read(target, 4).cells if target.exists() else []
    ids = {(cell.cell_type, cell.source): cell.id for cell in old}
    for number, cell in enumerate(fresh.cells):
        tags = cell.metadata.get("tags")
        cell.metadata = {"tags": tags} if tags else {}
        cell.id = ids.get((cell.cell_type, cell.source), f"cell-{number:03d}")
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    _distinct(fresh.cells)
    fresh.metadata = {
        "jupytext": {"formats": "ipynb,py:percent"},
        "kernelspec": KERNEL,
        "language_info": {"name": "python"},
    }
    return fresh


def _distinct(cells: list[nbformat.NotebookNode]) -> None:
    seen: set[str] = set()
    for cell in cells:
        while cell.id in seen:
            cell.id = f"{cell.id}x"
        seen.add(cell.id)


def main() -> None:
    """Write every notebook that has a twin."""
    for source in sorted(FOLDER.glob("*.py")):
        nbformat.write(paired(source), source.with_suffix(".ipynb"))
        print(source.with_suffix(".ipynb").name)


if __name__ == "__main__":
    main()
