"""How long a fresh interpreter waits for ``import logoslab``: a limit in seconds, and a ratio.

``python benchmarks/imports.py [--rounds N]``. Each figure is the median over fresh interpreters of
the time between the lines before and after the import. ``numpy`` in the same run says how fast the
machine is just now. The rooms are there to show where weight comes in; the limit is for the
package alone. Exits with 1 above the limit.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys

LIMIT = 0.5  # seconds
MODULES = (
    "numpy", "logoslab", "logoslab.stats", "logoslab.pack.agent_pack", "logoslab.gate",
    "logoslab.viz", "logoslab.lifecycle.lab",
)  # fmt: skip


def seconds(module: str) -> float:
    """Import time of a module in an interpreter of its own."""
    code = (
        "import time; start = time.perf_counter(); "
        f"import {module}; print(time.perf_counter() - start)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def main() -> int:
    """Print the table; 1 when the package is over its limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="fresh interpreters for each module")
    rounds = parser.parse_args().rounds
    # Rounds outside, modules inside: a busy moment then falls on all of them.
    timed = [{module: seconds(module) for module in MODULES} for _ in range(rounds)]
    median = {module: statistics.median(one[module] for one in timed) for module in MODULES}
    for module in MODULES:
        print(f"{module:<26}{median[module]:8.3f} s{median[module] / median['numpy']:8.2f} × numpy")
    kept = median["logoslab"] <= LIMIT
    print(
        f"import logoslab: {median['logoslab']:.3f} s, limit {LIMIT} s: {'ok' if kept else 'OVER'}"
    )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
