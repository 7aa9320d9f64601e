"""Direction: every rule counts a higher score as better, so a loss is judged with a minus."""

from __future__ import annotations

from typing import Final

from logoslab.errors import InvalidValue
from logoslab.interop import Results

LOSSES: Final = ("loss", "perplexity", "bpb", "error", "latency", "regret", "cost")


def oriented(
    before: Results, after: Results, m_fail: float, lower_is_better: bool | None
) -> tuple[Results, Results, float]:
    """Both results and the score of a failed run, so that higher is better.

    Parameters
    ----------
    before, after : Results
    m_fail : float
        Score of a run that returned nothing, on the scale of the files.
    lower_is_better : bool or None
        What the caller says; None is no unless the column's name sounds like a loss.

    Raises
    ------
    InvalidValue
        When the name sounds like a loss and nobody said; when a failed run would be the best one.
    """
    if lower_is_better is None:
        _refuse_a_silent_loss(before, after)
    if lower_is_better:
        before, after, m_fail = _negated(before), _negated(after), 0.0 - m_fail
    _refuse_a_failure_that_wins(before, after, m_fail, bool(lower_is_better))
    return before, after, m_fail


def _refuse_a_silent_loss(before: Results, after: Results) -> None:
    for results in (before, after):
        column = results.columns.get("score", "")
        if any(word in column.casefold() for word in LOSSES):
            raise InvalidValue(
                f"direction of the score in {results.source}",
                got=f"{column!r}, which sounds like a loss, and no word on which way is better",
                allowed="--lower-is-better or --higher-is-better",
                next_step="Say which it is (lower_is_better=True or False in Python).",
            )


def _refuse_a_failure_that_wins(before: Results, after: Results, m_fail: float, loss: bool) -> None:
    """Refuse a failed run that counts as the best: 0, the usual score of one, is the best loss."""
    measured = [v for r in (before, after) for v in r.values if v is not None]
    failed = None in (*before.values, *after.values) or not set(before.tasks) <= set(after.tasks)
    if not (failed and measured and (m_fail > max(measured) or (loss and m_fail == max(measured)))):
        return
    sign = -1 if loss else 1
    failing, worst = (0.0 + sign * value for value in (m_fail, min(measured)))
    raise InvalidValue(
        "m_fail",
        got=f"{failing:g} for runs that returned nothing, and no measured run is better",
        allowed=f"what a failed run is worth; the worst measured one has {worst:g}",
        next_step="State it with --m-fail (m_fail= in Python).",
    )


def _negated(results: Results) -> Results:
    column = results.columns.get("score", "score")
    return results.replace(
        values=tuple(None if v is None else 0.0 - v for v in results.values),
        unlisted=None if results.unlisted is None else 0.0 - results.unlisted,
        notes=(*results.notes, f"lower is better: {column!r} is judged with a minus"),
    )
