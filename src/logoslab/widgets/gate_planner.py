"""Gate planner: move the question, see which rule and how many tasks answer it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from threading import RLock
from typing import Any, NamedTuple

import ipywidgets as W
import numpy as np

from logoslab.errors import LogoslabError
from logoslab.gate.rule import Rule
from logoslab.studies.jobs import as_list
from logoslab.studies.planner import plan
from logoslab.studies.plans import Plan
from logoslab.widgets.cost_plot import cost_svg
from logoslab.widgets.markup import STYLE, box, rows, said
from logoslab.widgets.status import Status

RULES = ("paired", "mcnemar", "anytime")


class Question(NamedTuple):
    """What the sliders ask. Three numbers of tasks are planned: n, half and a quarter of it.

    One of discordance and noise is None. δ_min at 0 leaves each rule its own default.
    """

    effect: float
    discordance: float | None
    n: int
    price: float
    error: float
    power: float
    noise: float | None = None
    delta_min: float = 0.0
    r_max: int = 0
    replicates: int = 1

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of tasks, fewest first."""
        return tuple(sorted({max(2, self.n // 4), max(2, self.n // 2), self.n}))


class GatePlanner(W.VBox):  # type: ignore[misc]
    """Plan a gate: table, recommendation and figure for what the sliders ask.

    Everything is simulated afresh from one seed on every change; nothing is stored.

    Parameters
    ----------
    rules : str, Rule or sequence of them
        What to plan with.
    effect, discordance, n, price, error, power
        Where the sliders start: the gain to be found, the share of tasks that differ, the most
        tasks, the price of one evaluation, tolerated false adoption, wanted power.
    noise : float, optional
        For scores other than 0/1, in place of discordance: the deviation of a paired difference.
    delta_min, r_max, replicates
        Where the further sliders start: least mean gain (0 leaves each rule its own default) and
        tolerated regressed tasks of rules that have them, and runs of each task and arm.
    seed : int
    simulations : int, default 1,000
        Simulated gates a scenario.

    Attributes
    ----------
    plan : Plan or None
        The plan for the sliders; None when they ask the impossible.
    question : Question
    status : str
        What the status line says.
    """

    def __init__(
        self,
        rules: str | Rule | Sequence[str | Rule] = RULES,
        *,
        effect: float = 0.1,
        discordance: float = 0.2,
        n: int = 200,
        price: float = 0.02,
        error: float = 0.05,
        power: float = 0.8,
        noise: float | None = None,
        delta_min: float = 0.0,
        r_max: int = 0,
        replicates: int = 1,
        seed: int = 0,
        simulations: int = 1_000,
    ) -> None:
        self._rules, self._seed, self._simulations = as_list(rules), seed, simulations
        self.plan: Plan | None = None
        self._lock, self._status, self._view = RLock(), Status(), W.HTML()
        self.sliders = _sliders(
            Question(
                effect, discordance, n, price, error, power, noise, delta_min, r_max, replicates
            )
        )
        knobs = W.HBox(list(self.sliders.values()), layout={"flex_flow": "row wrap"})
        super().__init__([knobs, self._view, self._status])
        for slider in self.sliders.values():
            slider.observe(lambda _: self.render(), names="value")
        self.render()

    @property
    def question(self) -> Question:
        """What the sliders ask."""
        asked = {name: slider.value for name, slider in self.sliders.items()}
        return Question(**{"discordance": None, **asked})

    @property
    def status(self) -> str:
        """What the status line says, as plain text."""
        return str(self._status.text)

    def render(self) -> None:
        """Plan and draw. The status line shows what is impossible."""
        with self._lock:
            self._status.say("", "")
            self.plan = None
            try:
                with suppress(LogoslabError), self._status.shown():
                    self.plan = self._planned()
            finally:  # never leave an old plan beside a new error
                self._view.value = STYLE + box(*_shown(self.plan))

    def _planned(self) -> Plan:
        asked = self.question
        return plan(
            effect=asked.effect,
            discordance=asked.discordance,
            noise=asked.noise,
            delta_min=asked.delta_min or None,
            r_max=asked.r_max,
            replicates=asked.replicates,
            n=asked.sizes,
            price=asked.price,
            error=asked.error,
            power=asked.power,
            rules=self._rules,
            rng=np.random.default_rng(self._seed),
            simulations=self._simulations,
        )


def _shown(found: Plan | None) -> list[str]:
    if found is None:
        return ["<h4>No plan</h4>"]
    best = found.recommended
    headline = f"{best.label} on {best.n} tasks" if best else "no design meets both targets"
    words = found.table()
    body = [(line["recommended"] == "yes", list(line.values())[:-1]) for line in words]
    table = rows(list(words[0])[:-1], body) if words else ""
    left = "".join(f"<li>{said(f'{no.label}: {no.reason}')}</li>" for no in found.not_planned)
    return [
        f'<h4>{said(headline)}</h4><div class="note">{said(found.reason)}</div>{table}',
        f'<p class="soft">Not planned:</p><ul>{left}</ul>' if left else "",
        f"<h5>What power costs</h5>{cost_svg(found.frame, found.power)}" if words else "",
    ]


def _sliders(start: Question) -> dict[str, Any]:
    """One slider a number, wide enough for its start."""

    def real(label: str, value: float, low: float, high: float, step: float) -> W.FloatSlider:
        return W.FloatSlider(value=value, min=min(low, value), max=max(high, value), step=step,
                             description=label, readout_format=".3f",
                             continuous_update=False)  # fmt: skip

    def whole(label: str, value: int, low: int, high: int, step: int = 1) -> W.IntSlider:
        return W.IntSlider(value=value, min=min(low, value), max=max(high, value), step=step,
                           description=label, continuous_update=False)  # fmt: skip

    spread = {"discordance": real("discordance", start.discordance or 0.0, 0.01, 1.0, 0.01)}
    if start.noise is not None:
        spread = {"noise": real("noise", start.noise, 0.01, 0.99, 0.01)}
    return {
        "effect": real("effect", start.effect, 0.01, 0.5, 0.01),
        **spread,
        "n": whole("most tasks", start.n, 8, 500, 4),
        "replicates": whole("runs", start.replicates, 1, 10),
        "price": real("price", start.price, 0.0, 1.0, 0.01),
        "delta_min": real("δ_min", start.delta_min, 0.0, 0.5, 0.005),
        "r_max": whole("R_max", start.r_max, 0, 20),
        "error": real("error", start.error, 0.01, 0.25, 0.01),
        "power": real("power", start.power, 0.5, 0.99, 0.01),
    }
