"""Speed of the tournament: every shipped rule over 5,000 candidates on 100 tasks.

    python benchmarks/tournament.py [--quick]

Wall seconds with two worker processes, started and warmed up before the clock runs, against the
limit of 60 s; then linearity, the CPU seconds of 5,000 candidates over those of 1,250 in one
process, against a limit of 5 (a linear run has 4). The slowest rules follow, each alone.

A missed limit makes the exit code 1, except with --quick, whose sizes are too small to judge.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from logoslab.gate.registry import RULES
from logoslab.studies.streams import CandidateStream
from logoslab.studies.tournament import tournament

WORKERS, LIMIT, LINEAR = 2, 60.0, 5.0
TASKS = 100


def seconds(clock: Callable[[], float], run: Callable[[], object]) -> float:
    start = clock()
    run()
    return clock() - start


def run(candidates: int, rules: list[str], pool: ProcessPoolExecutor | None = None) -> int:
    stream = CandidateStream(candidates=candidates, tasks=TASKS)
    return len(tournament(stream, rules, rng=np.random.default_rng(0), executor=pool))


def in_two_processes(candidates: int, rules: list[str]) -> float:
    with ProcessPoolExecutor(WORKERS) as pool:
        run(2 * 250, rules, pool)
        return seconds(time.perf_counter, lambda: run(candidates, rules, pool))


def line(name: str, value: float, limit: float | None = None) -> bool:
    """Print one measurement beside its limit; whether it holds."""
    kept = limit is None or value <= limit
    said = "-" if limit is None else "pass" if kept else "fail"
    print(f"{name:60} {value:9.2f} {'' if limit is None else f'{limit:g}':>7} {said:>7}")
    return kept


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the candidates, never fails"
    )
    quick = parser.parse_args().quick
    rules, candidates = list(RULES), 500 if quick else 5_000
    print(f"{'measured':60} {'value':>9} {'limit':>7} {'verdict':>7}")
    size = f"{len(rules)} rules x {candidates:,} candidates x {TASKS} tasks"
    kept = [line(f"{size}, {WORKERS} processes, s", in_two_processes(candidates, rules), LIMIT)]
    run(candidates // 4, rules)
    part = seconds(time.process_time, lambda: run(candidates // 4, rules))
    whole = seconds(time.process_time, lambda: run(candidates, rules))
    line(f"{size}, one process, CPU s", whole)
    kept.append(line(f"{candidates:,} over {candidates // 4:,} candidates", whole / part, LINEAR))
    alone = {r: seconds(time.process_time, lambda r=r: run(candidates, [r])) for r in rules}
    for rule in sorted(alone, key=alone.__getitem__, reverse=True)[:5]:
        line(f"  {rule} alone, CPU s", alone[rule])
    return 0 if all(kept) or quick else 1


if __name__ == "__main__":
    sys.exit(main())
