"""How much of a person's attention a change deserves (LOGOS Eq. 71)."""

from __future__ import annotations

from typing import Literal

from logoslab.errors import InvalidValue
from logoslab.pack.patch import Footprint

Risk = Literal["low", "medium", "high"]


def risk_of(
    footprint: Footprint,
    edits: int,
    score_change: float | None = None,
    *,
    eps_hi: float = 0.05,
    n_edit: int = 5,
) -> Risk:
    """The risk class of a change.

    ``high`` when it touches a safety surface or Δs < −ε_hi; ``medium`` when it has at least
    n_edit edits or −ε_hi ≤ Δs < 0; else ``low``. A new permission is a change of what may reach
    the outside world and counts as a safety surface.

    Parameters
    ----------
    footprint : Footprint
    edits : int
        Number of edits of the patch.
    score_change : float, optional
        Measured held-out change Δs; None before the gate has run, when only the footprint speaks.
    eps_hi : float, default 0.05
        Above 0.
    n_edit : int, default 5
        At least 1.
    """
    if eps_hi <= 0 or n_edit < 1:
        raise InvalidValue(
            "risk thresholds",
            got=(eps_hi, n_edit),
            allowed="eps_hi above 0 and n_edit of at least 1",
            next_step="Correct the thresholds.",
        )
    change = 0.0 if score_change is None else score_change
    if footprint.safety_surfaces or footprint.permissions or not change >= -eps_hi:
        return "high"
    return "medium" if edits >= n_edit or change < 0 else "low"
