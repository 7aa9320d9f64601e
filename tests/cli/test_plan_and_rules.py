"""logoslab plan and logoslab rules: they answer with words, JSON and an exit code."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from logoslab.gate.registry import all_rules

ASKED = ("plan", "--rule", "mcnemar", "--price", "0.02", "--level", "0.05")
EASY = (*ASKED, "--effect", "0.3", "--discordance", "0.4", "--n", "20", "--n", "60")
HARD = (*ASKED, "--effect", "0.05", "--discordance", "0.2", "--n", "50")


def logoslab(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from logoslab.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
    )


def test_a_design_that_meets_exits_with_zero() -> None:
    """A table with one line a design, then the recommendation."""
    done = logoslab(*EASY)
    assert done.returncode == 0, done.stderr
    head, *designs, legend, said = done.stdout.splitlines()
    assert head.split()[:3] == ["rule", "n", "runs"]
    assert [line.split()[:2] for line in designs] == [["mcnemar", "20"], ["mcnemar", "60"]]
    assert legend.startswith("false adoption: accepted without any effect. power: ")
    assert said.startswith("Take mcnemar on 60 tasks")


def test_no_design_exits_with_one_and_says_what_would() -> None:
    """493 tasks by the normal approximation, as in the planner's own test."""
    done = logoslab(*HARD)
    assert done.returncode == 1
    assert "needs 493 tasks" in done.stdout


def test_json_is_one_object_with_the_same_answer() -> None:
    """One object on stdout; both designs, the recommended one again, and the question."""
    done = logoslab(*EASY, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [row["n"] for row in found["designs"]] == [20, 60]
    assert found["recommended"] == found["designs"][1]
    assert found["question"]["discordance"] == 0.4
    assert found["not_planned"] == {}
    assert found["recommended"]["harm_adoption"] is None


def test_every_rule_is_planned_or_listed_by_default() -> None:
    """Without --rule each rule is a line of the table or named with what it needs."""
    done = logoslab("plan", "--effect", "0.3", "--discordance", "0.4", "--n", "20",
                    "--simulations", "20", "--json")  # fmt: skip
    found = json.loads(done.stdout)
    planned = {row["rule"] for row in found["designs"]} | set(found["not_planned"])
    assert planned == set(all_rules())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("--discordance", "0.01"), "error: effect: allowed at most the discordance 0.01 in size"),
        (("--noise", "0.2"), "error: discordance and noise: allowed exactly one of them"),
        (("--rule", "nonsense"), "error: admission rule: "),
        (("--n", "1"), "error: n: "),
        (("--rho-max", "2"), "error: anytime rho_max: "),
    ],
)
def test_bad_input_exits_with_three(change: tuple[str, str], message: str) -> None:
    """One line on stderr, no traceback."""
    done = logoslab(*HARD, "--rule", "anytime", *change)
    assert done.returncode == 3
    assert done.stderr.startswith(message)
    assert len(done.stderr.strip().splitlines()) == 1


def test_rules_are_listed_with_needs_parameters_and_source() -> None:
    """Every rule of the registry, in words and as JSON."""
    words = logoslab("rules").stdout
    listed = json.loads(logoslab("rules", "--json").stdout)
    assert [row["rule"] for row in listed] == list(all_rules())
    assert set(listed[0]) >= {"rule", "needs", "parameters", "source", "claim"}
    for row in listed:
        assert f"{row['rule']}\n" in words
        assert f"source      {row['source']}" in words
        for parameter in row["parameters"]:
            assert f"parameter   {parameter}" in words
