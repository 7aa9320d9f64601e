"""Differences up to rounding, and rows of a batch that differ only in their order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from logoslab.gate.batch import Floats


def settled(d: Floats) -> Floats:
    """The differences with rounding removed, so that equal ones tie and 0 is 0."""
    return np.round(d, 12) + 0.0


def repeated_rows(d: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Distinct rows, and for each row the distinct one with the same numbers in some order.

    Rows of 0/1 scores have differences -1, 0 and 1, so few are distinct. Other rows hardly ever
    repeat and come back as they are. For statistics that do not look at the order.
    """
    n = d.shape[1]
    up, down = (d == 1).sum(axis=1), (d == -1).sum(axis=1)
    if (up + down + (d == 0).sum(axis=1) < n).any():
        return d, np.arange(len(d))
    _, first, which = np.unique(up * (n + 1) + down, return_index=True, return_inverse=True)
    return d[first], which
