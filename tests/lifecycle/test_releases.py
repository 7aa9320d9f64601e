"""A kill at each step of a promotion leaves the old pack or the new one, never between."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from logoslab.lifecycle.lab import Lab
from logoslab.lifecycle.releases import RELEASE_STEPS
from logoslab.pack.approval import Approval
from logoslab.pack.decision import Decision
from logoslab.testing.clock import FixedClock
from logoslab.testing.models import ScriptedModel
from tests.lifecycle.make import PACK, Bench

KILLED = 77
ROOT = Path(__file__).parents[2]


def promote_and_die(folder, step):
    """Runs in a process of its own: promote, and die just before ``step``."""

    def fault(name):
        if armed and name == step:
            os._exit(KILLED)

    armed = []
    bench = Bench(Path(folder), fault=fault)
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    Path(folder, "candidate").write_text(candidate.pack.digest)
    approval = bench.approval(candidate, decisions)
    asked = {"decisions": decisions, "approval": approval}
    Path(folder, "asked.json").write_text(
        json.dumps(asked, default=lambda v: v.model_dump(mode="json"))
    )
    armed.append(True)
    bench.lab.promote(decisions, [approval])


def run_and_die(folder, step):
    """The promotion in a process of its own, which must have died where it was told to."""
    code = f"from {__name__} import promote_and_die; promote_and_die({str(folder)!r}, {step!r})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT)
    assert done.returncode == KILLED


@pytest.mark.parametrize("step", RELEASE_STEPS)
def test_a_kill_leaves_old_or_new(tmp_path, step):
    """After os._exit before any step: one of two packs is live, whole; the log closes itself."""
    run_and_die(tmp_path, step)
    lab = Lab(tmp_path / "lab", model=ScriptedModel([]))
    new = (tmp_path / "candidate").read_text()
    assert lab.live.digest in (PACK.digest, new)
    assert lab.audit.verify(strict=True).intact
    records = [r for r in lab.parts.audit.records() if r.detail.get("intent") is not None]
    last = records[-1]
    if step in ("archive", "intent"):
        assert last.act == "activate"
    elif lab.live.digest == new:
        assert (last.act, last.subject) == ("promote", new)
    else:
        assert (last.act, last.subject) == ("abandon", new)


def test_the_step_after_the_rename_is_already_new(tmp_path):
    """Before ``rename`` the old pack is live, after it the new one: the rename is the change."""
    for step, expected_new in (("rename", False), ("sync_folder", True)):
        folder = tmp_path / step
        folder.mkdir()
        run_and_die(folder, step)
        lab = Lab(folder / "lab", model=ScriptedModel([]))
        assert (lab.live.digest == (folder / "candidate").read_text()) is expected_new


def test_an_abandoned_promotion_can_be_done_again(tmp_path):
    """The next process promotes the same candidate with the same approval."""
    run_and_die(tmp_path, "rename")
    lab = Lab(tmp_path / "lab", model=ScriptedModel([]), clock=FixedClock())
    assert lab.live == PACK
    assert lab.parts.audit.records()[-1].act == "abandon"
    asked = json.loads((tmp_path / "asked.json").read_text())
    decisions = [Decision.model_validate(d) for d in asked["decisions"]]
    done = lab.promote(decisions, [Approval.model_validate(asked["approval"])])
    assert (done.promoted, done.reasons) == (True, ())
    assert lab.live.digest == (tmp_path / "candidate").read_text()
    assert lab.audit.verify(strict=True).intact


class Boom(Exception):
    """An exception in place of a kill."""


@pytest.mark.parametrize("step", RELEASE_STEPS)
def test_an_error_at_any_step_leaves_a_lab_that_works(tmp_path, step):
    """When a step raises, the lab opens again and the same promotion then succeeds or is done."""
    armed = []

    def fault(name):
        if armed and name == step:
            armed.clear()
            raise Boom

    bench = Bench(tmp_path, fault=fault)
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    approval = bench.approval(candidate, decisions)
    armed.append(True)
    with pytest.raises(Boom):
        bench.lab.promote(decisions, [approval])
    bench.lab.parts.releases.recover()
    if bench.lab.live == PACK:
        assert bench.lab.promote(decisions, [approval]).promoted
    assert bench.lab.live == candidate.pack
    assert bench.lab.audit.verify(strict=True).intact
