"""The command: run the story, write the report, figures and summary."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from logoslab.demo.domain import load_domain
from logoslab.demo.report import write_results
from logoslab.demo.story import Story
from logoslab.errors import InvalidValue
from logoslab.lifecycle.promoting import Promotion
from logoslab.ports import Model
from logoslab.run.models.catalog import try_model

MARK = ".logoslab-demo"
OURS = ("lab", "figures", "report.html", "summary.json", MARK)

Say = Callable[[str], None]


async def run_demo(
    out: str | Path,
    *,
    model: str | Model = "embedded",
    data: str | Path | None = None,
    progress: bool = True,
    say: Say = print,
) -> dict[str, Any]:
    """Run the security-exception review and write its results.

    Parameters
    ----------
    out : path
        Gets ``report.html``, ``figures/``, ``lab/`` and ``summary.json``. The results of an
        earlier demo there are replaced; any other folder must be empty.
    model : str or Model
        ``embedded``, a path to a GGUF file, or ``provider/model``.
    data : path, optional
        Another folder with the demo's documents.
    progress : bool
    say : callable
        Receives one line a step.

    Returns
    -------
    dict
        The content of ``summary.json``.

    Raises
    ------
    InvalidValue
        When ``out`` holds something else, or the model has no such name.
    ModelError
        When the model does not answer. What is in ``out`` stays.
    """
    domain = load_domain(data)
    if isinstance(model, str):
        await try_model(model)  # Before an earlier demo goes: a wrong name must cost nothing.
    folder = _prepared(Path(out))
    started = time.monotonic()
    with Story(folder, domain, model=model, progress=progress) as story:
        facts = await _tell(story, say)
        saved = write_results(folder, story, facts)
    if any(path.suffix == ".html" for path in saved):
        say("no browser starts here, so figures are HTML; PNG and SVG need Chromium or Chrome")
    facts["seconds"] = round(time.monotonic() - started, 1)
    (folder / "summary.json").write_text(json.dumps(facts, indent=2, default=str) + "\n", "utf-8")
    return facts


async def _tell(story: Story, say: Say) -> dict[str, Any]:
    """The whole story; returns what the summary and the report say."""
    facts: dict[str, Any] = {}
    built = story.compile()
    facts["compile"] = {
        "pack": built.pack.digest,
        "probes": len(built.report.results),
        "passed": built.report.passed,
    }
    say(f"compiled {built.pack.name}: {built.report.passed} of {len(built.report.results)} probes")
    run = await story.operate()
    facts["operate"] = {"tasks": len(run.results), "mean_score": run.mean}
    say(f"reviewed {len(run.results)} tickets, mean score {run.mean:.3f}")
    run = await story.drift()
    failed = [r.task for r in run.results if r.status == "failed"]
    facts["drift"] = {"tasks": len(run.results), "failed": len(failed), "mean_score": run.mean}
    say(f"the service moved to v2: {len(failed)} of {len(run.results)} reviews fail at the draft")
    await _judge(story, facts, say)
    await _release(story, facts, say)
    facts["candidates"] = story.summary()
    return facts


async def _judge(story: Story, facts: dict[str, Any], say: Say) -> None:
    for name, candidate in story.propose().items():
        say(f"candidate {name}: {candidate.title}")
    before, after = await story.on_its_trigger()
    facts["proxy_of_rule"] = {"before": before, "after": after}
    say(f"on its own trigger the rule scores {after:.2f} instead of {before:.2f}")
    for name in story.candidates:
        judged = await story.gate(name)
        for decision in judged.decisions:
            say(f"  {name:<9} {decision.rule:<8} {decision.conclusion.value}: {decision.reason}")


async def _release(story: Story, facts: dict[str, Any], say: Say) -> None:
    acts: dict[str, Promotion] = {}
    first = story.first.digest
    acts["repair_unsigned"] = story.promote("repair")
    for name in ("repair", "submit"):
        story.approve(name, "read the diff and the evidence")
    acts["repair"] = story.promote("repair")
    before, after = await story.report_split()
    facts["report_split"] = {
        "tasks": len(before.results), "before": before.mean, "after": after.mean
    }  # fmt: skip
    say(f"report split: {before.mean:.3f} before, {after.mean:.3f} after the repair")
    acts["rollback"] = story.rollback("demonstration")
    facts["rollback_restored_first"] = story.lab.live is not None and (
        story.lab.live.digest == first
    )
    for name, approvals_of in (("rule", "repair"), ("rewording", "repair"), ("submit", None)):
        acts[name] = story.promote(name, approvals_of)
    acts["repair_again"] = story.promote("repair")
    story.lab.audit.checkpoint(story.key)
    report = story.lab.audit.verify(strict=True)
    facts["promotions"] = {name: act.model_dump() for name, act in acts.items()}
    facts["audit"] = {
        "intact": report.intact, "records": report.records, "signed_through": report.signed_through
    }  # fmt: skip
    for name, act in acts.items():
        say(f"  {name:<15} {'done' if act.promoted else 'refused: ' + '; '.join(act.reasons)}")
    say(f"audit log: {report.records} records, intact")


def _prepared(out: Path) -> Path:
    """An empty folder for the results; those of an earlier demo are removed first."""
    out.mkdir(parents=True, exist_ok=True)
    there = {p.name for p in out.iterdir()}
    if there and (MARK not in there or there - set(OURS)):
        raise InvalidValue(
            "demo --out",
            got=f"a folder that holds {', '.join(sorted(there - set(OURS)) or sorted(there))}",
            allowed="an empty or new folder, or the results of an earlier demo",
            next_step="Choose another folder.",
        )
    for name in there:
        target = out / name
        shutil.rmtree(target) if target.is_dir() else target.unlink()
    (out / MARK).touch()
    return out
