"""Write the SYNTHETIC release history, byte for byte the same each time.

No agent ran and no model was asked: outcomes are draws from the success probabilities below.
Nothing here reads or imports logoslab. Run ``python generate.py`` to rewrite the folder.
"""

from __future__ import annotations

import csv
import random
from pathlib import Path

HERE = Path(__file__).parent
SEED = 20261201
SLICES = ("billing", "booking", "refunds", "search")
TASKS = 120
KEPT = 0.85  # share of outcomes that depend on the task's own luck, the same in every release

# What each release does: kind, change of success probability (or slice that falls), cost factor.
# Levels come back to where they were, so no probability leaves [0.05, 0.95].
CYCLE = (
    ("gain", 0.14, 1.0), ("neutral", 0.0, 1.0), ("harm", -0.10, 1.0), ("slice_harm", None, 1.0),
    ("neutral", 0.0, 1.05), ("gain", 0.08, 1.1), ("dearer", 0.0, 1.9), ("harm", -0.12, 0.6),
    ("neutral", 0.0, 0.877), ("neutral", 0.0, 0.95),
)  # fmt: skip
FALL, RISE = -0.3, 0.1  # one slice falls, three rise: the mean stays exactly where it was


def changes() -> list[tuple[str, dict[str, float], float]]:
    """Kind, change by slice and cost factor of the 40 releases."""
    found = []
    for fallen in SLICES:
        for kind, shift, factor in CYCLE:
            by_slice = (
                {s: FALL if s == fallen else RISE for s in SLICES}
                if shift is None
                else dict.fromkeys(SLICES, shift)
            )
            found.append((kind, by_slice, factor))
    return found


def main() -> None:
    """Draw and write both files."""
    draw = random.Random(SEED)
    tasks = [(f"t{i:03d}", SLICES[i % len(SLICES)]) for i in range(TASKS)]
    ease = {task: 0.4 + 0.1 * draw.random() for task, _ in tasks}
    luck = {task: draw.random() for task, _ in tasks}
    price = {task: 0.02 + 0.06 * draw.random() for task, _ in tasks}
    level, cost = dict.fromkeys(SLICES, 0.0), 1.0
    outcomes, releases = [], []
    steps = [("start", dict.fromkeys(SLICES, 0.0), 1.0), *changes()]
    for number, (kind, by_slice, factor) in enumerate(steps):
        release = f"r{number:02d}"
        level = {s: level[s] + by_slice[s] for s in SLICES}
        cost *= factor
        for task, part in tasks:
            chance = ease[task] + level[part]
            assert 0.05 <= chance <= 0.95, (release, task, chance)
            point = luck[task] if draw.random() < KEPT else draw.random()
            spent = price[task] * cost * (0.9 + 0.2 * draw.random())
            outcomes.append((release, task, part, int(point < chance), f"{spent:.5f}"))
        if number:
            worst = min(SLICES, key=lambda s: by_slice[s])
            mean = sum(by_slice.values()) / len(SLICES)
            releases.append(
                (release, kind, f"{mean + 0.0:.4f}", worst if by_slice[worst] < 0 else "",
                 f"{by_slice[worst]:.4f}", f"{factor:.3f}")
            )  # fmt: skip
    write("outcomes.csv", ("release", "task", "slice", "passed", "cost"), outcomes)
    write(
        "releases.csv",
        ("release", "kind", "true_difference", "worst_slice", "worst_slice_difference",
         "true_cost_ratio"),
        releases,
    )  # fmt: skip


def write(name: str, head: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    """One CSV file with Unix line ends."""
    with (HERE / name).open("w", encoding="utf-8", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
