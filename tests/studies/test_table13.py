"""LOGOS table 13: the mechanism is the paper's; the numbers are computed, never copied."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from logoslab.errors import InvalidValue
from logoslab.studies.streams import CandidateStream
from logoslab.studies.table13 import (
    CLASS,
    CONDITIONS,
    FAMILIES,
    PAPER,
    SEEDS,
    UNSAFE,
    assumptions,
    decided,
    table13,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def ours():
    """Forty seeds of the table and of the robustness run: (run, condition, metric) → ours."""
    frame = table13(rng=np.random.default_rng(13), seeds={"T13": 40, "T13b": 40})
    return frame.set_index(["run", "condition", "metric"])


def test_the_papers_numbers_are_the_papers():
    """PAPER holds the rows T13 and T13b of the tables that were read from the paper."""
    path = (
        Path(os.environ.get("LOGOSLAB_SHARED", ROOT.parent / "shared"))
        / "targets"
        / "paper_tables.csv"
    )
    if not path.exists():
        pytest.skip(f"no paper tables at {path}; set LOGOSLAB_SHARED to their folder")
    with path.open(encoding="utf-8") as lines:
        rows = [r for r in csv.DictReader(lines) if (r["paper"], r["table"]) in KEYS]
    said = {(r["table"], r["condition"], r["metric"]): float(r["value"]) for r in rows}
    held = {
        (run, condition, metric): value
        for run, conditions in PAPER.items()
        for condition, metrics in conditions.items()
        for metric, value in metrics.items()
    }
    assert held == said


KEYS = {("LOGOS", run) for run in PAPER}


def test_no_gate_is_arithmetic(ours):
    """Everything is adopted: .2 beneficial, .2 neutral, .6 harmful, whatever the draws.

    Expected utility .2 · (.25 + 0 + (−.2 − .25) + (.05 − .15) + (.15 − .25)) = −.08.
    """
    row = ours.loc["T13"].loc["no_gate"]["ours"]
    assert row.drop("net_utility").to_dict() == pytest.approx(
        {"adopt": 1.0, "beneficial": 0.2, "neutral": 0.2, "harmful": 0.6}
    )
    pm = ours.loc[("T13", "no_gate", "net_utility"), "ours_pm"]
    assert abs(row["net_utility"] + 0.08) < 2 * pm


@pytest.mark.parametrize("run", PAPER)
def test_the_mechanism_is_the_papers(ours, run):
    """No gate adopts all; the proxy keeps out one harmful family of three; evidence all three.

    Net utility rises from no gate over the proxy to the two evidence gates, as in the paper.
    """
    found = ours.loc[run]["ours"].unstack()
    assert found["harmful"].to_dict() == pytest.approx(
        {"no_gate": 0.6, "proxy": 0.4, "paired": 0.0, "anytime_valid": 0.0}, abs=0.006
    )
    assert found.loc["paired", "beneficial"] == pytest.approx(0.2)
    assert found.loc["anytime_valid", "beneficial"] > 0.19
    utility = found["net_utility"]
    assert utility["no_gate"] < 0 < utility["proxy"] < utility["paired"]
    assert utility["anytime_valid"] == pytest.approx(utility["paired"], abs=0.005)


def test_rows_show_both_and_the_difference(ours):
    """Differences are ours − paper; what the paper does not report is missing, never 0."""
    said = ours.dropna(subset=["paper"])
    assert len(said) == 20 + 8
    assert (said["difference"] == said["ours"] - said["paper"]).all()
    silent = ours[ours["paper"].isna()]
    assert silent["difference"].isna().all()
    assert {metric for _, _, metric in silent.index} == {"adopt", "beneficial", "neutral"}


def test_safety_metadata_decides_the_safety_trade_off():
    """It fixes tasks and breaks none, so only the veto on its previewed effect keeps it out."""
    stream = CandidateStream(families=FAMILIES, candidates=50, noise=0.0, proxy_noise=0.02)
    frame = decided(stream, 3, 0, 50)
    unsafe = frame[frame["family"] == UNSAFE].groupby("rule")
    assert (unsafe["gain"].min() > 0).all()
    assert (unsafe["regressed"].max() == 0).all()
    adopted = unsafe["accepted"].mean().to_dict()
    assert adopted == {"no_gate": 1.0, "proxy": 1.0, "paired": 0.0, "anytime_valid": 0.0}


def test_five_families_of_equal_share():
    """One decision of each family and seed, 2,500 and 5,000 in all."""
    assert {f.name for f in FAMILIES} == set(CLASS)
    assert [f.weight for f in FAMILIES] == [1] * 5
    assert {run: 5 * n for run, n in SEEDS.items()} == {"T13": 2_500, "T13b": 5_000}
    assert set(PAPER["T13"]) == set(CONDITIONS)


def test_other_prices_move_net_utility_alone():
    """At no price for harm the unsafe and regressing families are worth their mean gain."""
    free = table13(
        rng=np.random.default_rng(1), seeds={"T13": 20}, harm_price=0.0, safety_price=0.0
    ).set_index(["condition", "metric"])
    priced = table13(rng=np.random.default_rng(1), seeds={"T13": 20})
    priced = priced.set_index(["condition", "metric"])
    worth = free.loc[("proxy", "net_utility"), "ours"]
    assert worth == pytest.approx(0.2 * (0.25 + 0.05 + 0.15), abs=0.02)
    rest = [key for key in free.index if key[1] != "net_utility"]
    pd.testing.assert_frame_equal(free.loc[rest], priced.loc[rest])


def test_what_is_filled_in_is_listed():
    """Every open point of the paper has a choice and a ground."""
    frame = assumptions()
    assert len(frame) >= 10
    assert frame.map(bool).all(axis=None)


def test_an_unknown_run_is_named():
    """There are two runs, and a spread needs two seeds."""
    with pytest.raises(InvalidValue) as caught:
        table13(rng=np.random.default_rng(1), seeds={"T14": 5})
    assert str(caught.value) == (
        "seeds of table 13: allowed T13 or T13b, with at least 2 seeds; got T14: 5. Choose a run "
        "of the paper and its number of seeds."
    )
