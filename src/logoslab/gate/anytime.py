"""The anytime-valid gate: gain and regression as separate e-processes (LOGOS Eqs. 91, 92, 101)."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

from pydantic import Field, model_validator

from logoslab.errors import EvidenceError
from logoslab.gate.batch import Batch, Floats, Outcomes, decide_one_by_one
from logoslab.gate.race_many import race_many
from logoslab.gate.rule import ROUNDING, PairedRule, check_finite
from logoslab.gate.streams import Watch
from logoslab.pack.decision import Conclusion, Decision
from logoslab.pack.evidence import Evidence, Pairs, Sampling
from logoslab.pack.needs import Needs
from logoslab.stats import SamplingContract


class AnytimeGate(PairedRule):
    """Look after every task and stop at the first decisive one.

    GAIN  H0: E[d] ≤ δ_min, on Y = (d+1)/2 with m0 = (δ_min+1)/2; affine, never clipped.
    REG   H0: Pr(d < −ε_reg) ≥ ρ_max, on Z = 1{d ≥ −ε_reg} with m0 = 1−ρ_max.
    SAFETY (optional) as REG, on the safety metric with ρ_safety.

    Accept ⇔ every stream has reached 1/level, i.e. max(p_gain, p_reg[, p_safety]) ≤ level
    (Eq. 101). A forbidden previewed effect sets p = 1 and e = 0.

    Parameters
    ----------
    delta_min : float, optional
        Gain to be exceeded, in [0, 1); None is 0, any gain.
    eps_reg : float, default 0
        Drop on one task that is tolerated, in [0, 1).
    rho_max : float, default 0.1
        Tolerated share of regressed tasks, in (0, 1).
    alpha : float, default 0.05
        Level of the harm processes, and of acceptance when no ``level`` is given.
    level : float, optional
        Level of acceptance that a ledger fixed before the gate began, in (0, 1).
    sampling : str, optional
        Sampling contract; by default the evidence's own. It decides the printed claim.
    safety_metric, rho_safety : str and float, optional
        Turn on the safety stream; give both.

    Notes
    -----
    The other outcomes, each at the first task where it holds:

    ``reject_harmful``: the lower process on d (H0: E[d] ≥ 0) or the upper process on the
    regression rate (H0: Pr(d < −ε_reg) ≤ ρ_max; the same for safety) crosses. The processes share
    ``alpha`` equally, so a harmless candidate is called harmful with probability at most alpha.
    ``reject_insufficient``: with δ_min > 0, the lower process against δ_min has crossed at alpha,
    and either no harm process has gained on its start or the tasks ran out. While something
    points to harm the gate looks on, so that a harmful candidate is not filed as a useless one.
    ``conflict``: a quantity was shown both above and below its bound, or a candidate both
    acceptable and harmful at once; the stream is then not what the contract says.
    ``undecided``: the tasks ran out.
    """

    name: ClassVar[str] = "anytime"
    source: ClassVar[str] = "LOGOS Eqs. 89-92, 101"
    needs: ClassVar[Needs] = Needs(bounded=True)
    claim: ClassVar[str] = (
        "Level holds at every look, for tasks drawn from the declared pool; a decision states the "
        "claim that its sampling contract supports."
    )
    sequential: ClassVar[bool] = True

    delta_min: float = Field(default=0.0, ge=0, lt=1, description="gain to be exceeded")
    eps_reg: float = Field(default=0.0, ge=0, lt=1, description="drop on one task, tolerated")
    rho_max: float = Field(default=0.1, gt=0, lt=1, description="tolerated share of regressions")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="level of the harm processes")
    level: float = Field(default=0.05, gt=0, lt=1, description="level of acceptance; None is alpha")
    sampling: Sampling | None = Field(
        default=None, description="sampling contract; None is the evidence's own"
    )
    safety_metric: str | None = Field(default=None, description="metric of the safety stream")
    rho_safety: float | None = Field(
        default=None, gt=0, lt=1, description="tolerated share of safety regressions"
    )

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, given: dict[str, Any]) -> dict[str, Any]:
        """None stands for the default: no least gain, and acceptance at ``alpha``."""
        known = {k: v for k, v in given.items() if v is not None}
        return {"level": known.get("alpha", 0.05), **known}

    @model_validator(mode="after")
    def _whole_safety_stream(self) -> Self:
        if (self.safety_metric is None) != (self.rho_safety is None):
            raise ValueError("both a safety_metric and a rho_safety, or neither")
        return self

    def _judge(self, evidence: Evidence, pairs: Pairs) -> Decision:
        differences = [_by_task(pairs)]
        if self.safety_metric is not None:
            check_finite(evidence, self.safety_metric)
            try:
                safety = evidence.pairs(self.safety_metric, m_fail=self.m_fail)
            except EvidenceError as missing:
                return self.not_applicable(evidence, str(missing), tasks=len(pairs.tasks))
            differences.append(_by_task(safety))
        return self._walk(evidence, pairs, differences)

    def _judge_many(self, batch: Batch, d: Floats) -> Outcomes:
        # A safety stream reads a second metric, for which a batch has no general place.
        return race_many(self, d) if self.safety_metric is None else decide_one_by_one(self, batch)

    def _walk(
        self, evidence: Evidence, pairs: Pairs, differences: list[dict[str, float]]
    ) -> Decision:
        race = Race(self)
        conclusion, reason = Conclusion.UNDECIDED, "the tasks ran out before the evidence decided"
        for task in _arrivals(evidence, differences):
            race.see(*(column.get(task) for column in differences))
            verdict = race.verdict()
            if verdict is not None:
                conclusion, reason = verdict
                break
        else:
            if not evidence.complete:
                reason = "not decided yet"
            elif race.is_futile():
                conclusion, reason = race.insufficient()
        if evidence.effects:
            conclusion = Conclusion.REJECT_HARMFUL
            reason = f"safety veto: forbidden effect {', '.join(evidence.effects)}"
        return self._conclude(
            evidence,
            conclusion,
            reason,
            tasks=race.tasks,
            numbers={
                **race.numbers(vetoed=bool(evidence.effects)),
                "tasks_available": len(evidence.draws or pairs.tasks),
                "missing": len(pairs.filled),
            },
            path=race.path(),
            claim=self._claim(evidence),
        )

    def _claim(self, evidence: Evidence) -> str:
        contract = SamplingContract(self.sampling or evidence.sampling)
        if not contract.sequential:
            return contract.claim
        ledger = {"e_lond": "e-LOND", "lord_plus_plus": "LORD++"}[contract.default_ledger]
        return f"{contract.claim} Acceptance at level {self.level:.4g}; ledger {ledger}."


class Race:
    """All streams of one gate, advancing together; decides, and knows nothing of packs."""

    def __init__(self, gate: AnytimeGate) -> None:
        self._gate = gate
        level, alpha, rho = gate.level, gate.alpha, gate.rho_max
        harms = 2 if gate.safety_metric is None else 3
        self.gain = Watch((gate.delta_min + 1) / 2, level)
        self.reg = Watch(1 - rho, level)
        self.harm = Watch(0.5, alpha / harms, lower=True)
        self.harm_reg = Watch(rho, alpha / harms)
        self.futile = Watch((gate.delta_min + 1) / 2, alpha, lower=True)
        self.safety = self.harm_safety = None
        if gate.rho_safety is not None:
            self.safety = Watch(1 - gate.rho_safety, level)
            self.harm_safety = Watch(gate.rho_safety, alpha / harms)
        self.differences: list[float] = []
        self.tasks = 0

    def see(self, d: float | None, d_safety: float | None = None) -> None:
        """Take one task's differences; None where the task was not measured on that metric."""
        self.tasks += 1
        if d is not None:
            self.differences.append(d)
            y = min(1.0, max(0.0, (d + 1) / 2))  # a difference beyond 1 by rounding only
            for watch in (self.gain, self.harm, self.futile):
                watch.see(y)
            self._indicate(d, self.reg, self.harm_reg)
        if d_safety is not None and self.safety and self.harm_safety:
            self._indicate(d_safety, self.safety, self.harm_safety)

    def verdict(self) -> tuple[Conclusion, str] | None:
        """The conclusion that holds now, or None."""
        good = all(watch.crossed for watch in self._needed())
        futile = self.is_futile()
        harms = [
            what
            for what, watch in (
                ("the mean difference is below 0", self.harm),
                (f"the regression rate is above {self._gate.rho_max:g}", self.harm_reg),
                ("the safety regression rate is above its bound", self.harm_safety),
            )
            if watch and watch.crossed
        ]
        if self._contradicts(futile) or (good and (harms or futile)):
            return Conclusion.CONFLICT, "the stream crossed bounds that contradict each other"
        if harms:
            return Conclusion.REJECT_HARMFUL, "; ".join(harms)
        if good:
            shown = f"gain above {self._gate.delta_min:g}, regressions rarer than "
            return Conclusion.ACCEPT, (
                f"{shown}{self._gate.rho_max:g}: every wealth reached 1/{self._gate.level:.4g}"
            )
        return self.insufficient() if futile and not self._harm_gains() else None

    def is_futile(self) -> bool:
        """Whether the gain was shown to be below a positive δ_min."""
        return self._gate.delta_min > 0 and self.futile.crossed

    def insufficient(self) -> tuple[Conclusion, str]:
        """The conclusion from futility."""
        below = f"the gain is below delta_min {self._gate.delta_min:g}"
        return Conclusion.REJECT_INSUFFICIENT, below

    def numbers(self, *, vetoed: bool) -> dict[str, float | None]:
        """Every quantity that the conclusion rests on; log_e is None for e = 0."""
        d = self.differences
        return {
            "p": 1.0 if vetoed else max(w.p_value for w in self._needed()),
            "log_e": None if vetoed else min(w.log_e for w in self._needed()),
            "p_gain": self.gain.p_value,
            "p_reg": self.reg.p_value,
            "p_safety": self.safety.p_value if self.safety else None,
            "p_harm": self.harm.p_value,
            "p_harm_reg": self.harm_reg.p_value,
            "level": self._gate.level,
            "threshold_accept": self.gain.threshold,
            "threshold_harm": self.harm.threshold,
            "mean_difference": math.fsum(d) / len(d) if d else None,
            "regressions": sum(self._worse(x) for x in d),
        }

    def path(self) -> dict[str, list[float]]:
        """Log wealth after every task, up to the stopping task."""
        paths = {
            "log_wealth_gain": self.gain.path,
            "log_wealth_reg": self.reg.path,
            "log_wealth_harm": self.harm.path,
            "log_wealth_harm_reg": self.harm_reg.path,
            "difference": self.differences,
        }
        return {**paths, "log_wealth_safety": self.safety.path} if self.safety else paths

    def _needed(self) -> list[Watch]:
        return [self.gain, self.reg] + ([self.safety] if self.safety else [])

    def _harm_gains(self) -> bool:
        """Whether any harm process holds more than it began with, i.e. points to harm."""
        watches = (self.harm, self.harm_reg, self.harm_safety)
        return any(w.path[-1] > ROUNDING for w in watches if w and w.path)

    def _contradicts(self, futile: bool) -> bool:
        """One and the same quantity was shown above and below its bound."""
        gain = self.gain.crossed and (self.harm.crossed or futile)
        reg = self.reg.crossed and self.harm_reg.crossed
        safety, harm = self.safety, self.harm_safety
        unsafe = bool(safety and harm and safety.crossed and harm.crossed)
        return gain or reg or unsafe

    def _worse(self, d: float) -> bool:
        return d < -self._gate.eps_reg - ROUNDING

    def _indicate(self, d: float, non_regression: Watch, regression: Watch) -> None:
        non_regression.see(float(not self._worse(d)))
        regression.see(float(self._worse(d)))


def _by_task(pairs: Pairs) -> dict[str, float]:
    return dict(zip(pairs.tasks, pairs.difference.tolist(), strict=True))


def _arrivals(evidence: Evidence, differences: list[dict[str, float]]) -> list[str]:
    """Measured tasks in the order of the sampler's draws, or else of arrival."""
    measured = set().union(*differences)
    if evidence.draws:
        return [task for task in evidence.draws if task in measured]
    if len(differences) == 1:
        return list(differences[0])  # Pairs stand in the order of arrival already.
    first: dict[str, int] = {}
    for trial in evidence.trials:
        if trial.task in measured and trial.arm in ("incumbent", "candidate"):
            first[trial.task] = min(trial.order, first.get(trial.task, trial.order))
    return sorted(first, key=lambda task: (first[task], task))
