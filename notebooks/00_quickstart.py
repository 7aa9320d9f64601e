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
# # May this change become real?
#
# A team of agents reviews requests for security exceptions. One day the service that it writes to
# changes, and its drafts are refused. The team can propose a fix for itself, and it has other ideas
# too. **Which of its proposals may become real, and who says so?**
#
# This notebook takes one release all the way: compile a team from a folder of documents, let it
# work, let the world change, collect proposals, judge them on tickets that no proposer has seen,
# put them before a person, promote one, go back, and check the record of it all.
#
# *Proposal is not promotion.* Everything here runs on your machine. The documents and tickets are
# synthetic and ship with the project.

# %% tags=["parameters"]
OUT = "quickstart-out"  # a new or empty folder; gets the lab and the figures
MODEL = "embedded"  # or a path to a .gguf file, or "provider/model" with its key in the environment
REFRESH = False  # True asks the model again instead of replaying the calls that ship with the data

# %%
from functools import partial
from pathlib import Path

import logoslab as ll
from logoslab.demo import Story, load_domain
from logoslab.evolve import Rewording, SkillRuleFromFailure, ToolSchemaRepair

domain = load_domain()
story = Story(Path(OUT), domain, model=MODEL, progress=False).__enter__()
lab, splits = story.lab, story.splits
if not REFRESH and MODEL == "embedded":
    print(lab.import_calls(domain.recorded_calls), "recorded model calls")
print({split: len(tasks) for split, tasks in splits.items()})

# %% [markdown]
# `Story` sets the stage: the exceptions service runs twice on this machine, once as the live one and
# once as the **sandbox** that trials use, and a throwaway key stands for a person. The key lives
# outside the lab folder, so nothing that runs in the lab can sign.
#
# Each ticket falls into one of four disjoint splits by the hash of its number. Proposers may learn
# from *proposal*; *gate* decides; *report* is looked at once, at the end.

# %% [markdown]
# ## Compile
#
# The compiler reads a policy, an intake form, a ticket export, a risk matrix and an API
# description, and emits a **pack**: agents, skills, tools with typed schemas and effect classes, a
# plan, a genome, verifiers and probes. It then really calls every tool. Either all probes pass or
# the result is a diagnosis; there is nothing in between.

# %%
built = lab.compile(domain.sources, domain.brief)
print(built.kind, f"- {built.report.passed} of {len(built.report.results)} probes passed")
story.first = built.pack
ll.viz.pack_graph(ll.viz.pack_frame(built.pack))

# %% [markdown]
# ## Operate
#
# The team's only model step copies the words that name the data a system holds. A small local model
# does that well enough to be useful and badly enough to be interesting, so its answers climb a
# **ladder**: one greedy call, four samples, a deterministic lookup, a person. A stage is believed
# only when the verifiers pass its answer. The verifiers see no labels.

# %%
worked = story.before_drift = await lab.run(
    None, splits["proposal"], name="operate", router=story.router, progress=False
)
print(f"{len(worked.results)} tickets, mean score {worked.mean:.3f}")
worked.frame().head()

# %%
from logoslab.demo.report import LADDER, cascade_attempts

ll.viz.cascade_flow(ll.viz.cascade_frame(cascade_attempts(story, worked.name), LADDER))

# %% [markdown]
# Every event went into one DuckDB file, `traces.duckdb`, which any DuckDB tool opens. What did the
# verifiers say?

# %%
lab.sql("""
    SELECT name AS verifier, verdict, count(*) AS times
    FROM events WHERE kind = 'verdict' GROUP BY ALL ORDER BY verifier, verdict
""")

# %% [markdown]
# ## The world changes
#
# The service moves to version 2: a field is renamed, another becomes required. Nobody told the team.

# %%
drifted = await story.drift()
failed = [r for r in drifted.results if r.status == "failed"]
print(f"{len(failed)} of {len(drifted.results)} reviews fail, e.g. {failed[0].detail[:160]}…")

# %% [markdown]
# ## Propose
#
# Proposers see the traces of proposal tickets and nothing else. Four candidates arrive:
#
# 1. a **repair** of the tool's schema, worked out from the service's refusals;
# 2. a **rule** in a playbook, written from the template of one failure;
# 3. a **rewording** of an instruction;
# 4. a grab for **authority**: submit what was drafted, without asking.
#
# A candidate is a patch. It runs nowhere live, and its *footprint* says what it touches.

# %%
candidates = story.propose()
for name, candidate in candidates.items():
    new = ", ".join(candidate.footprint.permissions) or "none"
    print(f"{name:<10} {candidate.title}\n{'':<11}files {candidate.footprint.files}, new permissions: {new}")
print(candidates["rule"].diff)

# %% [markdown]
# On the failure it was written from, the rule works. That is the evidence that a proposer has, and
# it is worth nothing: the rule was chosen *because* it works there.

# %%
before, after = await story.on_its_trigger()
print(f"on its own trigger: {before:.2f} before the rule, {after:.2f} with it")

# %% [markdown]
# ## Judge
#
# Incumbent and candidate both work on every *gate* ticket, in the sandbox. What counts is the
# **paired difference** $d_i$ of their scores on ticket $i$. Two rules judge it:
#
# - the **paired gate** accepts when $\bar d \ge \delta_{\min}$ and at most $R_{\max}$ tickets got worse;
# - the **anytime gate** bets, ticket by ticket, against "the gain is at most $\delta_{\min}$" and
#   against "the share of tickets that got worse is at least $\rho_{\max}$". Its wealth may be looked
#   at after every ticket: under the null it reaches $1/\alpha$ with probability at most $\alpha$.
#
# Reading a finite set of tickets once through would carry no such promise. So the sampler that the
# root policy declares *draws* tickets from the gate split with replacement, and the claim is about
# that split. The candidates share it, so their gates are dependent: the lab's ledger (e-LOND, valid
# under any dependence) fixes each gate's level *before* the gate looks.

# %%
for name in candidates:
    judged = await story.gate(name)
    for decision in judged.decisions:
        print(f"{name:<10} {decision.rule:<8} {decision.conclusion.value:<20} {decision.reason}")

# %%
ll.viz.wealth(ll.viz.wealth_frame(story.judged["repair"].decisions[1]))

# %%
ll.viz.paired_differences(ll.viz.paired_frame(story.judged["rule"].evidence))

# %% [markdown]
# Step through a gate yourself. The sliders answer "what if the policy had said otherwise?"; they
# decide nothing.

# %% tags=["stepper"]
declared = lab.policy.evaluator.model_dump(include={"delta_min", "eps_reg", "r_max", "rho_max", "alpha"})
decided = story.judged["rule"].decisions[1]
rules = partial(ll.gate.promoting_rules, level=decided.params["level"])  # what the ledger gave it
stepper = ll.widgets.GateStepper(story.judged["rule"].evidence, rules, **declared)
stepper

# %% [markdown]
# ## Ask a person
#
# Evidence is not authority. The repair goes into the approval queue, where a person sees its diff,
# its risk, what it touches and what the gates said. Type a reason and press a button: to approve is
# to sign, over exactly this candidate, this evidence and this policy.

# %% tags=["approval"]
change = lab.request_approval(candidates["repair"], story.judged["repair"].decisions).change
desk = lab.desk(story.key)
queue = ll.widgets.ApprovalQueue(desk)
queue

# %% [markdown]
# If nobody pressed a button, the next cell signs with the demo's key, so that the notebook runs from
# top to bottom.

# %%
if desk.pending():
    desk.decide(change.id, "approve", "read the diff and the evidence")
ruling = lab.queue.get(change.id).ruling
print(ruling.act, "by", ruling.who, "because:", ruling.reason)

# %% [markdown]
# ## Promote
#
# Promotion is evidence **and** root policy **and** approvals, then one atomic change of the pointer
# to the live pack. If any part is missing, every live byte stays as it is. The same signature is of
# no use to another candidate, and a signature of its own does not help the grab for authority.

# %%
story.approve("submit", "signed by mistake")
promoted = lab.promote(story.judged["repair"].decisions, lab.approvals(candidates["repair"]))
print("repair:", promoted.promoted, promoted.live)
replayed = lab.promote(story.judged["rule"].decisions, lab.approvals(candidates["repair"]))
print("rule with the repair's approval:", *replayed.reasons, sep="\n  ")
grab = story.promote("submit")
print("submit with an approval of its own:", *grab.reasons, sep="\n  ")

# %% [markdown]
# Nobody has looked at the *report* tickets. Now is the time, once.

# %%
old, new = await story.report_split()
print(f"report split, {len(old.results)} tickets: {old.mean:.3f} before, {new.mean:.3f} after")

# %% [markdown]
# ## Go back, and check the record
#
# Rollback is a release act like any other and needs its own signature. It restores the pack, byte
# for byte; drafts that the service has taken stay taken. Every act is in a hash-chained log that the
# person's key signs.

# %%
back = story.rollback("to show that it can be done")
restored = lab.live == built.pack
again = lab.promote(story.judged["repair"].decisions, lab.approvals(candidates["repair"]))
lab.audit.checkpoint(story.key)
report = lab.audit.verify(strict=True)
lab.audit.frame()[["seq", "act", "subject"]].tail(12)

# %% [markdown]
# ## Export
#
# Figures as PNG and SVG with their alternative text, and the recorded model calls, so that somebody
# else can run this notebook and get the same numbers.

# %%
figures = Path(OUT) / "figures"
figures.mkdir(exist_ok=True)
wealth = ll.viz.wealth(ll.viz.wealth_frame(story.judged["repair"].decisions[1]))
saved = ll.viz.save_all(  # As HTML where no browser is installed.
    {figures / f"wealth_repair.{kind}": wealth for kind in ("png", "svg")}, or_html=True
)
calls = lab.export_calls(Path(OUT) / "recorded_calls.jsonl")
story.__exit__(None, None, None)
print([path.name for path in saved], f"{calls} recorded calls")

# %% [markdown]
# ## The answer
#
# One of four proposals became real: the repair, because it helped on tickets it had never seen, no
# ticket got worse beyond the budget, it stayed within the root policy, and a person signed exactly
# it. The rule looked good where it was written and broke other tickets. The rewording changed
# nothing worth a release. The grab for authority was refused whatever its score.
#
# **Assumptions.** The anytime claim is about the gate split, from which tickets were drawn with
# replacement, and the split is shared by four candidates; it is not about your tickets. Scores are
# exact because the policy is. A verifier that passes a wrong answer, or tickets unlike these,
# are outside what these numbers cover.

# %%
conclusions = {n: [d.conclusion.value for d in j.decisions] for n, j in story.judged.items()}
RESULT = {"conclusions": conclusions, "before": old.mean, "after": new.mean}
assert conclusions["repair"] == ["accept", "accept"]
assert conclusions["rule"][0] == "reject_harmful"
assert "accept" not in conclusions["rule"] + conclusions["rewording"] + conclusions["submit"]
assert (before, promoted.promoted, replayed.promoted, grab.promoted) == (0.0, True, False, False)
assert after > before
assert back.promoted
assert restored
assert again.promoted
assert report.intact
assert new.mean > old.mean
RESULT
