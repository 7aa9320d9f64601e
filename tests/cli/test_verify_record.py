"""``logoslab verify record.json``: a third party's check, its exit codes and its words."""

import json

import pytest

from logoslab.gate import PairedGate
from logoslab.interop.intoto import write_record
from tests.gate.make import evidence
from tests.test_cli import logoslab


@pytest.fixture
def record(tmp_path):
    """A decision on two result files, written down."""
    base = evidence([0, 0, 1], [1, 1, 1])
    write_record(PairedGate().decide(base), base, tmp_path / "record.json", at=1.0)
    return tmp_path / "record.json"


def test_a_record_that_holds_exits_with_zero(record):
    """Every check is printed, then what was decided."""
    done = logoslab("verify", record)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "holds  seal: as recomputed"
    assert "holds  conclusion: as recomputed" in lines
    assert "holds  statement test-result: as recomputed" in lines
    assert lines[-1] == "record holds: paired accept: candidate"


def test_a_changed_trial_exits_with_one_and_is_named(record):
    """The value of one trial was changed: evidence digest, conclusion and numbers speak."""
    bundle = json.loads(record.read_text())
    bundle["evidence"]["trials"][-1]["value"] = 0.0
    record.write_text(json.dumps(bundle))
    done = logoslab("verify", record)
    assert done.returncode == 1
    said = [line for line in done.stdout.splitlines() if line.startswith("FAILS")]
    assert said[0].startswith("FAILS  seal: ")
    assert done.stdout.splitlines()[-1].startswith("record DOES NOT HOLD, though it says: paired")
    assert "FAILS  conclusion: the record says accept, recomputed reject_harmful" in said
    assert any(line.startswith("FAILS  evidence digest: ") for line in said)
    assert any("numbers: " in line for line in said)


def test_a_rule_from_elsewhere_exits_with_one(record):
    """It cannot be recomputed, and that is said."""
    bundle = json.loads(record.read_text())
    bundle["decision"]["rule"] = "house_rule"
    record.write_text(json.dumps(bundle))
    done = logoslab("verify", record)
    assert done.returncode == 1
    assert "FAILS  decision: cannot recompute: admission rule: " in done.stdout


@pytest.mark.parametrize("content", ["", "[]", '{"kind": "other"}'])
def test_a_file_that_is_no_record_exits_with_three(tmp_path, content):
    """Unreadable is neither yes nor no; one line, no traceback."""
    path = tmp_path / "some.json"
    path.write_text(content)
    done = logoslab("verify", path)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "decision record some.json: allowed a JSON file" in done.stderr
    assert "Traceback" not in done.stderr


def test_neither_a_lab_nor_a_file_exits_with_three(tmp_path):
    """A path that is not there is no lab, and nothing is made by a typo."""
    done = logoslab("verify", tmp_path / "nowhere")
    assert done.returncode == 3
    assert "nowhere, which is not there" in done.stderr
    assert not (tmp_path / "nowhere").exists()
