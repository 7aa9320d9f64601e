"""Write two SYNTHETIC result files, byte for byte the same each time: the README's first example.

No agent ran. Both agents meet the same hardness of each task, so their results are paired.
Run ``python generate.py`` to rewrite the folder.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

HERE = Path(__file__).parent
SEED = 20261201
TASKS, REPOSITORIES = 120, 6
OWN = 0.25  # share of a task's hardness that is an agent's own luck


def main() -> None:
    """Draw and write both files: success rate and dollars a task of each agent."""
    shared = random.Random(SEED)
    hardness = [shared.random() for _ in range(TASKS)]
    for name, rate, dollars, seed in (("old", 0.60, 0.37, 1), ("new", 0.70, 0.55, 2)):
        draw = random.Random(SEED + seed)
        with (HERE / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(("instance_id", "repo", "resolved", "cost"))
            for i, hard in enumerate(hardness):
                solved = (1 - OWN) * hard + OWN * draw.random() < rate
                cost = round(draw.gammavariate(4, dollars / 4), 4)
                rows.writerow((f"task-{i:03d}", f"repo-{i % REPOSITORIES}", int(solved), cost))


if __name__ == "__main__":
    main()
