"""What sequential rules read task by task, and the e-processes of the anytime gate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from logoslab.pack.evidence import Evidence, Pairs
from logoslab.stats import PortfolioEProcess


class Watch:
    """One e-process and its value when it first reached 1/level (LOGOS Eqs. 91, 92).

    Stopping each stream at its own first crossing keeps the stopped wealth an e-value
    (optional stopping), so the smallest of several is one for the union of their nulls, and
    "crossed" means the same for the e-value and for the running best p.

    Parameters
    ----------
    m0 : float
        Mean under the null, in (0, 1).
    level : float
        Crossing means wealth ≥ 1/level.
    lower : bool, default False
        The null is E[Y] ≥ m0 instead of E[Y] ≤ m0.
    """

    def __init__(self, m0: float, level: float, *, lower: bool = False) -> None:
        self._process = PortfolioEProcess(m0, tail="lower" if lower else "upper")
        self.threshold = -math.log(level)
        self.path: list[float] = []
        self._stopped: float | None = None

    def see(self, y: float) -> None:
        """Take one observation in [0, 1]."""
        self.path.append(self._process.update(y).log_wealth)
        if self._stopped is None and self.path[-1] >= self.threshold:
            self._stopped = self.path[-1]

    @property
    def crossed(self) -> bool:
        """Whether the wealth has reached 1/level at any task so far."""
        return self._stopped is not None

    @property
    def log_e(self) -> float:
        """Log of the e-value: the wealth at the first crossing, else the wealth now."""
        return self._process.log_wealth if self._stopped is None else self._stopped

    @property
    def p_value(self) -> float:
        """min(1, 1/sup K), valid at every stopping time."""
        return self._process.p_value


def drawn(evidence: Evidence, pairs: Pairs) -> NDArray[np.float64]:
    """Paired differences as a sequential rule reads them, shape (tasks drawn,).

    In the order of the sampler's draws, repeats included, or else each task once in the order of
    arrival.
    """
    if not evidence.draws:
        return pairs.difference
    by_task = dict(zip(pairs.tasks, pairs.difference.tolist(), strict=True))
    return np.array([by_task[task] for task in evidence.draws if task in by_task], dtype=np.float64)


def first_task(holds: NDArray[np.bool_]) -> NDArray[np.int64]:
    """First column, counted from 1, where a row holds; the number of columns + 1 for never."""
    found = np.concatenate([holds, np.ones((len(holds), 1), dtype=np.bool_)], axis=1)
    return np.asarray(found.argmax(axis=1) + 1)
