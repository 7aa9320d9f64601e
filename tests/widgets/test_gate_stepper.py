"""GateStepper without a browser."""

from __future__ import annotations

import pytest

from logoslab.errors import EvidenceError
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence, Trial
from logoslab.widgets import GateStepper
from tests.widgets.make import CountGate, evidence, gates


def stepper(**params: object) -> GateStepper:
    """alpha 0.06 makes the bar 1/0.06 = 16.7: the fifth gain (wealth 32) crosses it."""
    return GateStepper(evidence(), gates, **{"alpha": 0.06, **params})


def test_each_position_is_the_gate_on_that_prefix() -> None:
    """For every position the verdicts are those of the rules on the first tasks alone."""
    step = stepper()
    whole = evidence()
    for position in range(1, 9):
        step.position = position
        prefix = whole.replace(
            trials=tuple(t for t in whole.trials if int(t.task[1:]) < position),
            complete=position == 8,
        )
        assert step.decisions == {
            name: rule.decide(prefix) for name, rule in gates(alpha=0.06, r_max=0).items()
        }


def test_draws_are_stepped_through_with_their_repeats() -> None:
    """With a sampler's draws the stream is the draws: position 3 has seen t1, t0 and t1 again."""
    drawn = evidence().replace(draws=("t1", "t0", "t1", "t5"))
    step = GateStepper(drawn, gates, alpha=0.06)
    step.position = 3
    assert step.tasks == drawn.draws
    assert "2 of" not in step.status
    (stream,) = [d for d in step.decisions.values() if "difference" in d.path] or [None]
    if stream is not None:
        assert len(stream.path["difference"]) == 3


def test_verdict_along_the_path() -> None:
    """Undecided, accept with the fifth gain at task 6, harmful with the loss at task 7."""
    step = stepper()
    seen = []
    for _ in range(8):
        seen.append(step.verdict)
        step.buttons["Next"]._handle_custom_msg({"event": "click"}, [])
    assert seen == ["undecided"] * 5 + ["accept"] + ["reject_harmful"] * 2
    assert step.position == 8, "next stops at the last task"
    step.previous()
    assert step.position == 7


def test_what_if_is_marked_and_reset() -> None:
    """A moved slider changes the verdict and the label; reset returns to the declared gate."""
    step = stepper()
    step.position = 7
    assert (step.what_if, step.verdict) == (False, "reject_harmful")
    assert "These are the declared parameters." in step._note.value
    step.sliders["r_max"].set_state({"value": 1})
    assert (step.what_if, step.verdict) == (True, "accept")
    assert "What-if: exploration, not a decision." in step._note.value
    step.buttons["Reset"].click()
    assert (step.what_if, step.verdict) == (False, "reject_harmful")


def test_all_five_parameters_reach_the_factory() -> None:
    """The factory is called by keyword with what the sliders say."""
    got: list[dict[str, object]] = []

    def factory(**params: object) -> dict[str, CountGate]:
        got.append(params)
        return gates(**params)

    step = GateStepper(evidence(), factory, delta_min=0.02, eps_reg=0.1, r_max=2, rho_max=0.2)
    assert got[-1] == {
        "delta_min": 0.02, "eps_reg": 0.1, "r_max": 2, "rho_max": 0.2, "alpha": 0.05
    }  # fmt: skip
    step.sliders["delta_min"].value = 0.0
    assert got[-1]["delta_min"] == 0.0


def test_undeclared_delta_min_stays_undeclared() -> None:
    """None goes to the rule as None while its slider rests at 0, and does not count as what-if."""
    step = stepper()
    assert step.params.delta_min is None
    assert not step.what_if
    step.sliders["delta_min"].value = 0.1
    assert step.params.delta_min == 0.1


def test_a_refused_parameter_is_shown() -> None:
    """No decision, no verdict, and the rule's message in the status line."""
    step = stepper()
    step.sliders["alpha"].value = 0.25
    assert (step.decision, step.verdict) == (None, None)
    assert step.status == "alpha: allowed at most 0.2; got 0.25. Choose less."
    step.reset()
    assert (step.verdict, step.status) == ("undecided", "")


def test_a_broken_rule_is_not_swallowed() -> None:
    """An unexpected error is shown and raised."""

    class Broken(CountGate):
        def decide(self, evidence: Evidence) -> Decision:
            if len(evidence.trials) > 2:
                raise ZeroDivisionError("bad rule")
            return super().decide(evidence)

    step = GateStepper(evidence(), lambda **p: {"x": Broken("x", **p)})
    assert step.verdict == "undecided"
    with pytest.raises(ZeroDivisionError):
        step.position = 2
    assert step.status == "ZeroDivisionError: bad rule"
    assert step.verdict is None
    assert "no decision" in step._view.value, "no old verdict stays beside the error"


def test_the_wealth_plot_ends_where_the_path_ends() -> None:
    """The inline picture names the process, its wealth and the threshold; a rule without a path
    says so."""
    step = stepper()
    step.position = 6  # gain, tie, four gains: 2**5 = 32
    assert 'aria-label="Wealth so far: gain above δ_min 32×"' in step._view.value
    assert "accept at 16.7×" in step._view.value
    step.rule = "bare"
    assert "This rule keeps no wealth path." in step._view.value


def test_the_table_lists_tasks_so_far_latest_first() -> None:
    """Only tasks the gate has seen are listed."""
    step = stepper()
    step.position = 3
    view = step._view.value
    assert view.index(">t2<") < view.index(">t1<") < view.index(">t0<")
    assert ">t3<" not in view


def test_hostile_names_are_escaped() -> None:
    """Task names and reasons from files are text."""
    trials = tuple(
        Trial(task="<script>x</script>", arm=arm, value=1.0) for arm in ("incumbent", "candidate")
    )
    view = GateStepper(Evidence(trials=trials), gates)._view.value
    assert "<script" not in view
    assert "&lt;script&gt;x" in view
    assert "0 losses &lt;b&gt;" in view


def test_evidence_without_pairs_is_refused() -> None:
    """One arm alone cannot be stepped through."""
    with pytest.raises(EvidenceError) as refused:
        GateStepper(Evidence(trials=(Trial(task="t", arm="candidate", value=1.0),)), gates)
    assert str(refused.value) == (
        "paired evidence on 'score': allowed trials of both incumbent and candidate; "
        "got arms ['candidate'] among 1 trials. Run the missing arm, or name a metric that both "
        "arms measured."
    )
