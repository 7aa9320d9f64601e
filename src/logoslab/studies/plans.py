"""A plan: designs of a gate beside each other, which one is recommended, and why."""

from __future__ import annotations

import json
import math
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any, Final

from logoslab.pack.base import Frozen
from logoslab.stats import Characteristics, clopper_pearson
from logoslab.studies.designs import PairedTasks, effect_needed, tasks_needed

if TYPE_CHECKING:
    import pandas as pd

LEGEND: Final = (
    "false adoption: accepted without any effect. power: accepted at the effect. expected n: tasks "
    "read without / with the effect. indifferent: effects accepted more often than the tolerated "
    "error and less often than the wanted power. Rules with a level are planned below the error "
    "too (level=…): simulation can hardly show that a rule holds the very level at which it errs."
)


class Design(Frozen):
    """One rule with its parameters on n tasks, and how it behaves.

    Attributes
    ----------
    rule, label : str
        Name of the rule; the name with the parameters that differ from the defaults.
    params : dict
    n, replicates : int
        Tasks, and runs of each task and arm.
    null, gain, harm : Characteristics
        Without effect, at the effect, and at the harmful effect (None when none was stated).
        ``mean_used`` is the expected n, ``mean_cost`` the expected evaluations, both arms counted.
    indifferent_from, indifferent_to : float or None
        Effects between which the acceptance rate lies between error and power. None where even
        the largest possible effect is accepted more seldom; the least possible effect where that
        is accepted more often.
    """

    rule: str
    label: str
    params: dict[str, Any]
    n: int
    replicates: int
    null: Characteristics
    gain: Characteristics
    harm: Characteristics | None
    indifferent_from: float | None
    indifferent_to: float | None

    @property
    def evaluations(self) -> float:
        """Expected evaluations of the dearer case: no effect, or the effect."""
        return max(self.null.mean_cost, self.gain.mean_cost)

    def holds(self, error: float) -> bool:
        """Whether false adoption is at most ``error`` even at the end of its interval."""
        return all(c.accept_high <= error for c in (self.null, self.harm) if c is not None)

    def finds(self, power: float) -> bool:
        """Whether the effect is found at ``power`` even at the end of its interval."""
        return self.gain.accept_low >= power


class NotPlanned(Frozen):
    """A rule that paired simulation cannot plan, and the need that it has."""

    label: str
    reason: str


class Plan(Frozen):
    """Designs against a stated error and power.

    Attributes
    ----------
    designs : tuple of Design
    not_planned : tuple of NotPlanned
    effect, discordance, noise, harm : float or None
        The question: see :func:`plan`.
    error, power : float
    price : float or None
        Of one evaluation; None is unknown, and so is every cost then.
    simulations : int
    """

    designs: tuple[Design, ...]
    not_planned: tuple[NotPlanned, ...]
    effect: float
    discordance: float | None
    noise: float | None
    harm: float | None
    error: float
    power: float
    price: float | None
    simulations: int

    @property
    def recommended(self) -> Design | None:
        """The design with the fewest expected evaluations that meets error and power, or None."""
        good = [d for d in self.designs if self.meets(d)]
        return min(good, key=lambda d: (d.evaluations, -d.gain.accept_rate), default=None)

    def meets(self, design: Design) -> bool:
        """Whether both promises hold at the unfavourable ends of their 95 % intervals."""
        return design.holds(self.error) and design.finds(self.power)

    def cost(self, design: Design) -> float | None:
        """Price × expected evaluations; None when the price is unknown."""
        return None if self.price is None else self.price * design.evaluations

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row a design. Rates come with 95 % Clopper-Pearson ends; NaN is not measured."""
        import pandas as pd

        return pd.DataFrame([self._row(design) for design in self.designs])

    @property
    def reason(self) -> str:
        """In plain words: what is recommended and why, or why nothing is and what would help."""
        best = self.recommended
        return self._why_not() if best is None else self._why(best)

    def table(self) -> list[dict[str, str]]:
        """The designs as words, cheapest first: what a person reads."""
        ranked = sorted(self.designs, key=lambda d: d.evaluations)
        return [self._words(design) for design in ranked]

    def summary(self) -> str:
        """The table, what was not planned, and the recommendation, as text."""
        lines = self.table()
        cells = [list(lines[0]), *(list(line.values()) for line in lines)] if lines else []
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        said = [
            "  ".join(f"{v:<{w}}" for v, w in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        said += [f"not planned  {no.label}: {no.reason}" for no in self.not_planned]
        return "\n".join([*said, *([LEGEND] if cells else []), self.reason])

    def to_json(self) -> str:
        """One JSON object: the question, every design, what was not planned, the recommendation."""
        question = self.model_dump(mode="json", exclude={"designs", "not_planned"})
        rows = [{k: None if v != v else v for k, v in self._row(d).items()} for d in self.designs]
        return json.dumps(
            {
                "recommended": next((row for row in rows if row["recommended"]), None),
                "reason": self.reason,
                "question": question,
                "designs": rows,
                "not_planned": {no.label: no.reason for no in self.not_planned},
            },
            ensure_ascii=False,
        )

    def _repr_html_(self) -> str:
        lines = self.table()
        head = "".join(f"<th>{escape(name)}</th>" for name in (lines[0] if lines else ()))
        body = "".join(
            f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line.values())}</tr>"
            for line in lines
        )
        left = "".join(f"<li>{escape(f'{n.label}: {n.reason}')}</li>" for n in self.not_planned)
        missing = f"<p>Not planned:</p><ul>{left}</ul>" if left else ""
        legend = f"<caption>{escape(LEGEND)}</caption>"
        table = f"<table>{legend}<tr>{head}</tr>{body}</table>" if lines else ""
        return f"<p>{escape(self.reason)}</p>{table}{missing}"

    def _row(self, design: Design) -> dict[str, Any]:
        best = self.recommended
        cost = self.cost(design)
        return {
            "design": f"{design.label}, n={design.n}, B={design.replicates}",
            "rule": design.rule,
            "label": design.label,
            "n": design.n,
            "replicates": design.replicates,
            **_rates("false_adoption", design.null),
            **_rates("power", design.gain),
            **_rates("harm_adoption", design.harm),
            "expected_n_null": design.null.mean_used,
            "expected_n": design.gain.mean_used,
            "expected_n_error": max(design.null.used_error, design.gain.used_error),
            "evaluations": design.evaluations,
            "cost": math.nan if cost is None else cost,
            "indifferent_from": _or_nan(design.indifferent_from),
            "indifferent_to": _or_nan(design.indifferent_to),
            "simulations": design.null.runs,
            "meets": self.meets(design),
            "recommended": design == best,
        }

    def _words(self, design: Design) -> dict[str, str]:
        cost, harm = self.cost(design), design.harm
        return {
            "rule": design.label,
            "n": str(design.n),
            "runs": str(design.replicates),
            "false adoption": _interval(design.null),
            **({} if harm is None else {"adopts harm": _interval(harm)}),
            "power": _interval(design.gain),
            "expected n": f"{design.null.mean_used:.0f} / {design.gain.mean_used:.0f}",
            "evaluations": f"{design.evaluations:.0f}",
            "cost": "unknown" if cost is None else f"{cost:.2f}",
            "indifferent": self._indifferent(design),
            "meets": "yes" if self.meets(design) else "no",
            "recommended": "yes" if design == self.recommended else "no",
        }

    def _indifferent(self, design: Design) -> str:
        low, high = design.indifferent_from, design.indifferent_to
        if low is None or high is None:
            return "never found"
        least = -PairedTasks(self.effect, self.discordance, self.noise).largest_effect
        return "always accepted" if high <= least else f"{low:.3f} to {high:.3f}"

    def _why(self, best: Design) -> str:
        cost = self.cost(best)
        price = "at an unknown price" if cost is None else f"costing {cost:.2f}"
        others = sum(map(self.meets, self.designs)) - 1
        return (
            f"Take {best.label} on {best.n} tasks with {best.replicates} run(s) a task and arm: "
            f"false adoption {_interval(best.null)}, power {_interval(best.gain)} at effect "
            f"{self.effect:g}, about {best.evaluations:.0f} evaluations {price}. It is the "
            f"cheapest of {others + 1} design(s) here that meet error {self.error:g} and power "
            f"{self.power:g}."
        )

    def _why_not(self) -> str:
        if not self.designs:
            return "No rule can be planned from paired tasks alone; see what each one needs."
        asked = f"error {self.error:g} and power {self.power:g}"
        floor = clopper_pearson(0, self.simulations).high
        if floor > self.error:
            return (
                f"No design is shown to meet {asked}: even without one false adoption, "
                f"{self.simulations} simulations leave up to {floor:.3f}. Simulate more."
            )
        safe = [d for d in self.designs if d.holds(self.error)]
        if not safe:
            best = min(self.designs, key=lambda d: d.null.accept_high)
            return (
                f"No design meets {asked}: none is shown to hold the error. The most careful is "
                f"{best.label} on {best.n} tasks, false adoption {_interval(best.null)}. Choose a "
                f"rule that carries an error level or a lower level, fewer tolerated regressions, "
                f"a larger delta_min, or more simulations where the rate itself is low enough."
            )
        best = max(safe, key=lambda d: d.gain.accept_low)
        return (
            f"No design meets {asked}. Of those that hold the error, {best.label} on {best.n} "
            f"tasks comes nearest: false adoption {_interval(best.null)}, power "
            f"{_interval(best.gain)} at effect {self.effect:g}. {self._what_would(best)}"
        )

    def _what_would(self, best: Design) -> str:
        law = PairedTasks(self.effect, self.discordance, self.noise, best.replicates)
        need = tasks_needed(law, self.error, self.power)
        runs = math.ceil(need * best.replicates / best.n)
        found = effect_needed(law, best.n, self.error, self.power)
        larger = (
            f"{best.n} tasks suffice for an effect of {found:.3f}"
            if found <= law.largest_effect
            else f"no effect beside this discordance or noise is large enough for {best.n} tasks"
        )
        return (
            f"By the normal approximation a test of the mean needs {need} tasks for this effect "
            f"at {best.replicates} run(s), or {runs} run(s) on {best.n} tasks where flips are "
            f"run-to-run noise; {larger}. Rules that also limit "
            f"regressions or stop early need more."
        )


def _rates(name: str, found: Characteristics | None) -> dict[str, float]:
    """A rate and its interval as columns; NaN where it was not asked for."""
    rates = (math.nan,) * 3 if found is None else found[:3]
    return dict(zip((name, f"{name}_low", f"{name}_high"), rates, strict=True))


def _interval(found: Characteristics) -> str:
    return f"{found.accept_rate:.3f} ({found.accept_low:.3f} to {found.accept_high:.3f})"


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
