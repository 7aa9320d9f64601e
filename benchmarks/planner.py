"""Speed of the planner's surface against its limit.

    python benchmarks/planner.py [--quick]

One line a surface: 20 × 20 points with 2,000 simulated gates each, wall-clock seconds in this
process and on two processes, against the limit of 10 seconds on two cores. The faster of the two
is judged. CPU seconds of the run in this process stand beside it: where they are far below the wall
clock, other work held the machine and the verdict says little. A failed limit makes the exit code
1, except with --quick, whose sizes are too small to judge.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor

import numpy as np

from logoslab.gate.registry import RULES
from logoslab.gate.rule import Rule
from logoslab.studies.surface import surface

LIMIT = 10.0
"""Seconds for one surface on two cores."""


def seconds(run: Callable[[], object]) -> float:
    """Wall-clock time of one run."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def surfaces(points: int, simulations: int) -> dict[str, Callable[[Executor | None], object]]:
    """Name → a function that computes the surface on an executor."""
    effects = np.linspace(-0.1, 0.18, points).tolist()
    axes = {
        "effect x discordance, n=100": {
            "discordance": np.linspace(0.2, 0.6, points).tolist(),
            "n": 100,
        },
        "effect x n up to 200": {
            "discordance": 0.2,
            "n": np.linspace(10, 200, points).astype(int).tolist(),
        },
    }

    def job(rule: Rule, axis: dict[str, object]) -> Callable[[Executor | None], object]:
        return lambda executor: surface(
            rule,
            effects=effects,
            rng=np.random.default_rng(0),
            simulations=simulations,
            executor=executor,
            **axis,
        )

    return {
        f"{name}, {what}": job(RULES[name](), axis)
        for name in ("paired", "mcnemar", "anytime")
        for what, axis in axes.items()
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="5 x 5 points, 200 simulations, never fails"
    )
    quick = parser.parse_args().quick
    print(f"{'surface':40} {'CPU s':>8} {'alone s':>8} {'two s':>8} {'limit s':>8} {'verdict':>8}")
    failed = []
    with ProcessPoolExecutor(2) as pool:
        list(pool.map(abs, range(2)))  # start both processes before the clock runs
        for name, run in surfaces(5 if quick else 20, 200 if quick else 2_000).items():
            start = time.process_time()
            alone = seconds(lambda: run(None))  # noqa: B023
            cpu = time.process_time() - start
            two = seconds(lambda: run(pool))  # noqa: B023
            good = min(alone, two) <= LIMIT
            said = "-" if quick else "pass" if good else "fail"
            print(
                f"{name:40} {cpu:8.2f} {alone:8.2f} {two:8.2f} {LIMIT:8.1f} {said:>8}", flush=True
            )
            if not good:
                failed.append(name)
    for name in failed:
        print(f"limit missed: {name}")
    return 1 if failed and not quick else 0


if __name__ == "__main__":
    sys.exit(main())
