"""A lab and its records: ``lab``, ``sql``, ``verify`` and ``approve``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from logoslab.cli.root import app
from logoslab.errors import InvalidValue, StoreError

LabPath = Annotated[Path, typer.Argument(help="The lab folder.")]


@app.command()
def lab(path: LabPath) -> None:
    """Show a lab: what is live, its runs, what waits for a person."""
    opened = open_lab(path)
    live = opened.live
    typer.echo(f"live      {live.name} v{live.version} {live.digest}" if live else "live      none")
    for run in opened.runs():
        typer.echo(f"run       {run.run:<24} {run.tasks} tasks, {run.events} events")
    for item in opened.queue.pending():
        typer.echo(f"pending   {item.change.id}  {item.change.risk} risk: {item.change.title}")


@app.command()
def sql(path: LabPath, query: Annotated[str, typer.Argument(help="One SELECT.")]) -> None:
    """Query a lab's traces, read-only. Tables: events, calls."""
    frame = open_lab(path).sql(query)
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
    if not path.is_dir():
        raise InvalidValue(
            "path",
            got=f"{path}, which is not there",
            allowed="a lab folder, or the file of a decision record",
            next_step="Check the spelling; `logoslab demo` makes a lab, `logoslab gate` with "
            "--record FILE a record.",
        )
    opened = open_lab(path)
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

    opened = open_lab(path)
    if proposal is None or reason is None:
        _show_pending(opened, proposal)
        if proposal is not None:
            typer.echo("give --reason to sign or reject it")
        return
    desk = opened.desk(load_key(key), role)
    desk.decide(proposal, "reject" if reject else "approve", reason)
    typer.echo(f"{'rejected' if reject else 'signed'} as {role} with key {desk.key.id}")


def open_lab(path: Path) -> Any:
    """Open an existing lab; never make one by a typo."""
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
