"""Hypothesis strategies for logoslab's values."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from logoslab.pack.agent_pack import AgentPack, build_pack
from logoslab.pack.evidence import Evidence, evidence_from_scores
from logoslab.pack.genome import Genome
from logoslab.pack.patch import Append, Delete, InsertAfter, Patch, Replace

_keys = st.text("abcd", min_size=1, max_size=2)
_leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["x", "y"])
_axis = st.dictionaries(
    _keys, st.recursive(_leaves, lambda inner: st.dictionaries(_keys, inner, max_size=2))
)

names = st.text("abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\r"), max_size=80)


def genomes() -> st.SearchStrategy[Genome]:
    """Genomes with two small nested axes (all eight merge by the same code), often colliding."""
    return st.builds(Genome, route=_axis, safety=_axis)


@st.composite
def packs(draw: st.DrawFn) -> AgentPack:
    """Small valid packs with free text files."""
    files = {f"agents/{n}.md": t for n, t in draw(st.dictionaries(names, texts)).items()}
    files |= {f"sources/{n}.txt": t for n, t in draw(st.dictionaries(names, texts)).items()}
    files |= {
        "genome.json": json.dumps(draw(genomes()).model_dump()),
        "execution_plan.json": '{"phases": []}',
        "verifiers.json": "[]",
        "probes.json": "[]",
    }
    return build_pack(draw(names), files)


@st.composite
def text_patches(draw: st.DrawFn, pack: AgentPack) -> Patch:
    """Patches whose anchors are real substrings of the pack's files (unique or not)."""
    path = draw(st.sampled_from(sorted(pack.files)))
    body = pack.files[path]
    start = draw(st.integers(0, max(0, len(body) - 1)))
    anchor = body[start : start + draw(st.integers(1, 20))] or "absent"
    text = draw(texts)
    edit = draw(
        st.sampled_from(
            [
                Append(path=path, text=text),
                InsertAfter(path=path, anchor=anchor, text=text),
                Replace(path=path, anchor=anchor, text=text),
                Delete(path=path, anchor=anchor),
            ]
        )
    )
    return Patch(title="drawn", base=pack.digest, proposer="strategy", edits=(edit,))


@st.composite
def paired_evidence(draw: st.DrawFn, min_size: int = 1, max_size: int = 40) -> Evidence:
    """Paired binary or fractional scores, now and then with a missing candidate result."""
    n = draw(st.integers(min_size, max_size))
    score = st.sampled_from([0.0, 0.5, 1.0])
    base = {f"t{i:03d}": draw(score) for i in range(n)}
    cand = {task: draw(score | st.none()) for task in base}
    return evidence_from_scores(base, cand, sampling="iid")
