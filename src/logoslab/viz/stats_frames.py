"""Results of ``logoslab.stats`` → tidy frames. Nothing is computed here, only laid out.

A series is named by its label. Its role, a name in the theme, says how it is drawn; a label that is
a role itself needs no other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logoslab.errors import InvalidValue
from logoslab.stats import Bounds, Ledger, LedgerEntry
from logoslab.viz.frames import log_threshold
from logoslab.viz.theme import LOOKS

if TYPE_CHECKING:
    import pandas as pd

LEAST_P = 1e-300
"""Stands for a p-value of 0, which a log axis cannot show."""


def stream_frame(
    paths: Mapping[str, ArrayLike],
    threshold: float | None = None,
    *,
    roles: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Wealth of plain streams that belong to no gate's decision, for :func:`logoslab.viz.wealth`.

    Parameters
    ----------
    paths : mapping
        Label → log wealth after observations 1, 2, …, natural logs, shape (n,).
    threshold : float, optional
        Wealth (1/level) from which a stream counts as evidence.
    roles : mapping, optional
        Label → role of the theme.

    Returns
    -------
    DataFrame
        The columns of :func:`logoslab.viz.wealth_frame`; ``conclusion`` is empty.

    Raises
    ------
    InvalidValue
        When there is no path, a path is not a row of finite numbers, or the threshold is not
        positive.
    """
    import pandas as pd

    given = log_threshold(threshold)
    bar = math.nan if given is None else given
    return pd.concat(
        [
            pd.DataFrame(_stream(label, _row(path, f"path of {label}"), bar, _role(label, roles)))
            for label, path in _some(paths, "paths").items()
        ],
        ignore_index=True,
    )


def sequence_frame(
    t: ArrayLike,
    estimates: Mapping[str, ArrayLike],
    bounds: Mapping[str, Bounds],
    *,
    roles: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Estimates with bounds at the same times, for ``confidence_sequence`` and ``error_rate``.

    Parameters
    ----------
    t : array_like, shape (times,)
        Numbers of observations.
    estimates, bounds : mapping
        Label → running estimate, and label → its ends, all of shape (times,).
    roles : mapping, optional
        Label → role of the theme.

    Returns
    -------
    DataFrame
        Columns ``t``, ``estimate``, ``low``, ``high``, ``series`` (the label), ``role``.

    Raises
    ------
    InvalidValue
        When labels differ or a column has another length than ``t``.
    """
    import pandas as pd

    times = np.asarray(t)
    _row(times, "t")
    if list(_some(estimates, "estimates")) != list(bounds):
        raise InvalidValue(
            "bounds",
            got=", ".join(bounds) or "none",
            allowed=f"the labels of the estimates, in their order: {', '.join(estimates)}",
            next_step="Give one pair of bounds for each estimate.",
        )
    parts = []
    for label, estimate in estimates.items():
        columns = {"estimate": estimate, "low": bounds[label].low, "high": bounds[label].high}
        parts.append(
            pd.DataFrame(
                {"t": times}
                | {name: _as_long(v, times, f"{name} of {label}") for name, v in columns.items()}
                | {"series": label, "role": _role(label, roles)}
            )
        )
    return pd.concat(parts, ignore_index=True)


def ledger_frame(ledger: Ledger) -> pd.DataFrame:
    """Closed gates of a ledger, in order, for :func:`logoslab.viz.ledger`.

    Returns
    -------
    DataFrame
        Columns ``gate``, ``level``, ``p`` (the recorded p-value, or min(1, 1/e)), ``accepted``,
        ``label`` (the gate's name).
    """
    import pandas as pd

    rows = [(e.number, e.level, _p(e), e.rejected, e.gate) for e in ledger.entries]
    return pd.DataFrame(rows, columns=["gate", "level", "p", "accepted", "label"])


def _stream(label: str, path: NDArray[np.float64], bar: float, role: str) -> dict[str, Any]:
    at = np.arange(1, len(path) + 1)
    above = np.flatnonzero(path >= bar)
    return {
        "process": label,
        "role": role,
        "label": label,
        "task": at,
        "log_wealth": path,
        "side": "threshold",
        "log_threshold": bar,
        "crossing": at == (above[0] + 1 if above.size else 0),
        "stopped": at == len(path),
        "conclusion": "",
    }


def _p(entry: LedgerEntry) -> float:
    p = math.exp(-max(entry.log_e or 0.0, 0.0)) if entry.p_value is None else entry.p_value
    return max(p, LEAST_P)


def _role(label: str, roles: Mapping[str, str] | None) -> str:
    role = (roles or {}).get(label, label)
    return role if role in LOOKS else "other"


def _some(series: Mapping[str, ArrayLike], which: str) -> Mapping[str, ArrayLike]:
    if not series:
        raise InvalidValue(
            which, got="none", allowed="at least one labelled series", next_step="Pass one."
        )
    return series


def _row(values: ArrayLike, which: str) -> NDArray[np.float64]:
    row = np.asarray(values, dtype=np.float64)
    if row.ndim != 1 or not row.size or not np.isfinite(row).all():
        raise InvalidValue(
            which,
            got=f"shape {row.shape}" + ("" if np.isfinite(row).all() else " with NaN or infinity"),
            allowed="one row of finite numbers",
            next_step="Pass one stream at a time, measured at every step.",
        )
    return row


def _as_long(values: ArrayLike, times: NDArray[Any], which: str) -> NDArray[np.float64]:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != times.shape:
        raise InvalidValue(
            which,
            got=f"shape {column.shape}",
            allowed=f"shape {times.shape}, one value for each time",
            next_step="Evaluate it at the times in t.",
        )
    return column
