"""build: (sources, brief) → ProbeValidatedPack | DiagnosticPack (L25, L30). Total.

build = validate_repair^(N) ∘ emit ∘ normalise ∘ design ∘ ingest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from logoslab.compile.bindings import PackTools
from logoslab.compile.design import DeterministicDesigner, draft, normalise
from logoslab.compile.ingest import ingest
from logoslab.compile.ingest.bounds import diagnostic, is_note
from logoslab.compile.probe import ProbeReport, probe
from logoslab.compile.repair import Repaired, repair_loop
from logoslab.compile.stub import StubService
from logoslab.errors import LogoslabError
from logoslab.pack.agent_pack import AgentPack, build_pack
from logoslab.pack.base import Frozen
from logoslab.pack.run import Blueprint
from logoslab.pack.source import Diagnostic, SourceReading
from logoslab.ports import Designer, ToolRunner

RunnerFor = Callable[[AgentPack, Mapping[str, str]], ToolRunner]
"""(pack, service name → address of its stub) → what runs the pack's tools for probes."""


class ProbeValidatedPack(Frozen):
    """A pack whose every probe passed. ``diagnostics`` only inform."""

    kind: Literal["probe_validated"] = "probe_validated"
    pack: AgentPack
    report: ProbeReport
    diagnostics: tuple[Diagnostic, ...] = ()
    notes: tuple[str, ...] = ()


class DiagnosticPack(Frozen):
    """Why there is no validated pack, with the best draft so far if there is one."""

    kind: Literal["diagnostic"] = "diagnostic"
    pack: AgentPack | None = None
    report: ProbeReport | None = None
    diagnostics: tuple[Diagnostic, ...]
    notes: tuple[str, ...] = ()


async def build(
    paths: Iterable[str | Path],
    brief: str,
    *,
    designer: Designer | None = None,
    runner_for: RunnerFor | None = None,
    rounds: int = 3,
) -> ProbeValidatedPack | DiagnosticPack:
    """Compile sources and a brief into a pack.

    Parameters
    ----------
    paths : iterable of path
        Source files. One that cannot be used makes the result a DiagnosticPack.
    brief : str
        What the team is for; its first sentence becomes the domain.
    designer : Designer, optional
        Default: :class:`DeterministicDesigner`.
    runner_for : callable, optional
        Default: :class:`PackTools`. It is given the addresses of loopback stubs, never of a real
        service, so that a probe cannot have an effect.
    rounds : int
        N of the repair loop.

    Returns
    -------
    ProbeValidatedPack or DiagnosticPack
        Never raises for bad material, a failing designer or a failing probe. Cancellation
        propagates.
    """
    readings = ingest(paths)
    found = [d for reading in readings for d in reading.diagnostics]
    found += [_unused(r) for r in readings if not (r.artefacts or r.tools)]
    if not any(reading.artefacts or reading.tools for reading in readings):
        found.append(_nothing())
        return DiagnosticPack(diagnostics=tuple(found))
    try:
        blueprint = normalise(await (designer or DeterministicDesigner()).design(readings, brief))
        pack = build_pack(
            blueprint.name, blueprint.files, domain=blueprint.domain,
            compiler={"designer": blueprint.mode, "sources": len(readings)},
        )  # fmt: skip
        defaults = draft(readings, brief).files
        repaired = await _validate(pack, readings, defaults, runner_for or _pack_tools, rounds)
    except Exception as cause:  # noqa: BLE001  total by contract: the reason is in the result
        found.append(_failed(cause))
        return DiagnosticPack(diagnostics=tuple(found))
    return _conclude(repaired, found, blueprint)


def _pack_tools(pack: AgentPack, endpoints: Mapping[str, str]) -> ToolRunner:
    return PackTools(pack, endpoints, credentials=lambda _name: "probe")


async def _validate(
    pack: AgentPack,
    readings: Sequence[SourceReading],
    defaults: Mapping[str, str],
    runner_for: RunnerFor,
    rounds: int,
) -> Repaired:
    """The repair loop around the battery, with a stub for every described service."""
    documents = [
        artefact.document
        for reading in readings
        for artefact in reading.artefacts
        if artefact.kind == "api" and isinstance(artefact.document, dict)
    ]
    with ExitStack() as stack:
        stubs = [stack.enter_context(StubService(document)) for document in documents]
        endpoints = {stub.name: stub.url for stub in stubs}

        async def battery(candidate: AgentPack) -> ProbeReport:
            return await probe(candidate, runner_for(candidate, endpoints), stubbed=True)

        return await repair_loop(pack, battery, defaults, rounds)


def _conclude(
    repaired: Repaired, found: Sequence[Diagnostic], blueprint: Blueprint
) -> ProbeValidatedPack | DiagnosticPack:
    report, notes = repaired.report, (*blueprint.notes, *repaired.notes)
    pack = _certified(repaired.pack, report)
    diagnostics = [*found, *(_probe_failed(f.path, f.id, f.detail) for f in report.failures)]
    if report.p is None:
        diagnostics.append(_nothing_to_probe())
    if all(is_note(d) for d in diagnostics):
        return ProbeValidatedPack(
            pack=pack, report=report, diagnostics=tuple(diagnostics), notes=notes
        )
    return DiagnosticPack(pack=pack, report=report, diagnostics=tuple(diagnostics), notes=notes)


def _certified(pack: AgentPack, report: ProbeReport) -> AgentPack:
    """The same files; the manifest says what was measured."""
    measured: dict[str, Any] = {
        "probes": len(report.results), "passed": report.passed, "p": report.p
    }  # fmt: skip
    return pack.replace(manifest=pack.manifest.replace(certification=measured))


def _probe_failed(path: str, name: str, detail: str) -> Diagnostic:
    return diagnostic(
        path, "probe_failed", f"{name}: {detail}", "Correct the source that this file comes from."
    )


def _unused(reading: SourceReading) -> Diagnostic:
    return diagnostic(
        reading.source,
        "unused_source",
        f"{reading.source}: nothing in it could be used",
        "See its other diagnostics, or leave it out.",
    )


def _nothing() -> Diagnostic:
    return diagnostic(
        "sources", "nothing_read", "No source could be read", "Give at least one readable source."
    )


def _nothing_to_probe() -> Diagnostic:
    return diagnostic(
        "pack",
        "nothing_to_probe",
        "No source gave a tool, so p = passed/|C| is undefined",
        "Add a table with key columns, or an API description.",
    )


def _failed(cause: Exception) -> Diagnostic:
    advice = cause.next_step if isinstance(cause, LogoslabError) else "Report it with the sources."
    return diagnostic("compiler", "compile_failed", f"{type(cause).__name__}: {cause}", advice)
