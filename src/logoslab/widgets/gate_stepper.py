"""Gate stepper: walk through a gate task by task, and ask what other parameters would have said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import RLock
from typing import Any, NamedTuple

import ipywidgets as W

from logoslab.errors import LogoslabError
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.ports import AdmissionRule
from logoslab.viz.frames import PREFIX, wealth_frame
from logoslab.widgets.markup import STYLE, box, chip, rows, said
from logoslab.widgets.status import Status
from logoslab.widgets.wealth_plot import wealth_svg

GateFactory = Callable[..., Mapping[str, AdmissionRule]]
"""``(delta_min, eps_reg, r_max, rho_max, alpha)``, by keyword, → rule name → rule."""

DECLARED = "These are the declared parameters. Stepping is a replay of recorded evidence."
WHAT_IF = (
    "What-if: exploration, not a decision. Parameters chosen after seeing the evidence carry no "
    "error guarantee; only the declared gate decides."
)


class Params(NamedTuple):
    """Gate parameters. ``delta_min`` None leaves it to each rule."""

    delta_min: float | None = None
    eps_reg: float = 0.0
    r_max: int = 0
    rho_max: float = 0.1
    alpha: float = 0.05


class GateStepper(W.VBox):  # type: ignore[misc]
    """Replay a gate on the first 1, 2, … tasks, with what-if sliders for its parameters.

    Decisions are computed from prefixes of the evidence on every change; nothing is stored and
    nothing is promoted from here.

    Parameters
    ----------
    evidence : Evidence
    gate_factory : callable
        ``gate_factory(delta_min=, eps_reg=, r_max=, rho_max=, alpha=)`` → name → rule. The first
        rule is shown first.
    delta_min, eps_reg, r_max, rho_max, alpha
        The declared parameters, where the sliders start. ``delta_min`` None leaves it to each
        rule, and so does 0 on its slider then.
    metric : str, default "score"
    m_fail : float, default 0
        As declared; for the table of tasks.

    Attributes
    ----------
    position : int
        How many tasks (or draws, when the evidence was drawn with replacement) the gate has
        seen, 1 to n; settable.
    rule : str
        Which rule is shown; settable.
    decisions, decision, verdict : dict, Decision, str
        All rules' decisions here; the shown rule's; its conclusion.
    params, what_if : Params, bool
        The sliders; whether they differ from the declared parameters.
    status : str
        What the status line says.

    Raises
    ------
    EvidenceError
        When the evidence has no pairs of this metric.
    """

    def __init__(
        self,
        evidence: Evidence,
        gate_factory: GateFactory,
        *,
        delta_min: float | None = None,
        eps_reg: float = 0.0,
        r_max: int = 0,
        rho_max: float = 0.1,
        alpha: float = 0.05,
        metric: str = "score",
        m_fail: float = 0.0,
    ) -> None:
        self.evidence, self._factory = evidence, gate_factory
        self.declared = Params(delta_min, eps_reg, r_max, rho_max, alpha)
        self._pairs = evidence.pairs(metric, m_fail=m_fail)
        self.tasks = evidence.draws or self._pairs.tasks
        self._row = {task: i for i, task in enumerate(self._pairs.tasks)}
        self.decisions: Mapping[str, Decision] = {}
        self._lock, self._status, self._view = RLock(), Status(), W.HTML()
        self._note, self._slider = W.HTML(), _whole("task", 1, len(self.tasks), 1)
        self.sliders = _sliders(self.declared)
        names = list(gate_factory(**self.declared._asdict()))
        self._rule = W.Dropdown(options=names, value=names[0], description="rule")
        self.buttons = {name: W.Button(description=name) for name in ("Previous", "Next", "Reset")}
        super().__init__(self._layout())
        self._wire()
        self.render()

    @property
    def position(self) -> int:
        """How many tasks the gate has seen."""
        return int(self._slider.value)

    @position.setter
    def position(self, value: int) -> None:
        self._slider.value = value

    @property
    def rule(self) -> str:
        """The rule that is shown."""
        return str(self._rule.value)

    @rule.setter
    def rule(self, name: str) -> None:
        self._rule.value = name

    @property
    def params(self) -> Params:
        """What the sliders say."""
        values = {name: slider.value for name, slider in self.sliders.items()}
        if self.declared.delta_min is None and values["delta_min"] == 0:
            values["delta_min"] = None
        return Params(**values)

    @property
    def what_if(self) -> bool:
        """Whether any slider differs from the declared parameters."""
        return self.params != self.declared

    @property
    def decision(self) -> Decision | None:
        """The shown rule's decision on the tasks so far; None when it refused its parameters."""
        return self.decisions.get(self.rule)

    @property
    def verdict(self) -> str | None:
        """The conclusion of :attr:`decision`."""
        return self.decision.conclusion.value if self.decision else None

    @property
    def status(self) -> str:
        """What the status line says, as plain text."""
        return self._status.text

    def next(self) -> None:
        """One task further."""
        self.position = min(self.position + 1, len(self.tasks))

    def previous(self) -> None:
        """One task back."""
        self.position = max(self.position - 1, 1)

    def reset(self) -> None:
        """Back to the declared parameters."""
        for name, value in self.declared._asdict().items():
            self.sliders[name].value = value or 0

    def render(self) -> None:
        """Decide on the tasks so far and draw. The status line shows what a rule refuses."""
        with self._lock:
            self._note.value = STYLE + box(_note(self.what_if))
            self._status.say("", "")
            self.decisions = {}
            try:
                with suppress(LogoslabError), self._status.shown():
                    seen = self._prefix()
                    rules = self._factory(**self.params._asdict())
                    self.decisions = {name: rule.decide(seen) for name, rule in rules.items()}
            finally:  # never leave an old verdict beside a new error
                columns = f"<div>{self._plot()}</div><div>{self._table()}</div>"
                self._view.value = box(self._verdicts(), f'<div class="side">{columns}</div>')

    def _prefix(self) -> Evidence:
        seen = self.tasks[: self.position]
        return self.evidence.replace(
            trials=tuple(t for t in self.evidence.trials if t.task in set(seen)),
            draws=seen if self.evidence.draws else (),
            complete=self.position == len(self.tasks),
        )

    def _verdicts(self) -> str:
        body = [
            (name == self.rule, (name, d.conclusion.value, d.tasks, d.reason))
            for name, d in self.decisions.items()
        ]
        headline = chip(self.verdict or "no decision", self.verdict or "")
        return (
            f"<h4>After {self.position} of {len(self.tasks)} tasks: {headline}</h4>"
            + rows(("rule", "verdict so far", "tasks used", "reason"), body)
        )  # fmt: skip

    def _plot(self) -> str:
        if self.decision is None or not any(k.startswith(PREFIX) for k in self.decision.path):
            return '<p class="soft">This rule keeps no wealth path.</p>'
        return "<h5>Wealth so far</h5>" + wealth_svg(wealth_frame(self.decision), len(self.tasks))

    def _table(self) -> str:
        pairs, last = self._pairs, self.position
        first = max(0, last - 50)
        body = [
            (i == last - 1, (i + 1, self.tasks[i], float(pairs.incumbent[row]),
                             float(pairs.candidate[row]), float(pairs.difference[row])))
            for i in range(last - 1, first - 1, -1)
            for row in [self._row[self.tasks[i]]]
        ]  # fmt: skip
        older = f'<p class="soft">{first} earlier tasks are not listed.</p>' if first else ""
        header = ("#", "task", "incumbent", "candidate", "difference")
        return f"<h5>Tasks so far, latest first</h5>{rows(header, body)}{older}"

    def _layout(self) -> list[W.Widget]:
        steps = W.HBox(
            [self.buttons["Previous"], self.buttons["Next"], self._slider, self._rule],
            layout={"flex_flow": "row wrap"},
        )
        knobs = W.HBox([*self.sliders.values(), self.buttons["Reset"]],
                       layout={"flex_flow": "row wrap"})  # fmt: skip
        return [self._note, steps, knobs, self._view, self._status]

    def _wire(self) -> None:
        act = {"Previous": self.previous, "Next": self.next, "Reset": self.reset}
        for name, button in self.buttons.items():
            button.on_click(lambda _, name=name: act[name]())
        for control in (self._slider, self._rule, *self.sliders.values()):
            control.observe(lambda _: self.render(), names="value")


def _note(what_if: bool) -> str:
    return f'<div class="note">{said(WHAT_IF if what_if else DECLARED)}</div>'


def _whole(label: str, low: int, high: int, value: int) -> W.IntSlider:
    return W.IntSlider(value=value, min=low, max=max(low, high), description=label,
                       continuous_update=False)  # fmt: skip


def _sliders(declared: Params) -> dict[str, Any]:
    """One slider a parameter, wide enough for its declared value."""

    def real(label: str, value: float, low: float, high: float, step: float) -> W.FloatSlider:
        return W.FloatSlider(value=value, min=low, max=max(high, value), step=step,
                             description=label, readout_format=".3f",
                             continuous_update=False)  # fmt: skip

    return {
        "delta_min": real("δ_min", declared.delta_min or 0.0, 0.0, 0.5, 0.005),
        "eps_reg": real("ε_reg", declared.eps_reg, 0.0, 0.5, 0.01),
        "r_max": _whole("R_max", 0, max(10, declared.r_max), declared.r_max),
        "rho_max": real("ρ_max", declared.rho_max, 0.01, 0.5, 0.01),
        "alpha": real("α", declared.alpha, 0.001, 0.25, 0.001),
    }
