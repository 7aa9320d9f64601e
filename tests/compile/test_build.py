"""build is total: a validated pack or a diagnosis, whatever the sources are."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from logoslab.compile import DiagnosticPack, PackTools, ProbeValidatedPack, build
from logoslab.errors import PackError
from logoslab.pack.agent_pack import load_pack
from logoslab.pack.run import Blueprint
from tests.compile.make import API, DEMO, SOURCES, built, codes, demo, run


class Designer:
    """Gives what a test tells it to."""

    def __init__(self, outcome):
        self.outcome = outcome

    async def design(self, _readings, _brief):
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


def test_demo_is_validated_and_survives_the_disk(tmp_path):
    """Written and loaded again it is the same pack, byte for byte."""
    made = demo()
    assert made.diagnostics == ()
    assert made.notes == (
        "submit_exception: external_side_effect needs authority, so it is not planned",
    )
    made.pack.write(tmp_path / "pack")
    assert load_pack(tmp_path / "pack") == made.pack


def test_pack_holds_no_address_or_path():
    """Services are names; sources are file names."""
    text = "".join(demo().pack.files.values()) + demo().pack.manifest_text()
    assert str(DEMO.parent) not in text
    assert "127.0.0.1:" not in text


def test_same_material_gives_the_same_pack():
    """Compilation is deterministic, digest and all."""
    again = built(*SOURCES, brief=(DEMO / "brief.md").read_text())
    assert again.pack.digest == demo().pack.digest


@pytest.mark.parametrize(
    ("name", "data", "code"),
    [
        ("x.csv", b"", "empty"),
        ("x.xlsx", b"\xff" * 50, "bad_workbook"),
        ("x.pdf", b"%PDF", "unknown_kind"),
        ("x.yaml", API.replace("application/json", "a").replace(
            "content:", "$ref: 'file:///etc/passwd'\n        content:", 1).encode(), "remote_ref"),
    ],
)  # fmt: skip
def test_one_bad_source_is_a_diagnosis_even_beside_good_ones(tmp_path, name, data, code):
    """What was asked for cannot be built, so nothing is certified; the draft is still there."""
    (tmp_path / name).write_bytes(data)
    made = built(*SOURCES, tmp_path / name)
    assert isinstance(made, DiagnosticPack)
    assert codes(made)[0] == code
    assert made.pack is not None
    assert all(d.next_step for d in made.diagnostics)


def test_guesses_and_skipped_parts_do_not_block(tmp_path):
    """A Windows-1252 table is used; the pack is validated and the guess is on record."""
    (tmp_path / "t.csv").write_bytes("name,n\nCafé,1\nBar,2\n".encode("cp1252"))
    made = built(tmp_path / "t.csv")
    assert isinstance(made, ProbeValidatedPack)
    assert codes(made) == ["encoding_guessed"]


def test_nothing_to_probe_is_a_diagnosis(tmp_path):
    """Prose alone gives no capability: p is undefined (L33)."""
    (tmp_path / "n.md").write_text("Some prose.")
    made = built(tmp_path / "n.md")
    assert isinstance(made, DiagnosticPack)
    assert made.report.p is None
    assert codes(made) == ["nothing_to_probe"]


def test_no_source_at_all():
    """An empty list is a diagnosis with what to do."""
    made = built()
    assert isinstance(made, DiagnosticPack)
    assert made.pack is None
    assert made.diagnostics[0].model_dump() == {
        "source": "sources",
        "code": "nothing_read",
        "message": "No source could be read",
        "next_step": "Give at least one readable source.",
    }


def test_api_alone_compiles_against_its_stub(tmp_path):
    """Integers, path arguments and a response: probed over real HTTP."""
    (tmp_path / "api.yaml").write_text(API)
    made = built(tmp_path / "api.yaml")
    assert isinstance(made, ProbeValidatedPack), made.diagnostics
    assert set(made.pack.tools) == {"addnote"}


@pytest.mark.parametrize(
    "error",
    [
        ValueError("designer broke"),
        PackError("p", got="g", allowed="a", next_step="Do."),
        RecursionError("deep"),
    ],
)
def test_failing_designer_is_a_diagnosis(error):
    """Its reason is in the result, with its own next step if it has one."""
    made = built(SOURCES[0], designer=Designer(error))
    assert codes(made) == ["compile_failed"]
    assert made.diagnostics[0].message == f"{type(error).__name__}: {error}"


def test_cancellation_propagates():
    """Total does not mean deaf: an interrupt ends the build."""
    with pytest.raises(asyncio.CancelledError):
        run(build([SOURCES[0]], "x", designer=Designer(asyncio.CancelledError())))


def test_poor_design_is_normalised_and_repaired():
    """A designer that gives one broken file ends with the deterministic draft's documents."""
    blueprint = Blueprint(name="p", domain="d", mode="team", files={"genome.json": "{"})
    made = built(*SOURCES, designer=Designer(blueprint))
    assert isinstance(made, DiagnosticPack)  # no tools were designed: nothing to probe
    assert "no role was designed; one analyst was added" in made.notes
    assert "round 1: repaired genome.json" in made.notes


def test_probes_see_only_stub_addresses():
    """runner_for is handed loopback endpoints that the build itself opened."""
    seen = []

    def runner_for(pack, endpoints):
        seen.append(dict(endpoints))
        return PackTools(pack, endpoints)

    made = built(*SOURCES, runner_for=runner_for)
    assert isinstance(made, ProbeValidatedPack)
    assert [list(e) for e in seen] == [["exceptions"]]
    assert all(e["exceptions"].startswith("http://127.0.0.1:") for e in seen)


GARBAGE = st.one_of(
    st.binary(max_size=300),
    st.text(max_size=300).map(lambda t: t.encode("utf-8", "replace")),
    st.text("|-#\n :,;\"'\\ab01{}[]&*$", max_size=300).map(str.encode),
    st.sampled_from([p.read_bytes() for p in SOURCES]).flatmap(
        lambda data: st.integers(0, len(data)).map(lambda n: data[:n])
    ),
)
NAMES = st.sampled_from(["a.md", "b.csv", "c.xlsx", "d.yaml", "e.json", "f.txt", "g.tsv", "h"])


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(files=st.dictionaries(NAMES, GARBAGE, max_size=4), brief=st.text(max_size=60))
def test_any_bytes_give_one_of_the_two(tmp_path_factory, files, brief):
    """Fuzz: random bytes, random punctuation and truncated real sources never raise."""
    folder = tmp_path_factory.mktemp("fuzz")
    for name, data in files.items():
        (folder / name).write_bytes(data)
    made = built(*(folder / name for name in files), brief=brief)
    assert isinstance(made, ProbeValidatedPack | DiagnosticPack)
    if isinstance(made, ProbeValidatedPack):
        assert made.report.p == 1.0
    else:
        assert made.diagnostics


def test_importing_the_room_is_light():
    """No database, server, spreadsheet or validator is loaded by the import."""
    heavy = [
        "duckdb",
        "openpyxl",
        "httpx",
        "starlette",
        "uvicorn",
        "sqlglot",
        "jsonschema",
        "pandas",
    ]
    code = f"import sys, logoslab.compile; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
