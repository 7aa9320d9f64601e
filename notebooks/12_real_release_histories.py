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
# # What would each rule have done with releases that really happened?
#
# New versions of models and prompts were released, and other people recorded how they did, task by
# task. **Had one of our rules stood in between, which of those releases would it have let through,
# and what would they have done next?**
#
# The idea is to give a rule *half* of the tasks and to look at the other half afterwards. Nothing
# ran for this: it is a replay of recorded outcomes. If the recordings are not on this machine, the
# notebook uses a **synthetic** history whose truth is known, and says so.

# %% tags=["parameters"]
import os

FAST = os.environ.get("LOGOSLAB_FAST") == "1"
OUT = "histories-out"  # a folder for the figures
SALT = "release-histories-1"  # of the hash that splits tasks into halves
SPLITS = 3 if FAST else 12  # other halves, to see how much hangs on this one
DELTA = 0.01  # least practical effect, for rules that want one for graded scores
WORKERS = 2

# %%
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd

import logoslab as ll
from logoslab import viz
from logoslab.studies import histories

there = histories.available()
REAL = all(there.values())
SYNTHETIC = histories.SyntheticHistory()
history = histories.ReleasePairs() if REAL else SYNTHETIC
print(f"This run uses {'REAL recordings' if REAL else 'the SYNTHETIC history'}: {history.origin}.")
if not REAL:
    print(f"Set LOGOSLAB_SHARED to a folder with data/{', data/'.join(n for n in there if not there[n])}.")
pd.Series(there, name="on this machine").to_frame()

# %% [markdown]
# ## The pairs
#
# A pair is a baseline and a candidate on the same tasks. The real list has upgrades, silent updates,
# cheaper swaps and new prompts; it also has pairs in which *nothing* was released (the same model
# recorded twice) or in which the verifier changed instead of the model.

# %%
pairs = history.pairs()
pd.Series([p.relation for p in pairs]).value_counts().rename("pairs").to_frame()

# %% [markdown]
# The real list comes with published statistics. Do the recordings give the same numbers? Every
# count, mean, standard error, p-value and cost is computed again, to the last printed digit.

# %%
wrong = history.disagreements() if REAL else pd.DataFrame(columns=["pair", "column"])
if REAL:
    print(f"{history.recomputed().shape[0]} pairs recomputed, {len(wrong)} numbers disagree")
wrong

# %% [markdown]
# ## What is wrong with the recordings
#
# A gate can only be as good as its evidence, so the loaders look first. What they notice is a
# **finding** with its numbers: a *flag* goes along with the evidence, a *refusal* means that no
# decision may rest on it. On the real recordings:
#
# * a submission whose details say 51 of 500 under a headline of 52.8 %,
# * a subject on which the stronger model scores 3 % where guessing gives 25 %: a parsing fault,
# * one model recorded twice with 202 of 880 tasks different, so that a stored baseline is not a
#   constant,
# * means over runs that are not the means over tasks,
# * programs that pass *more* tests after failing fewer, which cannot be.

# %%
findings = []
if REAL:
    board = histories.SweBench()
    folders = sorted({p.baseline for p in board.pairs()})
    findings += [f for f in map(board.headline, folders) if f]
    findings += histories.RouteLlm().broken()
    findings += histories.LiveCodeBench().moved()
    metr = histories.MetrRuns()
    findings += [f for f in map(metr.weighting, sorted({p.baseline for p in metr.pairs()})) if f]
    findings.append(histories.EvalArena().flips())
else:
    found = (histories.dearer(SYNTHETIC.evidence(p.id)) for p in pairs)
    findings += [f for f in found if f]
noticed = pd.DataFrame(
    [(f.severity, f.check, f.subject, f.message) for f in findings],
    columns=["severity", "check", "subject", "finding"],
).sort_values("severity", ascending=False, kind="stable")
noticed.style.hide(axis="index")

# %% [markdown]
# ## Judge on one half, measure on the other
#
# A task falls into the **gate** half or the **report** half by a hash of its name: nobody chooses,
# and it is the same half in every pair. Every registered rule, with its defaults, reads the gate
# half. A rule that lacks something it needs says `not_applicable`, with the reason; it never guesses.
#
# The strict paired rule tolerates no regressed task at all. No release of this size meets that, so a
# second one stands beside it that wants a mean gain and lets up to a tenth of the tasks fall.

# %%
rules = {
    name: ll.gate.rule_named(name)
    for name, rule in ll.gate.all_rules().items()
    if not any(field.is_required() for field in rule.model_fields.values())
}
rules["paired, δ and budget"] = ll.gate.rule_named(
    "paired", delta_min=DELTA, r_max=10**6, max_rate=0.1
)
with ThreadPoolExecutor(WORKERS) as executor:
    judged = histories.judge_history(history, rules, salt=SALT, executor=executor)
decisions = judged.pivot_table(index="rule", columns="decision", values="pair", aggfunc="count",
                               fill_value=0, sort=False, observed=True)
decisions

# %% [markdown]
# Why a rule did not answer, in its own words:

# %%
silent = judged[judged["decision"].isin(["not_applicable", "refused"])]
why = silent.drop_duplicates(["rule", "decision"])[["rule", "decision", "pair", "reason"]]
why.style.hide(axis="index")

# %% [markdown]
# ## What the adopted ones did
#
# The report half measures each pair on tasks that no rule has seen: the mean difference with its
# 95 % interval (where tasks come in clusters, such as repositories or task families, over the
# clusters), slices that got worse beyond chance, and what it cost.

# %%
FIGURES = {"decisions": viz.release_decisions(viz.decision_frame(judged))}
FIGURES["decisions"]

# %% [markdown]
# Read across: what the rules said before, and what happened. A ring is an acceptance that the other
# half contradicts, on average or in a slice. Counted:

# %%
counted = histories.adoptions(judged)
counted.round(3)

# %% [markdown]
# `accept_all` is what happens without a gate. **Shown worse** counts adopted releases whose report
# interval lies below zero; **missed** counts releases that were not adopted although the report half
# shows a gain. No rule has both at zero: a rule that never adopts a bad release may be one that
# adopts nothing.
#
# Two things no score shows. A pair in which nothing was released can look like a gain; where the
# recording itself moved, the report half moved with it and cannot help. And a candidate of equal
# mean can cost more:

# %%
nothing = judged[judged["relation"].isin(["same model re-recorded", "neutral", "dearer"])]
nothing = nothing[nothing["adopted"] & (nothing["rule"] != "accept_all")]
print("adopted though nothing got better by intention:")
nothing.groupby("pair")["rule"].agg(", ".join).rename("adopted by").to_frame()

# %%
def arms_of_equal_mean():
    """Pairs whose means cannot be told apart, the candidate at 1.2 times the cost or more."""
    source = histories.SweBench() if REAL else SYNTHETIC
    for pair in source.pairs():
        if any(f.severity == "refuse" for f in source.findings(pair)):
            continue
        evidence = source.evidence(pair.id)
        d = evidence.pairs().difference
        finding = histories.dearer(evidence, ratio=1.2)
        if finding and abs(d.mean()) < 0.015:
            yield pair, evidence, finding


rows = []
for pair, evidence, finding in arms_of_equal_mean():
    keep = ll.gate.rule_named("mean_improves").decide(evidence)
    rows.append((pair.id, finding.numbers["mean_difference"], finding.numbers["cost_ratio"],
                 keep.conclusion.value))
dearer = pd.DataFrame(rows, columns=["pair", "mean difference", "cost ratio", "keep if better"])
dearer.round(3)

# %% [markdown]
# ## Does it hang on this split?
#
# The halves are one draw. With other salts, the same rules meet other halves of the same tasks. How
# often does an adoption turn out worse, and how often is a gain missed?

# %%
WATCHED = ["accept_all", "mean_improves", "mcnemar", "anytime", "paired, δ and budget"]
again = []
with ThreadPoolExecutor(WORKERS) as executor:
    for split in range(SPLITS):
        frame = histories.judge_history(history, {name: rules[name] for name in WATCHED},
                                        salt=f"{SALT}/{split}", executor=executor)
        again.append(histories.adoptions(frame).assign(split=split))
spread = (
    pd.concat(again)
    .reset_index()
    .groupby("rule", sort=False)[["adopted", "shown_worse", "slice_worse", "missed"]]
    .agg(["min", "mean", "max"])
)
spread.round(1)

# %% [markdown]
# ## Where the truth is known
#
# A report half is a measurement, with errors of its own. In the synthetic history the truth is on
# file: how often does each rule adopt what is *really* no better?

# %%
truth = SYNTHETIC.truth()
synthetic = histories.judge_history(SYNTHETIC, rules, salt=SALT).merge(
    truth, left_on="pair", right_index=True
)
by_truth = synthetic.groupby(["rule", "kind"], sort=False)["adopted"].sum().unstack()
by_truth

# %% [markdown]
# A gate half of 59 tasks meets changes of a tenth or so. Rules without an error rate adopt most of
# the gains, and with them releases that changed nothing or only the price; rules with one can hardly
# tell such gains from chance, and say so instead of adopting.
#
# ## Export

# %%
saved = viz.save_all(  # As HTML where no browser is installed.
    {
        Path(OUT) / f"{name}.{kind}": figure
        for name, figure in FIGURES.items()
        for kind in ("png", "svg", "html")
    },
    or_html=True,
)
judged.to_csv(Path(OUT) / "judged.csv", index=False)
print(len(saved), "files;", viz.alt_text(FIGURES["decisions"])[:160])

# %% [markdown]
# ## The answer
#
# On the real pairs the rule that everybody uses, *keep what scores better*, does well where changes
# are large: half of the tasks already shows their sign. It fails where nothing was released: it
# adopts a re-recorded baseline as a gain, and it buys one point at fifteen times the price. Rules
# with an error rate adopt less, and what they adopt holds up; what they miss are gains that half of
# the tasks cannot show. The zero-regression rule adopts nothing at this size, with or without merit.
# And one pair should never have reached a rule: its recording contradicts itself.
#
# These sentences are about the real recordings; a run on the synthetic history has its own tables.
#
# **Assumptions.** The recordings are replays, made by others, and the list of pairs is a choice, not
# a sample of releases: shares over it estimate nothing beyond it. Both halves come from the same
# repositories, families and question sets. Intervals over few, unequal clusters are too narrow. The
# evidence averages over tasks, not over runs. Costs are known for the SWE-bench pairs only.

# %%
alone = histories.judge_history(history, WATCHED[:3], salt=SALT)  # without workers
both = (judged[judged["rule"].isin(WATCHED[:3])], alone)
ordered = [frame.sort_values(["pair", "rule"], ignore_index=True) for frame in both]
pd.testing.assert_frame_equal(*ordered)
total = len(pairs)
all_in = counted.loc["accept_all"]
RESULT = {
    "data": "real" if REAL else "synthetic",
    "pairs": total,
    "rules": list(rules),
    "adopted": counted["adopted"].to_dict(),
    "shown_worse": counted["shown_worse"].to_dict(),
    "missed": counted["missed"].to_dict(),
    "dearer_at_equal_means": len(dearer),
    "files": sorted(path.name for path in saved),
}
assert wrong.empty
assert (counted[["judged", "not_applicable", "refused"]].sum(axis=1) == total).all()
assert all_in["adopted"] == total - all_in["refused"] and all_in["shown_worse"] > 0
assert counted.loc["mean_improves", "shown_worse"] < all_in["shown_worse"]
assert counted.loc["anytime", "shown_worse"] == counted.loc["mcnemar", "shown_worse"] == 0
assert counted.loc["paired", "adopted"] == 0
assert (silent["reason"].str.len() > 0).all()
assert len(dearer) > 0 and (dearer["cost ratio"] > 1.2).all()
assert spread.loc["accept_all", ("shown_worse", "min")] > 0
assert by_truth.loc["accept_all", "harm"] == (truth["kind"] == "harm").sum()
assert by_truth.loc["anytime", ["harm", "slice_harm", "neutral", "dearer"]].sum() == 0
if REAL:
    assert set(judged.loc[judged["decision"] == "refused", "pair"]) == {"S011"}
    assert {f.check for f in findings if f.severity == "refuse"} == {
        "headline", "broken_slices", "moving_baseline",
    }
    assert "S048" in set(nothing["pair"])
assert all(path.stat().st_size > 5_000 for path in saved)
RESULT
