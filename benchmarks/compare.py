"""``logoslab gate`` on two large result files: seconds with start-up, against a limit.

``python benchmarks/compare.py [--rows N] [--rounds N]``. Each figure is the least wall time of
several runs of the command in a process of its own, with the CPU time of that run, which says
whether a busy machine made it wait. Beside it stands what the same machine needs a moment later to
start Python, import pandas, read the two files and pair them: a floor for anybody who answers the
question with pandas and no statistics. Exits with 1 above the limit, which is set for the full
number of rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

LIMIT = 3.0  # seconds
ROWS = 100_000
GATE = "from logoslab.cli import main; main()"
FLOOR = """
import sys, pandas
old, new = (pandas.read_csv(path).set_index("task") for path in sys.argv[2:4])
print(old.join(new, rsuffix="_new").eval("score_new - score").mean())
"""


def written(path: Path, rows: int, rate: float, rng: np.random.Generator, wide: bool) -> Path:
    """A result file: task and 0/1 score, and with ``wide`` a slice and a cost."""
    passed, cost = rng.random(rows) < rate, rng.random(rows)
    with path.open("w") as handle:
        handle.write("task,score,slice,cost\n" if wide else "task,score\n")
        for i in range(rows):
            more = f",s{i % 12},{cost[i]:.4f}" if wide else ""
            handle.write(f"t{i},{int(passed[i])}{more}\n")
    return path


def seconds(code: str, files: list[Path], rounds: int) -> tuple[float, float]:
    """The least wall time of a process that runs ``code`` on the files, and that run's CPU time."""
    times = []
    for _ in range(rounds):
        start, before = time.perf_counter(), os.times()
        done = subprocess.run(
            [sys.executable, "-c", code, "gate", *map(str, files)], capture_output=True, check=False
        )
        wall, after = time.perf_counter() - start, os.times()
        busy = after.children_user + after.children_system
        times.append((wall, busy - before.children_user - before.children_system))
        if done.returncode not in (0, 1, 2):
            raise SystemExit(done.stderr.decode())
    return min(times)


def main() -> int:
    """Print the table; 1 when the command on full files is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of each file")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each command")
    asked = parser.parse_args()
    print(f"{'columns':<26}{'gate':>9}{'CPU':>9}{'pandas':>9}{'limit':>9}")
    kept = True
    with tempfile.TemporaryDirectory() as folder:
        for wide in (False, True):
            rng = np.random.default_rng(2026)
            files = [
                written(Path(folder) / f"{name}.csv", asked.rows, rate, rng, wide)
                for name, rate in (("old", 0.50), ("new", 0.52))
            ]
            (ours, busy), (floor, _) = (seconds(c, files, asked.rounds) for c in (GATE, FLOOR))
            kept &= ours <= LIMIT or asked.rows < ROWS
            what = "task score slice cost" if wide else "task score"
            print(f"{what:<26}{ours:>7.2f} s{busy:>7.2f} s{floor:>7.2f} s{LIMIT:>7.2f} s")
    print(f"logoslab gate, {asked.rows:,} rows a file: {'ok' if kept else 'OVER'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
