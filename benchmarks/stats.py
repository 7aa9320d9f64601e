"""Speed of the statistics room as ratios measured in one run.

    python benchmarks/stats.py [--quick]

Each line compares CPU seconds of ours with those of a yardstick that runs in the same process a
moment later, so a slow or shared machine moves both. The yardstick is a peer library where it is
installed (`ville`, `online-fdr`), else a stated slow definition or the bare numpy passes that any
implementation must make. Peers that are too slow to run in full run on a stated fraction; their
time is scaled up and the line says so.

The verdict of a line is "pass" or "fail" against its target, "no peer" where the peer is not
installed, and "-" where no target is set. A failed target makes the exit code 1, except with
--quick, whose sizes are too small to judge.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from logoslab.stats import (
    PortfolioEProcess,
    PortfolioStreams,
    betting_interval,
    clopper_pearson,
    empirical_bernstein_sequence,
    holm,
    lord_plus_plus,
    mcnemar_exact,
    paired_bootstrap,
    portfolio_log_wealth,
    quadratic_bets,
)


@dataclass(frozen=True)
class Case:
    """What is timed, against what, and the largest ours/yardstick ratio that meets the target.

    `other` is None where the yardstick is a peer that is not installed.
    """

    name: str
    ours: Callable[[], object]
    yardstick: str
    other: Callable[[], object] | None
    share: float = 1.0
    target: float | None = None


def cpu_seconds(run: Callable[[], object], repeats: int) -> float:
    """The least CPU time of several runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def numpy_limit(
    rows: np.ndarray, m0: float = 0.5, block: int = 64, columns: int = 1024
) -> np.ndarray:
    """The passes over memory that the full path needs, unchecked and without recovery of logs.

    Time first; nine products in a cached strip of columns; one logarithm for each path value.
    """
    bets = np.append(quadratic_bets(m0), 0.0)[:, None]
    path = np.empty(rows.shape)
    for first in range(0, len(rows), columns):
        y = np.ascontiguousarray(rows[first : first + columns].T)
        width = y.shape[1]
        values = np.full((9, width), 0.5 / 8)
        values[-1] = 0.5
        sums, squares = np.zeros(width), np.zeros(width)
        strip = np.repeat(bets, width, axis=1)
        factor, wealth = np.empty_like(values), np.empty_like(y)
        for t, value in enumerate(y):
            gain = value - m0
            if t >= 5:
                mean = sums / t
                spread = squares / t - mean * mean
                strip[-1] = np.clip((mean - m0) / np.maximum(spread, 1e-3), 0.0, 1.8)
            np.multiply(strip, gain, out=factor)
            factor += 1.0
            values *= factor
            np.add.reduce(values, axis=0, out=wealth[t])
            sums += value
            squares += value * value
        path[first : first + columns] = np.log(wealth, out=wealth).T
    return path


def log_sum_definition(y: np.ndarray, m0: float = 0.5) -> np.ndarray:
    """One stream by a running sum of logarithms for each bet, the usual way to avoid underflow."""
    n = np.arange(1, len(y) + 1)
    mean = np.r_[0.0, y.cumsum()[:-1] / n[:-1]]
    spread = np.r_[0.0, (y * y).cumsum()[:-1] / n[:-1]] - mean * mean
    anchor = np.clip((mean - m0) / np.maximum(spread, 1e-3), 0.0, 1.8)
    anchor[:5] = 0.0
    parts = [math.log(0.5) + np.log1p(anchor * (y - m0)).cumsum()]
    for bet in quadratic_bets(m0):
        parts.append(math.log(0.5 / 8) + np.log1p(bet * (y - m0)).cumsum())
    return np.asarray(np.logaddexp.reduce(parts, axis=0))


def grid_inversion(
    rows: np.ndarray, alpha: float = 0.05, steps: int = 1000
) -> list[tuple[float, float]]:
    """Both bounds by testing a grid of means, one stream after another."""
    grid, out = np.linspace(1 / steps, 1 - 1 / steps, steps - 1), []
    for row in rows:
        at = math.log(2 / alpha)
        up = [portfolio_log_wealth(row, m)[-1] < at for m in grid]
        down = [portfolio_log_wealth(row, m, tail="lower")[-1] < at for m in grid]
        out.append((float(grid[np.argmax(up)]), float(grid[::-1][np.argmax(down[::-1])])))
    return out


def lord_definition(p: np.ndarray, alpha: float = 0.05, w0: float = 0.025) -> list[float]:
    """Levels summed afresh from the list of discoveries at every test."""
    gamma = np.arange(1, len(p) + 1) ** -1.6 / 2.2857656
    found: list[int] = []
    levels = []
    for k, value in enumerate(p):
        paid = sum((alpha if j else alpha - w0) * gamma[k - tau - 1] for j, tau in enumerate(found))
        levels.append(w0 * gamma[k] + paid)
        if value <= levels[-1]:
            found.append(k)
    return levels


def stepwise(y: np.ndarray) -> PortfolioStreams:
    """Incremental use: the streams arrive 50 observations at a time and the path is kept."""
    streams = PortfolioStreams(0.5, len(y))
    for first in range(0, y.shape[1], 50):
        streams.extend(y[:, first : first + 50])
    return streams


def scalar_updates(y: list[float]) -> float:
    process = PortfolioEProcess(0.5)
    for value in y:
        process.update(value)
    return process.log_wealth


def scalar_definition(y: list[float]) -> float:
    """The same state by nine calls of log1p and a log-sum at every observation."""
    bets, logs = [*quadratic_bets(0.5).tolist(), 0.0], [0.0] * 9
    weights, total, squares, wealth = [0.0625] * 8 + [0.5], 0.0, 0.0, 0.0
    for n, value in enumerate(y):
        if n >= 5:
            mean = total / n
            excess = (mean - 0.5) / max(squares / n - mean * mean, 1e-3)
            bets[-1] = min(max(excess, 0.0), 1.8)
        logs = [log + math.log1p(bet * (value - 0.5)) for log, bet in zip(logs, bets, strict=True)]
        top = max(logs)
        wealth = top + math.log(
            sum(w * math.exp(x - top) for w, x in zip(weights, logs, strict=True))
        )
        total, squares = total + value, squares + value * value
    return wealth


def peer(module: str) -> ModuleType | None:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None


def cases(quick: bool) -> list[Case]:
    rng = np.random.default_rng(0)
    streams, long = (2_000, 100_000) if quick else (10_000, 1_000_000)
    coins = (rng.random((streams, 500)) < 0.5) * 1.0
    one = (rng.random(long) < 0.5) * 1.0
    few = one[:100_000].tolist()
    p = np.where(
        rng.random(long // 10) < 0.01, rng.random(long // 10) * 1e-6, rng.random(long // 10)
    )
    d = rng.normal(0.02, 0.3, 1_000)
    sample = max(1, streams // 5_000)
    limit = "bare numpy passes"
    listed = [
        Case(f"{streams} x 500, path in one batch", lambda: portfolio_log_wealth(coins, 0.5),
             limit, lambda: numpy_limit(coins), target=1.5),
        Case(f"{streams} x 500, incremental by 50", lambda: stepwise(coins),
             limit, lambda: numpy_limit(coins), target=1.5),
        Case(f"one stream of {long}", lambda: portfolio_log_wealth(one, 0.5),
             "sum of logarithms", lambda: log_sum_definition(one), target=1.0),
        Case("100,000 single updates", lambda: scalar_updates(few),
             "log-sum-exp at each update", lambda: scalar_definition(few), target=0.5),
        Case(f"bounds of {streams} x 500", lambda: betting_interval(coins),
             f"grid of 1,000 means, {sample} streams scaled",
             lambda: grid_inversion(coins[:sample]),
             share=sample / streams, target=0.01),
        Case(f"LORD++ on {len(p)}", lambda: lord_plus_plus(p, 0.05),
             "definition, a tenth scaled linearly", lambda: lord_definition(p[: len(p) // 10]),
             share=0.1, target=0.1),
        Case("McNemar, 2,000 tables", lambda: mcnemar_exact(np.arange(2_000) % 90, 40),
             "sum of binomial terms", lambda: [_binomial_tail(k % 90, 40) for k in range(2_000)]),
        Case("Clopper-Pearson, 100,000 pairs",
             lambda: clopper_pearson(np.arange(100_000) % 500, 500),
             "scipy.stats, 500 pairs scaled",
             lambda: [_scipy_interval(k) for k in range(500)], share=500 / 100_000),
        Case("paired bootstrap, 1,000 tasks", lambda: paired_bootstrap(d, rng=rng),
             "resample by resample", lambda: [rng.choice(d, 1_000).mean() for _ in range(10_000)]),
        Case("Holm, 100,000", lambda: holm(rng.random(100_000)), "one sort",
             lambda: np.sort(rng.random(100_000))),
    ]  # fmt: skip
    return listed + peer_cases(coins, p, sample)


def peer_cases(coins: np.ndarray, p: np.ndarray, sample: int) -> list[Case]:
    ville, fdr = peer("ville"), peer("online_fdr.p_values")
    few, few_p = coins[: 10 * sample], p[: len(p) // 10].tolist()
    share = len(few) / len(coins)

    def one_by_one(library: Any = fdr) -> list[bool]:
        test = library.LordPlusPlus(alpha=0.05, wealth=0.025)
        return [test.test_one(value) for value in few_p]

    return [
        Case(f"bounds of {len(coins)} x 500", lambda: betting_interval(coins),
             f"ville, grid 1,000, {len(few)} streams scaled",
             None if ville is None else
             lambda: [ville.BettingCS(grid=1000).fit(row) for row in few],
             share=share, target=0.01),
        Case(f"empirical Bernstein, {len(coins)} x 500",
             lambda: empirical_bernstein_sequence(coins),
             f"ville, {len(few)} streams scaled",
             None if ville is None else
             lambda: [ville.EmpiricalBernsteinCS().fit(row) for row in few],
             share=share),
        Case(f"LORD++ on {len(p)}", lambda: lord_plus_plus(p, 0.05),
             "online-fdr, a tenth scaled linearly", None if fdr is None else one_by_one,
             share=0.1, target=0.1),
    ]  # fmt: skip


def _binomial_tail(k: int, other: int) -> float:
    n, low = k + other, min(k, other)
    return float(min(1.0, 2 * sum(math.comb(n, i) for i in range(low + 1)) / 2**n))


def _scipy_interval(k: int) -> object:
    from scipy.stats import binomtest

    return binomtest(k, 500).proportion_ci()


def measured(case: Case, quick: bool) -> tuple[float, float | None]:
    """CPU seconds of ours and of the yardstick; None for a peer that is not installed."""
    repeats = 1 if quick else 3
    ours = cpu_seconds(case.ours, repeats)
    if case.other is None:
        return ours, None
    return ours, cpu_seconds(case.other, 1 if case.share < 1 else repeats) / case.share


def verdict(ratio: float | None, target: float | None) -> str:
    """What a line says about its target."""
    if ratio is None:
        return "no peer"
    if target is None:
        return "-"
    return "pass" if ratio <= target else "fail"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the sizes, one repeat, never fails"
    )
    quick = parser.parse_args().quick
    print(
        f"{'case':40} {'ours s':>9} {'other s':>9} {'ours/other':>10} {'target':>7} {'verdict':>7}"
        "  against"
    )
    failed = []
    for case in cases(quick):
        ours, other = measured(case, quick)
        ratio = None if other is None else ours / other
        said = verdict(ratio, case.target)
        spent = "" if other is None else f"{other:.3f}"
        shown = "" if ratio is None else f"{ratio:.4f}"
        target = "" if case.target is None else f"{case.target:.3g}"
        print(
            f"{case.name:40} {ours:9.4f} {spent:>9} {shown:>10} {target:>7} {said:>7}"
            f"  {case.yardstick}"
        )
        if said == "fail":
            failed.append(f"{case.name} against {case.yardstick}")
    for name in failed:
        print(f"target missed: {name}")
    return 1 if failed and not quick else 0


if __name__ == "__main__":
    sys.exit(main())
