"""``logoslab gate``: what it prints, what it answers a script, what it refuses."""

import json

import pytest

from tests.test_cli import logoslab

ROWS = 60


def written(folder, name, scores, header="task,score"):
    path = folder / name
    path.write_text(f"{header}\n" + "".join(f"t{i},{s}\n" for i, s in enumerate(scores)))
    return path


@pytest.fixture
def fixed(tmp_path):
    """60 tasks that failed and all pass now."""
    return written(tmp_path, "old.csv", [0] * ROWS), written(tmp_path, "new.csv", [1] * ROWS)


def test_two_result_files_and_one_question(fixed):
    """60 tasks fixed and none broken: both rules accept, exit code 0, and every fact has a line."""
    done = logoslab("gate", *fixed, "--sampling", "iid")
    assert done.returncode == 0, done.stderr
    lines = dict(line.split(maxsplit=1) for line in done.stdout.splitlines() if line[0] != " ")
    read = "CSV, 60 tasks; task from 'task' (guessed), score from 'score' (guessed)"
    assert lines["old"] == f"old.csv: {read}"
    assert lines["new"] == f"new.csv: {read}"
    assert lines["tasks"] == "60: 60 fixed, 0 broken, 0 the same"
    assert lines["score"].startswith("0.0000 → 1.0000, difference +1.0000, 0.95 interval [")
    assert (lines["cost"], lines["latency"]) == ("unknown", "unknown")
    assert lines["paired"].startswith("accept: ")
    assert lines["anytime"].startswith("accept: ")
    assert lines["decision"] == "accept"


@pytest.mark.parametrize(
    ("old", "new", "options", "code"),
    [
        ([0, 0], [1, 1], ("--rule", "paired"), 0),
        ([1, 1], [1, 0], ("--rule", "paired"), 1),
        ([1, 1, 0, 0], [1, 0, 1, 1], ("--rule", "paired", "--r-max", "1"), 0),
        ([0, 0], [1, 1], (), 2),  # the anytime gate runs out of tasks
        ([0.5, 0.5], [0.9, 0.9], ("--rule", "paired"), 2),  # not applicable without delta_min
        ([0.5, 0.5], [0.9, 0.9], ("--rule", "paired", "--delta-min", "0.1"), 0),
    ],
)
def test_the_exit_code_answers_a_script(tmp_path, old, new, options, code):
    """0 accept, 1 reject, 2 undecided or not applicable."""
    files = written(tmp_path, "old.csv", old), written(tmp_path, "new.csv", new)
    done = logoslab("gate", *files, *options)
    assert done.returncode == code, done.stdout + done.stderr
    assert done.stderr == ""


def test_slices_cost_latency_and_notes(tmp_path):
    """Named columns are read, worse slices listed with n and interval, odd tasks noted."""
    old = tmp_path / "old.csv"
    old.write_text("q,f1,area,usd,s\na,1,x,1,2\nb,1,x,1,2\nc,0,y,1,2\nd,0,y,1,2\ngone,1,y,1,2\n")
    new = tmp_path / "new.csv"
    new.write_text("q,f1,area,usd,s\na,0,x,2,1\nb,1,x,2,1\nc,1,y,2,1\nd,1,y,2,1\nextra,1,y,2,1\n")
    options = ("--task", "q", "--score", "f1", "--slice", "area", "--cost", "usd", "--latency", "s")
    done = logoslab("gate", old, new, *options)
    assert "note      1 task(s) only in old.csv count as failures of the new agent: gone\n" in (
        done.stdout
    )
    assert "slices    1 of 2 got worse; intervals hold for all slices at once" in done.stdout
    assert "x: -0.5000, 2 tasks, 0 fixed, 1 broken, 0.975 interval [" in done.stdout
    assert "cost      1 → 2 a task, ×2.00" in done.stdout
    assert "on the 4 of 5 tasks measured" in done.stdout
    assert "latency   2 → 1 a task, ×0.50" in done.stdout
    assert "broken    a, gone\n" in done.stdout
    assert "(guessed)" not in done.stdout


def test_json_is_one_object(fixed):
    """``--json`` prints one line that says the same as the exit code."""
    done = logoslab("gate", *fixed, "--json", "--rule", "paired")
    (line,) = done.stdout.splitlines()
    found = json.loads(line)
    assert (done.returncode, found["decision"], found["rule"]) == (0, "accept", "paired")
    assert (found["n"], found["fixed"], found["broken"]) == (ROWS, ROWS, 0)
    assert found["mean_difference"] == 1.0
    assert len(found["interval"]) == 2
    assert found["reasons"] == [f"paired accept: {found['decisions'][0]['reason']}"]
    assert found["old"]["guessed"] == ["task", "score"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("no-such.csv", "r.csv"), "result file no-such.csv: "),
        (("r.csv", "empty.csv"), "result file empty.csv: "),
        (("r.csv", "percent.csv"), "scores of r.csv and percent.csv: allowed one scale"),
        (("r.csv", "other.csv"), "r.csv and other.csv: allowed two sets of results on the same"),
        (("r.csv", "r.csv", "--slice", "repo"), "slice column of r.csv (old): allowed one of "),
        (("r.csv", "r.csv", "--alpha", "2"), "alpha: allowed a number > 0 and < 1; got 2.0"),
        (("r.csv", "r.csv", "--alpha", "x"), "Invalid value for '--alpha'"),
        (("r.csv", "r.csv", "--rule", "luck"), "admission rule: allowed "),
        (("r.csv", "r.csv", "--sampling", "luck"), "sampling: allowed "),
        (("r.csv", "r.csv", "--nonsense"), "No such option: --nonsense"),
        (("r.csv",), "Missing argument 'new'"),
        (("r.csv", "claim.json"), "headline of claim.json: allowed a headline that its own"),
    ],
)
def test_bad_input_is_three(tmp_path, arguments, message):
    """Files, parameters and usage: exit code 3, one line on stderr; with --json one object too."""
    written(tmp_path, "r.csv", [1, 0, 1])
    written(tmp_path, "percent.csv", [80, 55, 90])
    (tmp_path / "other.csv").write_text("task,score\nz,1\n")
    (tmp_path / "empty.csv").touch()
    details = {f"t{i}": {"resolved": i == 0} for i in range(3)}
    claim = {"resolved": 90.0, "per_instance_details": details}
    (tmp_path / "claim.json").write_text(json.dumps(claim))
    done = logoslab("gate", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(f"error: {message}")
    assert len(done.stderr.strip().splitlines()) == 1
    told = logoslab("gate", *arguments, "--json", cwd=tmp_path)
    assert told.returncode == 3
    assert json.loads(told.stdout)["error"].startswith(message)


def test_a_contradicted_headline_is_judged_only_on_request(tmp_path):
    """--ignore-headline turns the refusal into a note with both numbers."""
    old = written(tmp_path, "r.csv", [1, 0, 0])
    details = {"t0": True, "t1": True, "t2": False}
    claim = {"resolved": 90.0, "per_instance_details": details}
    (tmp_path / "claim.json").write_text(json.dumps(claim))
    done = logoslab("gate", old, tmp_path / "claim.json", "--ignore-headline", "--rule", "paired")
    assert done.returncode == 0, done.stderr
    assert "headline 0.9000 (resolved), details 0.6667 over 3 tasks: they differ" in done.stdout


def test_a_dossier_is_one_offline_file(fixed, tmp_path):
    """--dossier writes it beside the answer; it loads nothing from elsewhere."""
    page = tmp_path / "out" / "dossier.html"
    done = logoslab("gate", *fixed, "--dossier", page)
    assert done.stdout.endswith(f"dossier   {page}\n")
    text = page.read_text("utf-8")
    assert "<h1>May new.csv replace old.csv?</h1>" in text
    assert not [part for part in ("<script src", "<link", "@import") if part in text]
