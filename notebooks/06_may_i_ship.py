# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # I have the results of my old and my new agent. May I ship?
#
# Two files lie on the desk: what the agent that is live did on a set of tasks, and what its
# successor did on the same tasks. The new mean is higher. **Is that enough?**
#
# A mean hides which tasks broke, whether one kind of task got worse, what the gain costs, and how
# much of it is luck. And a file can be wrong about itself. This notebook goes from two files to a
# verdict with reasons, and to one page that a reviewer can keep.

# %% tags=["parameters"]
OUT = "ship-out"  # a folder for the files, the figures and the dossier
SEED = 2026

# %%
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd

import logoslab as ll
from logoslab import viz
from logoslab.errors import SourceError
from logoslab.interop import read_results
from logoslab.interop.intoto import read_record, write_record
from logoslab.lifecycle.records import verify_record
from logoslab.studies.histories import shared_folder

out = Path(OUT)
out.mkdir(parents=True, exist_ok=True)
public = shared_folder() / "data" / "swebench_bashonly" / "outcomes.parquet"
REAL = public.exists()  # the folder with public results: LOGOSLAB_SHARED, else ../shared

# %% [markdown]
# ## The data
#
# With the public results at hand these are real agents: SWE-bench Verified, 500 tasks of 12
# repositories, all run with the same small scaffold, one run a task, with its cost in dollars
# (swe-bench.github.io, CC BY-NC 4.0). They are **recorded** outcomes; nothing is run here.
#
# Without them the notebook makes a small **synthetic** pair of agents and says so. The steps are
# the same; the numbers mean nothing.

# %%
SONNET = ("sonnet-4", "sonnet-4.5")
GPT = ("gpt-5-mini", "gpt-5")
NANO = ("gpt-5-nano", "gpt-5-mini")
ENDS = {"sonnet-4": "claude-sonnet-4-20250514", "sonnet-4.5": "sonnet-4-5-20250929",
        "gpt-5-mini": "_gpt-5-mini", "gpt-5": "_gpt-5", "gpt-5-nano": "_gpt-5-nano"}  # fmt: skip


def synthetic(rate, dollars, number):
    """120 made-up tasks; agents share each task's difficulty, so their results are paired."""
    hardness = np.random.default_rng([SEED, 0]).random(120)
    own = np.random.default_rng([SEED, number])
    return pd.DataFrame(
        {
            "instance_id": [f"task-{i:03d}" for i in range(120)],
            "resolved": 0.75 * hardness + 0.25 * own.random(120) < rate,
            "cost": own.gamma(4, dollars / 4, 120).round(4),
            "repo": [f"repo-{i % 6}" for i in range(120)],
        }
    )


if REAL:
    outcomes = pd.read_parquet(public)
    AGENTS = {
        name: outcomes[outcomes["folder"].str.endswith(end)][
            ["instance_id", "resolved", "cost", "repo"]
        ]
        for name, end in ENDS.items()
    }
    DATA = "real: SWE-bench Verified, bash only (public leaderboard, recorded outcomes)"
else:
    AGENTS = {
        name: synthetic(rate, dollars, number)
        for number, (name, rate, dollars) in enumerate(
            [("sonnet-4", 0.60, 0.37), ("sonnet-4.5", 0.68, 0.56), ("gpt-5-mini", 0.58, 0.04),
             ("gpt-5", 0.64, 0.28), ("gpt-5-nano", 0.35, 0.04)],
            start=1,
        )
    }  # fmt: skip
    DATA = "synthetic: made up in this notebook, the names are placeholders"

for name, frame in AGENTS.items():
    frame.to_csv(out / f"{name}.csv", index=False)
print(DATA)
AGENTS["sonnet-4"].head(3)


# %%
def files(pair):
    """The old and the new file of a pair."""
    return [out / f"{name}.csv" for name in pair]


# %% [markdown]
# ## Two files, one question
#
# `ll.compare` reads both files and says how: which column it took for the task, for the score, for
# the cost. A guess is called a guess; `task=`, `score=`, `slice=`, `cost=` overrule it. On the
# command line the same is `logoslab gate old.csv new.csv --slice repo`, whose exit code is 0 for
# accept, 1 for reject, 2 for undecided, 3 for bad input.

# %%
upgrade = ll.compare(*files(SONNET), slice="repo")
print(upgrade)

# %% [markdown]
# The mean rose, and still the answer is no. Look at the second half: tasks that the old agent
# solved are broken now. The paired gate, with its default of no tolerated regression, rejects. That
# is a policy, and here it shows its price: between two strong agents with random behaviour some
# task always breaks. So say what you tolerate, *before* you look.

# %%
FIGURES = {
    "flips": viz.flip_bar(viz.flip_frame(upgrade)),
    "slices": viz.slice_intervals(viz.slice_frame(upgrade)),
}
FIGURES["flips"]

# %% [markdown]
# Which tasks? Every flip has a name, so somebody can read the broken ones.

# %%
upgrade.flips().head(8)

# %% [markdown]
# ## Did one kind of task get worse?
#
# Tasks of one repository resemble each other. So there are two intervals for the mean: one over
# tasks, and one over repositories, which does not pretend that their tasks are independent. Each
# repository's own interval is widened so that all of them hold at once; with several looks, one
# "worse" repository in an ordinary 95 % interval would be no news.

# %%
FIGURES["slices"]

# %%
pd.DataFrame(
    {
        "interval": ["over tasks", "over repositories"],
        "low": [upgrade.interval.low, upgrade.interval_by_slice.low],
        "high": [upgrade.interval.high, upgrade.interval_by_slice.high],
        "method": [upgrade.interval.method, upgrade.interval_by_slice.method],
    }
).round(4)

# %% [markdown]
# ## What do the rules say, and what may they claim?
#
# The same evidence, several rules. A tolerance of 6 % of the tasks in place of none; the exact
# McNemar test; the anytime gate. Each decision carries its claim: a fixed holdout that is read once
# supports no sequential error bound, so the anytime gate's acceptance is an audit account here.

# %%
tolerant = ll.compare(
    *files(SONNET),
    slice="repo",
    rule=("paired", "mcnemar", "anytime"),
    r_max=int(0.06 * upgrade.n),
)
pd.DataFrame(
    [(d.rule, d.conclusion.value, d.reason, d.claim) for d in tolerant.decisions],
    columns=["rule", "conclusion", "reason", "claim"],
)

# %% [markdown]
# ## A gain at what price?
#
# Two more pairs. From gpt-5-mini to gpt-5 there is a gain again, and each task costs several times
# as much. From gpt-5-nano to gpt-5-mini the gain is large and nothing is paid for
# it. No admission rule here weighs money against tasks: that is for a person, who needs both
# numbers in one line.

# %%
pairs = {
    pair: ll.compare(*files(pair), slice="repo", rule="mcnemar") for pair in (SONNET, GPT, NANO)
}
prices = pd.DataFrame(
    [
        (" → ".join(pair), c.fixed, c.broken, c.mean_difference, c.cost.old, c.cost.new,
         c.cost.ratio, c.decision)
        for pair, c in pairs.items()
    ],
    columns=["pair", "fixed", "broken", "gain", "old $ a task", "new $ a task", "× cost",
             "mcnemar"],
).set_index("pair")  # fmt: skip
prices.round(3)

# %% [markdown]
# ## A file that contradicts itself
#
# A leaderboard entry states a headline and lists its tasks. One real submission says 52.8 % and
# lists 51 of 500 tasks as resolved: the details are broken, or the headline is. Whoever compares
# such a file learns something about the file and nothing about the agent. So it is refused, with
# both numbers, until somebody decides.

# %%
if REAL:
    ends = "claude-3-7-sonnet-20250219"
    details = outcomes[outcomes["folder"].str.endswith(ends)]
    headline = 52.8
else:
    details, headline = AGENTS["gpt-5-nano"], 90.0
entry = {
    "resolved": headline,
    "per_instance_details": {
        row.instance_id: {"resolved": bool(row.resolved), "cost": row.cost}
        for row in details.itertuples()
    },
}
(out / "entry.json").write_text(json.dumps(entry))
try:
    ll.compare(out / "sonnet-4.csv", out / "entry.json")
    refusal = ""
except SourceError as error:
    refusal = str(error)
print(refusal)

# %% [markdown]
# `headline="ignore"` (`--ignore-headline`) judges the details all the same, and the note stays.

# %%
ignored = read_results(out / "entry.json", headline="ignore")
print(ignored.how_read(), *ignored.notes, sep="\n")

# %% [markdown]
# ## One page for the reviewer
#
# The dossier is one HTML file: the question, the verdict, every number, the flips, the slices, what
# the rules claim, how the files were read, and the digests of their bytes. It needs no network.

# %%
page = viz.write_dossier(out / "dossier.html", tolerant)
record = json.loads(tolerant.to_json())
print(page, f"{page.stat().st_size / 1e6:.1f} MB;", record["decision"], record["evidence_digest"])

# %% [markdown]
# ## A record that a third party can check
#
# The record of one decision holds the decision, every trial that it rests on, and two in-toto
# statements. Whoever gets the file runs `logoslab verify record.json`: the rule judges the bundled
# evidence again, and every word of the decision must come out the same. Below, one score of the
# candidate is then turned into a pass, and the checks that fail name every trace of it.

# %%
decided = next(d for d in tolerant.decisions if d.rule == "paired")
write_record(decided, tolerant.evidence, out / "record.json", at=time.time())
checks = verify_record(read_record(out / "record.json"))

forged = json.loads((out / "record.json").read_text("utf-8"))
lost = next(t for t in forged["evidence"]["trials"] if t["arm"] == "candidate" and not t["value"])
lost["value"] = 1.0
(out / "forged.json").write_text(json.dumps(forged), "utf-8")
doubts = [c for c in verify_record(read_record(out / "forged.json")) if not c.holds]
print(len(checks), "checks hold:", all(check.holds for check in checks))
print(*(f"FAILS {check.name}: {check.detail}" for check in doubts), sep="\n")

# %% [markdown]
# ## Export

# %%
saved = viz.save_all(  # As HTML where no browser is installed.
    {
        out / f"{name}.{kind}": figure
        for name, figure in FIGURES.items()
        for kind in ("png", "svg", "html")
    },
    or_html=True,
)
print(len(saved), "files;", viz.alt_text(FIGURES["flips"]))

# %% [markdown]
# ## The answer
#
# A higher mean is not enough, and one command says what is missing: which tasks broke, whether a
# slice got worse beyond chance, what the gain costs, and which claim a verdict may make. Under "no
# task may break" even a clear upgrade is rejected; a tolerance that was declared beforehand lets it
# through. A file whose headline contradicts its details is not judged at all.
#
# **Assumptions.** One run a task: a flip may be chance, and only repeated runs would tell.
# Student's t for the mean of many bounded differences is an approximation; over repositories it has as many
# degrees of freedom as there are repositories, less one, and they are of very unequal size. Tasks
# that only one side ran count as failures of the new agent or are left out, and are noted. The
# tasks are public, so either agent may have seen them in training; no comparison can tell.

# %%
RESULT = {
    "data": DATA,
    "fixed": upgrade.fixed,
    "broken": upgrade.broken,
    "mean_difference": upgrade.mean_difference,
    "interval": [upgrade.interval.low, upgrade.interval.high],
    "decision": upgrade.decision,
    "decision_with_tolerance": tolerant.decision,
    "prices": prices.reset_index().to_dict("records"),
    "refusal": refusal,
    "files": sorted(path.name for path in (*saved, page)),
}
assert upgrade.decision == "reject" and upgrade.broken > 0
assert set(upgrade.old.guessed) == {"task", "score", "cost"}
assert upgrade.interval.low < upgrade.mean_difference < upgrade.interval.high
assert len(upgrade.changed) == upgrade.fixed + upgrade.broken
assert record["rule"] == "paired,mcnemar,anytime"
assert record["n"] == len(AGENTS["sonnet-4"])
assert "headline" in refusal and f"{headline / 100:.4f}" in refusal
assert any("they differ, ignored on request" in note for note in ignored.notes)
assert checks and all(check.holds for check in checks)
assert {"evidence digest"} <= {check.name for check in doubts}
assert 'src="http' not in page.read_text("utf-8")
assert all(path.stat().st_size > 5_000 for path in saved)
if REAL:
    assert (upgrade.fixed, upgrade.broken) == (54, 25)
    assert (pairs[GPT].fixed, pairs[GPT].broken) == (54, 28)
    assert (pairs[NANO].fixed, pairs[NANO].broken) == (144, 19)
    assert round(pairs[GPT].cost.ratio, 1) == 7.9 and pairs[NANO].cost.ratio < 1
    assert tolerant.decision == "accept"
    assert "0.5280" in refusal and "0.1020 over 500 tasks" in refusal
RESULT
