"""The demo: the promised decisions, every file, no secret anywhere, and what it refuses."""

import asyncio
import json
import os

import pytest

from logoslab.demo import load_domain, run_demo
from logoslab.demo.main import MARK
from logoslab.errors import InvalidValue, ModelUnavailable, SourceError
from logoslab.lifecycle.lab import Lab
from logoslab.run.models.weights import find_default_weights
from logoslab.testing.models import ScriptedModel
from tests.browser.chromium import figure_suffixes
from tests.demo.make import copying_model

CANARY = "sk-canary-0123456789abcdefABCDEF"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """One run with a scripted model and a canary key in the environment."""
    out = tmp_path_factory.mktemp("demo") / "out"
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "LOGOSLAB_TEST_TOKEN")
    before = {key: os.environ.get(key) for key in keys}
    os.environ.update(dict.fromkeys(keys, CANARY))
    lines = []
    try:
        model = copying_model()
        facts = asyncio.run(run_demo(out, model=model, progress=False, say=lines.append))
    finally:
        for key, value in before.items():
            os.environ.pop(key) if value is None else os.environ.update({key: value})
    return out, facts, lines


def conclusions(facts, name):
    return {rule: d["conclusion"] for rule, d in facts["candidates"][name]["decisions"].items()}


def check_promises(facts):
    """Helped accepted, harmful rejected, neutral not accepted, violating refused, with numbers."""
    assert conclusions(facts, "repair") == {"paired": "accept", "anytime": "accept"}
    assert conclusions(facts, "rule") == {"paired": "reject_harmful", "anytime": "reject_harmful"}
    for name in ("rewording", "submit"):
        assert "accept" not in conclusions(facts, name).values()
    acts = facts["promotions"]
    assert {name: act["promoted"] for name, act in acts.items()} == {
        "repair_unsigned": False,
        "repair": True,
        "rollback": True,
        "rule": False,
        "rewording": False,
        "submit": False,
        "repair_again": True,
    }
    assert any(r.startswith("new permissions: authority:submit_exception")
               for r in acts["submit"]["reasons"])  # fmt: skip
    for name in ("rule", "rewording"):
        assert any("other candidate: signed for" in r for r in acts[name]["reasons"])
    assert facts["rollback_restored_first"]
    assert facts["operate"]["tasks"] >= 60
    assert facts["drift"]["failed"] > 0
    assert facts["proxy_of_rule"]["after"] > facts["proxy_of_rule"]["before"]
    assert facts["report_split"]["after"] > facts["report_split"]["before"] + 0.2
    assert facts["audit"]["intact"]


def test_the_promised_decisions(finished):
    """Every decision and release act comes out as the story needs it, from what was measured."""
    check_promises(finished[1])


def test_every_file_is_there_and_says_the_same(finished):
    """Report, figures as PNG and SVG, lab, summary; the summary is what was returned."""
    out, facts, _ = finished
    assert json.loads((out / "summary.json").read_text()) == json.loads(json.dumps(facts))
    stems = {p.stem for p in (out / "figures").iterdir()}
    assert {p.suffix for p in (out / "figures").iterdir()} == figure_suffixes()
    assert stems >= {"pack_graph", "cascade", "wealth_repair", "paired_rule"}
    report = (out / "report.html").read_text("utf-8")
    for name in facts["candidates"]:
        assert facts["candidates"][name]["title"] in report
    assert 'src="http' not in report


def test_the_numbers_are_printed(finished):
    """Each candidate has a line a gate with its conclusion and reason."""
    _, facts, lines = finished
    for name, candidate in facts["candidates"].items():
        for rule, decision in candidate["decisions"].items():
            assert any(
                line.split()[:3] == [name, rule, f"{decision['conclusion']}:"]
                and decision["reason"] in line
                for line in lines
            )


def test_a_secret_in_the_environment_reaches_no_file(finished):
    """A canary in three variables is in no byte of the lab, the report or the figures."""
    out, _, _ = finished
    paths = [p for p in out.rglob("*") if p.is_file()]
    assert len(paths) > 50
    assert [p.name for p in paths if CANARY.encode() in p.read_bytes()] == []


def test_no_private_key_is_in_the_lab(finished):
    """The lab holds public keys only."""
    out, _, _ = finished
    assert [p.suffix for p in (out / "lab/keys").iterdir() if p.is_file()
            and p.suffix != ".lock"] == [".pub"]  # fmt: skip
    assert not [p for p in out.rglob("*") if p.is_file() and b"PRIVATE KEY" in p.read_bytes()]


def test_the_lab_opens_again_and_verifies(finished):
    """The folder is a lab like any other afterwards."""
    out, facts, _ = finished
    lab = Lab(out / "lab", model=ScriptedModel([]))
    assert lab.audit.verify(strict=True).intact
    assert lab.live.digest == facts["promotions"]["repair_again"]["live"]
    kinds = lab.sql("SELECT DISTINCT kind FROM events").kind
    assert set(kinds) >= {"task", "plan", "action", "observation", "route", "verdict", "outcome",
                          "cost", "effect", "human"}  # fmt: skip


def test_another_folder_is_left_alone(tmp_path):
    """A folder with other things in it is refused, whole."""
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidValue, match=r"got a folder that holds thesis\.txt"):
        asyncio.run(run_demo(tmp_path, model=copying_model()))
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.txt"]


def test_something_added_to_an_old_demo_is_not_removed(tmp_path):
    """Notes that somebody put beside an earlier demo's results stop the next one."""
    (tmp_path / MARK).touch()
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidValue, match=r"got a folder that holds notes\.txt"):
        asyncio.run(run_demo(tmp_path, model=copying_model()))
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize(
    ("options", "error"),
    [({"model": "gone.gguf"}, ModelUnavailable), ({"model": "no-such"}, InvalidValue),
     ({"data": "nowhere"}, SourceError)],
)  # fmt: skip
def test_a_demo_that_cannot_begin_leaves_the_earlier_one(tmp_path, options, error):
    """A wrong model or data folder is found before the signed lab of an earlier demo goes."""
    (tmp_path / MARK).touch()
    (tmp_path / "report.html").write_text("mine")
    with pytest.raises(error):
        asyncio.run(run_demo(tmp_path, progress=False, **options))
    assert (tmp_path / "report.html").read_text() == "mine"


def test_missing_data_is_a_typed_error(tmp_path):
    """Another data folder without tickets says what is expected."""
    with pytest.raises(SourceError, match=r"got no tickets\.csv in "):
        load_domain(tmp_path)


@pytest.mark.model
@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_demo_with_the_embedded_model(tmp_path):
    """The same promises hold with the real embedded model, called live."""
    assert find_default_weights(), "run `logoslab models install` first"
    facts = asyncio.run(run_demo(tmp_path / "out", progress=False, say=lambda _: None))
    check_promises(facts)
    lab = Lab(tmp_path / "out/lab", model=ScriptedModel([]))
    live = lab.sql("SELECT count(*) AS n FROM events WHERE kind = 'cost' AND "
                   "payload->>'$.replayed' = 'false'").n[0]  # fmt: skip
    assert live > 500


def test_without_a_model_the_demo_stops_with_what_to_do(tmp_path):
    """No weights: one typed error from the first model call, no report, and the lab still opens."""
    absent = ModelUnavailable("m", got="no weights", allowed="weights", next_step="Install them.")
    out = tmp_path / "out"
    with pytest.raises(ModelUnavailable, match=r"Install them\."):
        asyncio.run(run_demo(out, model=ScriptedModel(lambda _: absent), progress=False))
    assert not (out / "report.html").exists()
    assert Lab(out / "lab", model=ScriptedModel([])).audit.verify(strict=True).intact
