"""May this change ship: ``gate``, ``plan`` and ``rules``."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from logoslab.cli.root import app
from logoslab.errors import InvalidValue

if TYPE_CHECKING:
    from logoslab.lifecycle.comparison import Comparison

ANSWER = ("decision", "rule", "n", "fixed", "broken", "mean_difference", "interval")
"""What ``gate --json`` always has; null where there is no answer."""


@app.command()
def gate(
    old: Annotated[Path, typer.Argument(help="Results of the incumbent, in any known format.")],
    new: Annotated[Path, typer.Argument(help="Results of the candidate.")],
    rule: Annotated[
        list[str] | None,
        typer.Option(
            help="Admission rule, more than once if you like; see `logoslab rules`. "
            "By default paired and anytime."
        ),
    ] = None,
    alpha: Annotated[float, typer.Option(help="Error level of rules and intervals.")] = 0.05,
    delta_min: Annotated[
        float | None, typer.Option(help="Least mean gain; by default one task for 0/1 scores.")
    ] = None,
    r_max: Annotated[
        int,
        typer.Option(
            help="Regressed tasks that the paired gate tolerates. At 0 one broken task rejects, "
            "which between two noisy agents is nearly always; `logoslab plan` shows the price."
        ),
    ] = 0,
    eps_reg: Annotated[float, typer.Option(help="Drop on one task that is tolerated.")] = 0.0,
    rho_max: Annotated[
        float, typer.Option(help="Share of regressed tasks that the anytime gate tolerates.")
    ] = 0.1,
    m_fail: Annotated[float, typer.Option(help="Score of a run that returned nothing.")] = 0.0,
    task: Annotated[str | None, typer.Option(help="Column that names the task.")] = None,
    score: Annotated[str | None, typer.Option(help="Column that holds the score.")] = None,
    replicate: Annotated[str | None, typer.Option(help="Column that tells runs apart.")] = None,
    slice: Annotated[str | None, typer.Option(help="Column that groups the tasks.")] = None,
    cost: Annotated[str | None, typer.Option(help="Column with the cost of a run.")] = None,
    latency: Annotated[str | None, typer.Option(help="Column with the seconds of a run.")] = None,
    sampling: Annotated[
        str, typer.Option(help="iid, with_replacement, shared_pool or fixed_holdout.")
    ] = "fixed_holdout",
    ignore_headline: Annotated[
        bool, typer.Option(help="Judge the details of a file whose headline contradicts them.")
    ] = False,
    lower_is_better: Annotated[
        bool | None,
        typer.Option(
            "--lower-is-better/--higher-is-better",
            help="Whether the score is a loss; to be said when its name sounds like one.",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    dossier: Annotated[Path | None, typer.Option(help="Write a release dossier (HTML).")] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            help="Write the decision of the one --rule as a record for `logoslab verify`."
        ),
    ] = None,
) -> None:
    """Compare two result files: may this change ship?

    Exit code 0 accept, 1 reject, 2 undecided, 3 bad input. Columns that are not named are guessed,
    and the guess is printed. A task that the new file lacks counts as a failure.
    """
    gc.disable()  # A short process with large tables and no cycles: collecting only costs time.
    from logoslab.gate import PROMOTING
    from logoslab.lifecycle.compare import compare

    names = tuple(rule or PROMOTING)
    asked = {"dossier": dossier, "record": record}
    outputs = {what: path for what, path in asked.items() if path is not None}
    _refuse_taken(outputs, (old, new))
    if "record" in outputs:
        _refuse_several(names)
    found = compare(
        old, new, rule=names, alpha=alpha, delta_min=delta_min, r_max=r_max,
        eps_reg=eps_reg, rho_max=rho_max, m_fail=m_fail,
        task=task, score=score, replicate=replicate, slice=slice, cost=cost, latency=latency,
        sampling=sampling,  # type: ignore[arg-type]  # compare checks the name
        headline="ignore" if ignore_headline else "check", lower_is_better=lower_is_better,
    )  # fmt: skip
    _write(found, outputs)
    typer.echo(found.to_json() if json else found.summary())
    for what, path in {} if json else outputs.items():
        typer.echo(f"{what:<9} {path}")
    raise typer.Exit({"accept": 0, "reject": 1, "undecided": 2}[found.decision])


@app.command()
def plan(
    effect: Annotated[float, typer.Option(help="Gain that should be found.")],
    n: Annotated[list[int], typer.Option("--n", help="Tasks; give it more than once.")],
    discordance: Annotated[
        float | None, typer.Option(help="0/1 scores: share of tasks on which the arms differ.")
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Other scores: deviation of a paired difference.")
    ] = None,
    delta_min: Annotated[list[float] | None, typer.Option(help="Least mean gain.")] = None,
    r_max: Annotated[list[int] | None, typer.Option(help="Tolerated regressed tasks.")] = None,
    rho_max: Annotated[list[float] | None, typer.Option(help="Tolerated share of them.")] = None,
    replicates: Annotated[list[int] | None, typer.Option(help="Runs of a task and arm.")] = None,
    harm: Annotated[float | None, typer.Option(help="A loss that must not be adopted.")] = None,
    price: Annotated[float | None, typer.Option(help="Of one evaluation.")] = None,
    error: Annotated[float, typer.Option(help="Tolerated false adoption.")] = 0.05,
    power: Annotated[float, typer.Option(help="Wanted power.")] = 0.8,
    level: Annotated[list[float] | None, typer.Option(help="Level of rules that have one.")] = None,
    rule: Annotated[
        list[str] | None, typer.Option(help="Admission rules, by default all; repeatable.")
    ] = None,
    simulations: Annotated[int, typer.Option(help="Simulated gates a scenario.")] = 2_000,
    seed: Annotated[int, typer.Option(help="Of the simulation.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """How many tasks does a gate need, by which rule, at what cost?

    Exit code 0 when a design meets error and power, 1 when none does, 3 bad input.
    """
    import numpy as np

    from logoslab.studies.planner import plan as planned

    found = planned(
        effect=effect, n=n, discordance=discordance, noise=noise, delta_min=delta_min,
        r_max=r_max or 0, rho_max=rho_max or 0.1, replicates=replicates or 1, harm=harm,
        price=price, error=error, power=power, level=level, rules=rule, simulations=simulations,
        rng=np.random.default_rng(abs(seed)),
    )  # fmt: skip
    typer.echo(found.to_json() if as_json else found.summary())
    raise typer.Exit(0 if found.recommended else 1)


@app.command()
def rules(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON list.")] = False,
) -> None:
    """List every admission rule: what it accepts, what it needs, its parameters, its source."""
    from logoslab.gate.registry import all_rules, parameters_of
    from logoslab.gate.registry import rules as listed

    found = listed().to_dict("records")
    for row in found:
        row["parameters"] = parameters_of(all_rules()[row["rule"]])
    if as_json:
        typer.echo(json.dumps(found, ensure_ascii=False))
        return
    for row in found:
        typer.echo(f"{row['rule']}\n  {row['accepts']}")
        typer.echo(f"  needs       {row['needs'] or 'nothing'}")
        for parameter in row["parameters"]:
            typer.echo(f"  parameter   {parameter}")
        typer.echo(f"  claim       {row['claim']}\n  source      {row['source']}")


def _refuse_taken(outputs: dict[str, Path], results: tuple[Path, ...]) -> None:
    """Refuse to write over the very results that are judged, over a folder, or one file twice."""
    taken = [p.resolve() for p in results]
    for what, path in outputs.items():
        if path.is_dir() or path.resolve() in taken:
            raise InvalidValue(
                what,
                got=f"{path.name or path}, {'a folder' if path.is_dir() else 'which is taken'}",
                allowed="the path of a file of its own",
                next_step="Name another file.",
            )
        taken.append(path.resolve())


def _refuse_several(rules: tuple[str, ...]) -> None:
    """A record holds one decision, so that a third party knows which one it is about."""
    if len(rules) != 1:
        raise InvalidValue(
            "record",
            got=f"{len(rules)} rules: {', '.join(rules)}",
            allowed="the decision of one rule",
            next_step="Name one with --rule.",
        )


def _write(found: Comparison, outputs: dict[str, Path]) -> None:
    if "dossier" in outputs:
        from logoslab.viz.dossier import write_dossier

        write_dossier(outputs["dossier"], found)
    if "record" in outputs:
        from logoslab.interop.intoto import write_record
        from logoslab.lifecycle.clock import SystemClock

        write_record(found.decisions[0], found.evidence, outputs["record"], at=SystemClock().now())
