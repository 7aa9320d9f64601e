"""The demo's report: prose, numbers, figures and diffs in one HTML file, and the figures alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from logoslab import viz
from logoslab.demo.story import Judged, Story

if TYPE_CHECKING:
    import pandas as pd

LADDER = ("greedy", "samples", "solver")

# A stage accepted a task when it is the last one that was tried and nobody was called after it.
ATTEMPTS = """
    SELECT task, payload->>'$.dimension' AS dimension, stage,
           seq = max(seq) OVER (PARTITION BY task, payload->>'$.dimension') AS accepted,
           payload->>'$.mode' AS mode
    FROM events WHERE kind = 'route' AND run = $run ORDER BY task, seq"""
COSTS = """
    SELECT run, arm, count(*) AS calls, count(*) FILTER (payload->>'$.replayed' = 'true') AS
           replayed, sum(tokens_in) AS tokens_in, sum(tokens_out) AS tokens_out,
           round(sum(latency), 1) AS seconds
    FROM events WHERE kind = 'cost' GROUP BY run, arm ORDER BY run, arm"""

WORDS = {
    "repair": "The proposer read the service's refusals and renamed and added the fields.",
    "rule": "A template turned one failure into a rule. It fixes that failure; the question is "
    "what else it does.",
    "rewording": "The same instruction in other words: a candidate that should change nothing.",
    "submit": "It asks for an effect that binds the company. No score can buy that.",
}


def cascade_attempts(story: Story, run: str) -> pd.DataFrame:
    """One row for each stage that a task tried in a run."""
    frame = story.lab.sql(ATTEMPTS, {"run": run})
    return frame[frame["mode"] != "escalate"].drop(columns="mode")


def figures(story: Story) -> dict[str, Any]:
    """Every figure of the demo, by file stem."""
    drawn = {
        "pack_graph": viz.pack_graph(viz.pack_frame(story.first)),
        "cascade": viz.cascade_flow(
            viz.cascade_frame(cascade_attempts(story, story.before_drift.name), LADDER)
        ),
    }
    for name, judged in story.judged.items():
        drawn[f"wealth_{name}"] = viz.wealth(
            viz.wealth_frame(judged.decisions[-1]),
            title=f"Evidence wealth: the candidate {name}",
            div_id=f"wealth-{name}",
        )
        drawn[f"paired_{name}"] = viz.paired_differences(
            viz.paired_frame(judged.evidence),
            title=f"Difference per task: the candidate {name}",
            div_id=f"paired-{name}",
        )
    return drawn


def write_results(folder: Path, story: Story, facts: Mapping[str, Any]) -> list[Path]:
    """Write ``report.html`` and ``figures/``: PNG and SVG, or HTML where no browser starts.

    Returns
    -------
    list of Path
        The figures.
    """
    drawn = figures(story)
    sections = [
        _overview(facts),
        viz.Section("The team", [_TEAM, drawn["pack_graph"]]),
        viz.Section("The cascade", [_CASCADE, drawn["cascade"], story.lab.sql(COSTS)]),
        *(_candidate(name, judged, drawn, facts) for name, judged in story.judged.items()),
        _release(story, facts),
    ]
    viz.write_report(folder / "report.html", "Security-exception review", sections)
    (folder / "figures").mkdir(exist_ok=True)
    return viz.save_all(
        {
            folder / "figures" / f"{name}.{kind}": figure
            for name, figure in drawn.items()
            for kind in ("png", "svg")
        },
        or_html=True,
    )


def _overview(facts: Mapping[str, Any]) -> viz.Section:
    return viz.Section(
        "What happened",
        [
            _OVERVIEW,
            {
                "probes passed": f"{facts['compile']['passed']} of {facts['compile']['probes']}",
                "tickets reviewed": facts["operate"]["tasks"],
                "mean score before the drift": facts["operate"]["mean_score"],
                "reviews that failed after it": f"{facts['drift']['failed']} of "
                f"{facts['drift']['tasks']}",
                "report split, before the repair": facts["report_split"]["before"],
                "report split, after it": facts["report_split"]["after"],
            },
        ],
    )


def _candidate(
    name: str, judged: Judged, drawn: Mapping[str, Any], facts: Mapping[str, Any]
) -> viz.Section:
    promotion = facts["promotions"][name]
    outcome = (
        "Promoted." if promotion["promoted"] else "Refused: " + "; ".join(promotion["reasons"])
    )
    footprint = judged.candidate.footprint
    return viz.Section(
        f"Candidate: {judged.candidate.title}",
        [
            WORDS[name],
            {
                "files": ", ".join(footprint.files),
                "new permissions": ", ".join(footprint.permissions) or "none",
                "safety surfaces": ", ".join(footprint.safety_surfaces) or "none",
                "promotion": outcome,
            },
            viz.Code(judged.candidate.diff),
            *judged.decisions,
            drawn[f"paired_{name}"],
            drawn[f"wealth_{name}"],
        ],
    )


def _release(story: Story, facts: Mapping[str, Any]) -> viz.Section:
    return viz.Section(
        "Releases and the audit log",
        [
            _RELEASE,
            {
                name: "done" if act["promoted"] else "refused: " + "; ".join(act["reasons"])
                for name, act in facts["promotions"].items()
            },
            story.lab.audit.frame()[["seq", "act", "subject"]],
            f"{facts['audit']['records']} records, chain intact, signed through record "
            f"{facts['audit']['signed_through']}.",
        ],
    )


_OVERVIEW = """\
A team was compiled from a policy, an intake form, a ticket export, a risk matrix and an API
description. It reviewed tickets until the API changed under it. Four changes were proposed; both
gates judged each on held-out tickets; a person signed; one was promoted.

The person is a throwaway key that this demo made. The data is synthetic and ships with the
project. Scores are exact: half for the decision and its grounds, half for the draft that the
service took."""
_TEAM = "Phases of the execution plan, who acts in each, and the tools they may call."
_CASCADE = """\
Each ticket's free text climbs a ladder: one greedy call, four samples, a deterministic lookup, a
person. A stage is believed only when the verifier stack passes its answer."""
_RELEASE = """\
Promotion needs the decisions of both gates, the root policy and a signature over exactly this
candidate and this evidence. The signature for the repair was also tried on two other candidates,
and the grab for authority was tried with a signature of its own. Rollback restored the first pack;
drafts that the service had taken stayed there, because a rollback undoes no external effect."""
