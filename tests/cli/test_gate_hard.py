"""``logoslab gate`` as a script and a stranger meet it: one line, one object, no file harmed."""

import json
import subprocess
import sys

import pytest

from logoslab import __version__
from tests.test_cli import logoslab

FIELDS = ("decision", "rule", "n", "fixed", "broken", "mean_difference", "interval", "reasons")


@pytest.fixture
def files(tmp_path):
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("task,score\na,0\nb,0\n")
    new.write_text("task,score\na,1\nb,1\n")
    return old, new


@pytest.mark.parametrize("arguments", [("gone.csv",), ("--alpha", "x"), ()])
def test_bad_input_has_the_fields_of_an_answer(files, arguments):
    """With --json an error has every promised field: no decision, the error as its reason."""
    done = logoslab("gate", files[0], *arguments, "--json")
    found = json.loads(done.stdout)
    assert done.returncode == 3
    assert {name: found[name] for name in FIELDS[:-1]} == dict.fromkeys(FIELDS[:-1])
    assert found["reasons"] == [found["error"]]


@pytest.mark.parametrize("target", ["old.csv", "new.csv", "."])
def test_a_dossier_takes_no_place_that_is_taken(files, target):
    """A dossier on one of the result files, or on a folder, is refused; nothing is written."""
    folder = files[0].parent
    before = {path: path.read_bytes() for path in files}
    done = logoslab("gate", *files, "--dossier", folder / target)
    assert done.returncode == 3
    assert done.stderr.startswith("error: dossier: allowed ")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert not folder.with_name(f"{folder.name}.tmp").exists()


def test_gate_writes_a_record_that_verify_accepts(files):
    """--record keeps the decision of one rule; two rules, or the dossier's path, are refused."""
    record = files[0].with_name("record.json")
    done = logoslab("gate", *files, "--rule", "mcnemar", "--record", record)
    assert done.stdout.endswith(f"record    {record}\n")
    checked = logoslab("verify", record)
    assert checked.returncode == 0
    assert "record holds: mcnemar " in checked.stdout
    both = logoslab("gate", *files, "--record", record.with_name("two.json"))
    assert both.stderr.startswith("error: record: allowed the decision of one rule; got 2 rules")
    one = ("--rule", "mcnemar", "--record", files[0].with_name("x"), "--dossier")
    same = logoslab("gate", *files, *one, files[0].with_name("x"))
    assert same.stderr.startswith("error: record: allowed the path of a file of its own; got x, w")
    assert not files[0].with_name("x").exists()


def test_a_loss_is_judged_in_the_direction_that_is_said(files):
    """Loss 1 → 0 on every task: refused unsaid, accepted when lower is better."""
    old, new = files
    rows = range(60)
    for file, value in ((old, 1), (new, 0)):
        file.write_text("task,loss\n" + "".join(f"{i},{value}\n" for i in rows))
    asked = ("gate", old, new, "--score", "loss", "--rule", "mean_improves")
    unsaid = logoslab(*asked)
    assert unsaid.returncode == 3
    assert "allowed --lower-is-better or --higher-is-better" in unsaid.stderr
    assert logoslab(*asked, "--lower-is-better").returncode == 0
    assert logoslab(*asked, "--higher-is-better").returncode == 1


def test_the_version_is_printed():
    """The version of the package, exit code 0."""
    done = logoslab("--version")
    assert (done.returncode, done.stdout) == (0, f"logoslab {__version__}\n")


def test_names_from_files_steer_no_terminal(files):
    """An escape sequence in a task or a column name is printed as text, on one line."""
    old, new = files
    old.write_text('task,score\n"a\x1b[2J\nb",1\n')
    new.write_text('task,score\n"a\x1b[2J\nb",0\n')
    told = logoslab("gate", old, new)
    assert "broken    a\\x1b[2J b\n" in told.stdout
    new.write_text('"na\x1b[2J\nme",x\na,1\n')
    refused = logoslab("gate", old, new)
    assert "\x1b" not in told.stdout + refused.stderr
    assert len(refused.stderr.splitlines()) == 1


def test_an_old_terminal_gets_its_answer_too(files):
    """Latin-1 has no arrow: it is spelled out, and the exit code is still the verdict."""
    done = logoslab("gate", *files, "--rule", "paired", PYTHONIOENCODING="latin-1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.0000 \\u2192 1.0000" in done.stdout


def test_a_fault_of_our_own_is_no_verdict(files):
    """An exception that nobody expected ends with 70, never with 1, which means reject."""
    code = "import logoslab.lifecycle.compare as c; c.compare = lambda *a, **k: 1 / 0\n"
    code += "from logoslab.cli import main; main()"
    command = [sys.executable, "-c", code, "gate", *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 70
    assert "ZeroDivisionError" in done.stderr
