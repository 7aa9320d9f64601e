"""The command line: it does what it says, and a mistake is one line, not a traceback."""

import os
import subprocess
import sys

import pytest

from logoslab.lifecycle.lab import Lab
from tests.lifecycle.make import Bench


def logoslab(*arguments, cwd=None, **env):
    """Run the command in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", "from logoslab.cli import main; main()", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, **env, "COLUMNS": "200"},
    )


@pytest.fixture
def bench(tmp_path):
    bench = Bench(tmp_path)
    candidate = bench.candidate()
    bench.lab.request_approval(candidate, bench.decisions(candidate))
    bench.lab.parts.traces.flush()
    return bench


def test_lab_sql_and_verify(bench):
    """A lab is shown, queried and verified."""
    shown = logoslab("lab", bench.lab.path)
    assert "live      small v1 sha256:" in shown.stdout
    assert "low risk: add 'Be brief.\\n'" in shown.stdout
    assert (
        "events" in logoslab("sql", bench.lab.path, "SELECT count(*) AS events FROM events").stdout
    )
    done = logoslab("verify", bench.lab.path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("audit intact: ")


def test_verify_finds_a_changed_record(bench):
    """One changed byte in the log: not intact, the line is named, exit code 1."""
    log = bench.lab.path / "audit.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"propose"', b'"prepose"', 1))
    done = logoslab("verify", bench.lab.path)
    assert done.returncode == 1
    assert "NOT INTACT" in done.stdout
    assert done.stderr.startswith("line ")


def test_approve_shows_then_signs(bench, tmp_path):
    """Without an id it shows the diff; with an id and a reason it signs with the person's key."""
    config = str(tmp_path / "config")
    shown = logoslab("approve", bench.lab.path)
    assert "+Be brief." in shown.stdout
    (item,) = bench.lab.queue.pending()
    done = logoslab("approve", bench.lab.path, item.change.id, "--key", "owner",
                    "--reason", "fine", LOGOSLAB_CONFIG=config)  # fmt: skip
    assert done.stdout == f"signed as release_owner with key {bench.key.id}\n", done.stderr
    ruling = Lab(bench.lab.path, model="embedded").queue.get(item.change.id).ruling
    assert (ruling.act, ruling.reason) == ("approve", "fine")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("gate", "no-such.csv", "other.csv"), "error: result file no-such.csv: "),
        (("gate", "mine.txt", "mine.txt"), "error: result file mine.txt (old): "),
        (("sql", "nowhere", "SELECT 1"), "error: lab nowhere: allowed a lab folder; got no root_"),
        (("verify", "nowhere"), "error: path: allowed a lab folder, or the file of a decision"),
        (("approve", "nowhere"), "error: lab nowhere: "),
        (("models", "add", "no-such.gguf"), "error: GGUF file: "),
        (("models", "test", "nonsense"), "error: model: "),
        (("demo", "--out", "."), "error: demo --out: "),
        (("keys", "new", "../up"), "error: key name: "),
    ],
)
def test_a_mistake_is_one_line(tmp_path, arguments, message):
    """Exit code 3, one line on stderr that begins with what was wrong, no traceback."""
    (tmp_path / "mine.txt").touch()
    done = logoslab(*arguments, cwd=tmp_path, LOGOSLAB_CONFIG=str(tmp_path / "config"))
    assert done.returncode == 3
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_refused_query_is_a_mistake_too(bench):
    """SQL that writes is refused with the same manners."""
    done = logoslab("sql", bench.lab.path, "DROP TABLE events")
    assert done.returncode == 3
    assert "Traceback" not in done.stderr


def test_an_unknown_proposal_is_a_mistake(bench):
    """Showing or signing what is not in the queue says so."""
    done = logoslab("approve", bench.lab.path, "no-such-id")
    assert done.returncode == 3
    assert done.stderr.startswith("error: proposal no-such-id: ")


def test_a_key_is_made_and_known(bench, tmp_path):
    """keys new prints what keys add takes; nonsense is refused."""
    made = logoslab("keys", "new", "second", LOGOSLAB_CONFIG=str(tmp_path / "config"))
    public = made.stdout.split()[-1]
    added = logoslab("keys", "add", bench.lab.path, public)
    assert added.stdout.split()[-1] in made.stdout
    assert logoslab("keys", "add", bench.lab.path, "xyz").stderr.startswith("error: public key: ")


def test_models_are_listed():
    """The embedded model is always named, installed or not."""
    assert logoslab("models", "list").stdout.startswith("embedded")
