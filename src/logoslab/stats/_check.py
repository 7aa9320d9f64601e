"""Refusals shared by the room: what a value may be, and an error that names index and value."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from logoslab.errors import EvidenceError, InvalidValue

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def numbers(values: ArrayLike, which: str) -> Floats:
    """`values` as a float64 array; booleans and integers pass, other kinds are refused.

    Raises
    ------
    EvidenceError
        On anything that is not a real number, naming the first index and value, and on ragged or
        empty input. NaN and infinities are refused here as well.
    """
    array = _plain_array(values, which)
    if array.size == 0:
        raise _refused(which, "no values", "at least one value", "Pass at least one observation.")
    if array.dtype.kind not in "biuf":
        array = _from_objects(np.asarray(values, dtype=object), which)
    floats = np.asarray(array, dtype=np.float64)
    if not np.isfinite(floats).all():
        raise _at(which, floats, ~np.isfinite(floats), "finite numbers")
    return floats


def unit_values(values: ArrayLike, which: str) -> Floats:
    """`values` as float64 inside [0, 1]; never clipped, because clipping breaks the null."""
    return within(values, 0.0, 1.0, which)


def within(values: ArrayLike, low: float, high: float, which: str) -> Floats:
    """`values` as float64 inside [low, high]; the first one outside is named."""
    floats = numbers(values, which)
    outside = (floats < low) | (floats > high)
    if outside.any():
        raise _at(which, floats, outside, f"numbers in [{low:g}, {high:g}]")
    return floats


def vector(values: Floats, which: str) -> Floats:
    """`values` if it has one axis."""
    if values.ndim != 1:
        raise _refused(which, f"shape {values.shape}", "shape (n,)", "Pass one axis of values.")
    return values


def stream_matrix(values: Floats, which: str) -> Floats:
    """`values` as (streams, n); a vector becomes one stream."""
    if values.ndim not in (1, 2):
        raise _refused(
            which,
            f"shape {values.shape}",
            "shape (n,) or (streams, n)",
            "Put one stream in each row.",
        )
    return np.atleast_2d(values)


def open_unit(value: float, which: str) -> float:
    """`value` if it lies in (0, 1)."""
    if not (isinstance(value, (Real, np.floating)) and 0.0 < value < 1.0):
        raise InvalidValue(
            which,
            got=value,
            allowed="a number strictly between 0 and 1",
            next_step="Choose a value inside (0, 1).",
        )
    return float(value)


def closed_unit(value: float, which: str) -> float:
    """`value` if it lies in [0, 1]."""
    if not (isinstance(value, (Real, np.floating)) and 0.0 <= value <= 1.0):
        raise InvalidValue(
            which,
            got=value,
            allowed="a number from 0 to 1",
            next_step="Choose a value inside [0, 1].",
        )
    return float(value)


def positive(value: float, which: str) -> float:
    """`value` if it is finite and above zero."""
    if not (isinstance(value, (Real, np.floating)) and 0.0 < value < np.inf):
        raise InvalidValue(
            which,
            got=value,
            allowed="a finite number above 0",
            next_step="Choose a positive value.",
        )
    return float(value)


def whole(value: int, least: int, which: str) -> int:
    """`value` if it is an integer of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InvalidValue(
            which,
            got=value,
            allowed=f"an integer of at least {least}",
            next_step=f"Choose an integer from {least} upwards.",
        )
    return int(value)


def choice(value: str, allowed: tuple[str, ...], which: str) -> str:
    """`value` if it is one of `allowed`."""
    if value not in allowed:
        raise InvalidValue(
            which, got=value, allowed=", ".join(allowed), next_step="Choose one of these names."
        )
    return value


def same_shape(first: Floats, second: Floats, which: str) -> None:
    """Refuse two arrays that do not pair up."""
    if first.shape != second.shape:
        raise _refused(
            which,
            f"shapes {first.shape} and {second.shape}",
            "two arrays of one shape",
            "Pair the values by task before comparing.",
        )


def counts(k: ArrayLike, n: ArrayLike, which: str) -> tuple[Floats, Floats]:
    """Successes and trials as broadcast float arrays, refused unless 0 <= k <= n and n >= 1."""
    hits, trials = np.broadcast_arrays(numbers(k, f"{which} k"), numbers(n, f"{which} n"))
    wrong = (hits < 0) | (hits > trials) | (trials < 1) | (hits % 1 != 0) | (trials % 1 != 0)
    if wrong.any():
        at = _first(wrong)
        raise _refused(
            which,
            f"k={hits[at]:g}, n={trials[at]:g} at index {_shown(at)}",
            "whole counts with 0 <= k <= n and n >= 1",
            "Count successes and trials again.",
        )
    return hits, trials


def _plain_array(values: ArrayLike, which: str) -> NDArray[np.generic]:
    try:
        return np.asarray(values)
    except ValueError as ragged:
        raise _refused(
            which, "rows of different lengths", "a rectangular array", "Pad or split the rows."
        ) from ragged


def _from_objects(array: NDArray[np.object_], which: str) -> Floats:
    for at, value in np.ndenumerate(array):
        if not isinstance(value, (Real, np.bool_)):
            raise _refused(
                which,
                f"{value!r} at index {_shown(at)}",
                "real numbers",
                "Replace the value or drop the row before testing.",
            )
    return array.astype(np.float64)


def _at(which: str, values: Floats, wrong: Bools, allowed: str) -> EvidenceError:
    at = _first(wrong)
    got = f"{float(values[at])!r} at index {_shown(at)}"
    return _refused(which, got, allowed, "Rescale or repair the values; they are never clipped.")


def _first(wrong: Bools) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(wrong)), wrong.shape))


def _shown(at: tuple[int, ...]) -> str:
    return str(at[0]) if len(at) == 1 else str(at)


def _refused(which: str, got: str, allowed: str, next_step: str) -> EvidenceError:
    return EvidenceError(which, got=got, allowed=allowed, next_step=next_step)
