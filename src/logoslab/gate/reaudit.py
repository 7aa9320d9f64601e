"""Looking back: adoptions on fresh tasks, and what a rule adopts when nothing has an effect.

Pure: fresh evidence in, an account out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from numbers import Real

import numpy as np
from pydantic import Field

from logoslab.errors import EvidenceError, InvalidValue
from logoslab.gate.asking import asked, require_rule
from logoslab.gate.measurement import require_same_measurement
from logoslab.gate.rule import ROUNDING, check_finite
from logoslab.gate.streams import Watch
from logoslab.pack.base import Frozen
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence
from logoslab.ports import AdmissionRule
from logoslab.stats import SamplingContract, clopper_pearson, e_benjamini_hochberg

NullStream = Iterable[Evidence] | Callable[[np.random.Generator], Evidence]

# exp of it is still finite; an e-value beyond it decides nothing more.
MOST_LOG_E = 700.0


class Adoption(Frozen):
    """One adopted candidate.

    Attributes
    ----------
    decision : Decision
        One of the decisions that carried it.
    tasks : tuple of str
        Tasks that it was adopted on; fresh tasks are none of these.
    """

    decision: Decision
    tasks: tuple[str, ...]


class Reaudited(Frozen):
    """One adoption, or a whole history, measured again on fresh tasks.

    Attributes
    ----------
    candidate, incumbent : str
    tasks : int
    mean_difference : float
        Candidate minus incumbent on the fresh tasks.
    holds : bool
        mean_difference > 0: the gain is there again.
    log_e_harm : float
        Log e-value against H0: E[d] ≥ 0, stopped once it shows harm: log(1/α) for one account,
        at most log(n/α) for one of n.
    harmful : bool
        Shown to be worse than the incumbent.
    claim : str
        What the sampling contract lets ``harmful`` say.
    """

    candidate: str
    incumbent: str
    tasks: int
    mean_difference: float
    holds: bool
    log_e_harm: float
    harmful: bool
    claim: str


class Reaudit(Frozen):
    """All adoptions on fresh tasks.

    Attributes
    ----------
    adoptions : tuple of Reaudited
        ``harmful`` by e-BH over all of them: at most a share α of those named harmful is not.
    false_share : float or None
        Share of adoptions whose gain is not there again; None without any adoption.
    low, high : float or None
        Its exact (Clopper-Pearson) interval at 1 − α over independent adoptions. A change without
        effect shows a gain again about every other time, so read the share as a lower estimate
        of how many adoptions do nothing.
    alpha : float
    """

    adoptions: tuple[Reaudited, ...]
    false_share: float | None
    low: float | None
    high: float | None
    alpha: float = Field(gt=0, lt=1)


def reaudit(
    adoptions: Iterable[tuple[Adoption, Evidence]], *, alpha: float = 0.05, metric: str = "score"
) -> Reaudit:
    """Which past adoptions hold up on fresh tasks.

    Parameters
    ----------
    adoptions : iterable of (Adoption, Evidence)
        Each with fresh evidence about the same two packs. What came back without a value is
        worth the decision's own ``m_fail``.
    alpha : float, default 0.05
        In (0, 1).
    metric : str

    Raises
    ------
    EvidenceError
        When evidence is about other packs, reuses a task of the adoption, comes from another
        scorer or other verifiers, or holds a difference outside [-1, 1].
    InvalidValue
        When alpha is not in (0, 1).
    """
    _require_alpha(alpha)
    history = list(adoptions)
    for adoption, evidence in history:
        _require_fresh(adoption, evidence)
    # e-BH names one alone at n/α, so no account needs to run beyond it.
    found = [
        _again(evidence, alpha / len(history), metric, _failure_value(adoption.decision))
        for adoption, evidence in history
    ]
    if not found:
        return Reaudit(adoptions=(), false_share=None, low=None, high=None, alpha=alpha)
    e_values = [math.exp(min(a.log_e_harm, MOST_LOG_E)) for a in found]
    harmful = e_benjamini_hochberg(e_values, alpha).tolist()
    false = sum(not a.holds for a in found)
    bounds = clopper_pearson(false, len(found), alpha)
    return Reaudit(
        adoptions=tuple(a.replace(harmful=h) for a, h in zip(found, harmful, strict=True)),
        false_share=false / len(found),
        low=float(bounds.low),
        high=float(bounds.high),
        alpha=alpha,
    )


def baseline_audit(
    evidence: Evidence, *, alpha: float = 0.05, metric: str = "score", m_fail: float = 0.0
) -> Reaudited:
    """The cumulative baseline audit: live against D_0, or a stable baseline that a person named.

    Each adoption may pass its own gate and the sum of them still be worse than the start:
    misevolution is J(D_t) < J(D_0) (LOGOS Eq. 18). ``harmful`` shows it at level ``alpha``;
    ``mean_difference`` below 0 observes it.

    Parameters
    ----------
    evidence : Evidence
        ``incumbent`` is the baseline, ``candidate`` the live pack.
    alpha : float, default 0.05
        In (0, 1).
    metric : str
    m_fail : float, default 0
        Value of a trial of the live pack that returned nothing.

    Raises
    ------
    EvidenceError
        When an arm is missing or a difference lies outside [-1, 1].
    InvalidValue
        When alpha is not in (0, 1).
    """
    _require_alpha(alpha)
    return _again(evidence, alpha, metric, m_fail)


class FalseAdoptions(Frozen):
    """How often a rule adopts candidates that change nothing.

    Attributes
    ----------
    rule : str
    candidates, adopted : int
        Null candidates that the rule could judge, and those that it accepted.
    not_applicable : int
        Null candidates that it could not judge; they are in no rate.
    per_100 : float or None
        Expected false adoptions per 100 null candidates; None when it could judge none.
    low, high : float or None
        Exact (Clopper-Pearson) Monte-Carlo interval of it at 1 − α.
    """

    rule: str
    candidates: int
    adopted: int
    not_applicable: int
    per_100: float | None
    low: float | None
    high: float | None


def false_adoptions_per_100(
    rule: AdmissionRule,
    null_stream: NullStream,
    *,
    rng: np.random.Generator | None = None,
    n: int | None = None,
    alpha: float = 0.05,
) -> FalseAdoptions:
    """Expected false adoptions of a rule per 100 candidates without effect, from A/A evidence.

    Parameters
    ----------
    rule : AdmissionRule
    null_stream : iterable of Evidence, or callable
        Evidence in which both arms are the same thing; a callable draws one from ``rng``.
    rng : Generator, optional
        For a callable.
    n : int, optional
        How many; for a callable it is needed, an iterable is read to its end without it.
    alpha : float, default 0.05
        Miss probability of the interval.

    Raises
    ------
    InvalidValue
        When a callable comes without ``rng`` or ``n``, ``n`` is no whole number from 1, or the
        rule or the evidence is none.
    """
    known = require_rule(rule)
    said = [asked(known, evidence).conclusion for evidence in _draws(null_stream, rng, n)]
    unjudged = said.count(Conclusion.NOT_APPLICABLE)
    judged, adopted = len(said) - unjudged, said.count(Conclusion.ACCEPT)
    rate = low = high = None
    if judged:
        bounds = clopper_pearson(adopted, judged, alpha)
        rate, low, high = (100 * float(x) for x in (adopted / judged, bounds.low, bounds.high))
    return FalseAdoptions(
        rule=rule.name,
        candidates=judged,
        adopted=adopted,
        not_applicable=unjudged,
        per_100=rate,
        low=low,
        high=high,
    )


def _draws(
    stream: NullStream, rng: np.random.Generator | None, n: int | None
) -> Iterator[Evidence]:
    counted = n is None or (isinstance(n, int) and n >= 1)
    if counted and not callable(stream):
        return islice(iter(stream), n)
    if rng is None or n is None or not counted or not callable(stream):
        raise InvalidValue(
            "null stream",
            got=f"rng={rng!r}, n={n!r}",
            allowed="n a whole number from 1; beside a callable rng as well",
            next_step="Pass rng=np.random.default_rng(seed), n=1000.",
        )
    return (stream(rng) for _ in range(n))


def _failure_value(decision: Decision) -> float:
    """What a trial without a value was worth to the rule that adopted."""
    value = decision.params.get("m_fail", 0.0)
    return float(value) if isinstance(value, int | float) else 0.0


def _again(evidence: Evidence, level: float, metric: str, m_fail: float) -> Reaudited:
    check_finite(evidence, metric)
    pairs = evidence.pairs(metric, m_fail=m_fail)
    d = dict(zip(pairs.tasks, pairs.difference.tolist(), strict=True))
    widest = max(map(abs, d.values()))
    if widest > 1 + ROUNDING:
        raise EvidenceError(
            f"fresh evidence on {evidence.candidate}",
            got=f"a paired difference of size {widest:g}",
            allowed="differences in [-1, 1]; they are never clipped",
            next_step="Divide every score of both arms by the length of the scale.",
        )
    harm = Watch(0.5, level, lower=True)
    for task in evidence.draws or pairs.tasks:
        if task in d:
            harm.see((d[task] + 1) / 2)
    mean = math.fsum(d.values()) / len(d)
    return Reaudited(
        candidate=evidence.candidate,
        incumbent=evidence.incumbent,
        tasks=len(d),
        mean_difference=mean,
        holds=mean > ROUNDING,
        log_e_harm=harm.log_e,
        harmful=harm.crossed,
        claim=SamplingContract(evidence.sampling).claim,
    )


def _require_alpha(alpha: float) -> None:
    if not (isinstance(alpha, Real) and 0 < alpha < 1):
        raise InvalidValue(
            "alpha of an audit",
            got=alpha,
            allowed="a number strictly between 0 and 1",
            next_step="Choose a value inside (0, 1).",
        )


def _require_fresh(adoption: Adoption, evidence: Evidence) -> None:
    decision = adoption.decision
    about = (evidence.incumbent, evidence.candidate)
    if about != (decision.incumbent, decision.candidate):
        raise EvidenceError(
            f"fresh evidence on {decision.candidate}",
            got=f"evidence about {about[1]} against {about[0]}",
            allowed=f"evidence about it against {decision.incumbent}",
            next_step="Run the adopted pack and the one that it replaced on fresh tasks.",
        )
    again = sorted({t.task for t in evidence.trials} & set(adoption.tasks))
    if again or evidence.digest == decision.evidence:
        raise EvidenceError(
            f"fresh evidence on {decision.candidate}",
            got=f"{len(again)} task(s) that it was adopted on, first {again[0]}"
            if again
            else "the evidence that it was adopted on",
            allowed="tasks that the adoption did not see",
            next_step="Draw fresh tasks, e.g. of the report split.",
        )
    require_same_measurement(decision, evidence)
