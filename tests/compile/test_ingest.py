"""Ingestion: each kind of source, each kind of bad material."""

from __future__ import annotations

import io
import zipfile

import openpyxl
import pytest

from logoslab.compile.ingest import ingest
from logoslab.compile.ingest.bounds import MAX_BYTES, identifier
from logoslab.compile.ingest.delimited import detect_delimiter
from tests.compile.make import DEMO


def _one(path, data):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return ingest([path])[0]


def _only(reading):
    assert len(reading.diagnostics) == 1, reading.diagnostics
    assert reading.artefacts == ()
    return reading.diagnostics[0]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_csv_finds_its_delimiter(tmp_path, delimiter):
    """The same table comes out whatever separates its cells; quoted delimiters stay text."""
    line = delimiter.join
    text = "\n".join([line(["id", "First Name"]), line(["1", f'"Ada{delimiter} L."'])])
    table = _one(tmp_path / "people.csv", text).artefacts[0]
    assert table.name == "people"
    assert table.columns == ("id", "first_name")
    assert table.rows == (("1", f"Ada{delimiter} L."),)


def test_delimiter_prefers_even_rows():
    """A comma inside prose does not beat semicolons that split every line into three."""
    assert detect_delimiter("a;b;c\n1;2, or so;3\n4;5;6\n") == ";"
    assert detect_delimiter("just one column\nof text\n") == ","


def test_utf8_with_mark_and_utf16_are_read_exactly(tmp_path):
    """A byte-order mark is not part of the first column's name."""
    for number, encoding in enumerate(("utf-8-sig", "utf-16")):
        reading = _one(tmp_path / f"t{number}.csv", "name,n\nŁódź,1\n".encode(encoding))
        assert reading.artefacts[0].columns == ("name", "n")
        assert reading.artefacts[0].rows == (("Łódź", "1"),)
        assert reading.diagnostics == ()


def test_wrong_encoding_is_read_and_reported(tmp_path):
    """Windows-1252 bytes are read as such, and the guess is a diagnostic, not a silence."""
    reading = _one(tmp_path / "old.csv", "name,n\nCafé,1\n".encode("cp1252"))
    assert reading.artefacts[0].rows == (("Café", "1"),)
    assert reading.diagnostics[0].model_dump() == {
        "source": "old.csv",
        "code": "encoding_guessed",
        "message": "old.csv: byte 10 is not UTF-8; read as Windows-1252",
        "next_step": "Save it as UTF-8 if accented letters look wrong.",
    }


@pytest.mark.parametrize(
    ("name", "data", "code", "message"),
    [
        ("e.csv", b"", "empty", "e.csv: nothing in it"),
        ("e.md", b" \n\t ", "empty", "e.md: nothing in it"),
        ("b.csv", bytes(range(256)) * 9, "binary", "b.csv: binary data where text was expected"),
        ("n.md", b"a\0b", "binary", "n.md: binary data where text was expected"),
        ("h.csv", b"id,name\n", "empty_table", "h.csv: table h has no header or no rows"),
        ("r.csv", b"a,b\n1,2,3\n", "ragged_row", "r.csv: row 1 of table r has 3 cells, not 2"),
        ("w.xlsx", b"PK\3\4 not a zip", "bad_workbook",
         "w.xlsx: not a readable workbook (BadZipFile)"),
        ("x.pdf", b"%PDF", "unknown_kind", "x.pdf: files ending in '.pdf' cannot be read"),
        ("a.yaml", b"a: [1", "bad_api", None),
        ("a.json", b"[]", "bad_api",
         "a.json: not an OpenAPI 3 document with info and paths (openapi is 'absent')"),
    ],
)  # fmt: skip
def test_bad_material_becomes_one_diagnostic(tmp_path, name, data, code, message):
    """Every kind of bad file names itself, its problem and a next step; nothing raises."""
    found = _only(_one(tmp_path / name, data))
    assert found.source == name
    assert found.code == code
    assert message is None or found.message == message
    assert found.next_step.endswith(".")


def test_missing_file_and_folder(tmp_path):
    """A missing file and a folder with a readable ending are diagnostics too."""
    (tmp_path / "folder.csv").mkdir()
    missing, folder = ingest([tmp_path / "gone.csv", tmp_path / "folder.csv"])
    assert _only(missing).message == "gone.csv: no such file"
    assert _only(folder).message == "folder.csv: no such file"


def test_huge_file_is_refused_before_it_is_read(tmp_path):
    """One byte over the limit is too large; the message says both sizes."""
    path = tmp_path / "huge.csv"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    found = _only(ingest([path])[0])
    assert found.message == "huge.csv: 20000001 bytes; at most 20000000 are read"


def test_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    """A workbook that unpacks to over ten times the limit is refused from its directory alone."""
    monkeypatch.setattr("logoslab.compile.ingest.workbook.MAX_BYTES", 1000)
    monkeypatch.setattr("openpyxl.load_workbook", lambda *_, **__: pytest.fail("it was unpacked"))
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/a", b"\0" * 10_001)
    assert _only(_one(tmp_path / "bomb.xlsx", raw.getvalue())).message == (
        "bomb.xlsx: not a readable workbook (ValueError)"
    )


def test_matrix_sheet_is_unpivoted_and_plain_sheet_is_not(tmp_path):
    """A corner cell ``row \\ column`` makes long form; the line above it names the value."""
    book = openpyxl.Workbook()
    matrix, plain = book.active, book.create_sheet("plain")
    matrix.title = "m"
    for row in (["grade"], ["size \\ place", "in", "out"], ["big", 1, 2], ["small", None, 3]):
        matrix.append(row)
    for row in (["id", "n"], ["a", 1.0], ["b", 2.5]):
        plain.append(row)
    book.save(tmp_path / "w.xlsx")
    long, table = ingest([tmp_path / "w.xlsx"])[0].artefacts
    assert (long.name, long.columns) == ("w_m", ("size", "place", "grade"))
    assert long.rows == (("big", "in", "1"), ("big", "out", "2"), ("small", "out", "3"))
    assert (table.name, table.rows) == ("w_plain", (("a", "1"), ("b", "2.5")))
    assert long.provenance.span == "sheet 'm'"


def test_policy_gives_tables_clauses_and_prose():
    """Tables are named by their headings; a clause keeps the lines that continue it."""
    reading = ingest([DEMO / "policy.md"])[0]
    by_name = {a.name: a for a in reading.artefacts}
    assert set(by_name) == {"definitions", "decisions", "policy_clauses", "policy"}
    assert by_name["definitions"].columns == ("data", "data_class")
    assert by_name["definitions"].rows[0] == ("cardholder numbers", "restricted")
    clauses = dict(by_name["policy_clauses"].rows)
    assert clauses["2.1"] == (
        "The class of a request is the class of the data that the system holds today. Data that "
        "was removed, moved or never held does not count."
    )
    assert by_name["policy"].kind == "text"


def test_form_becomes_schemas_and_a_skill_draft():
    """A table that starts with ``field`` is a form; Instructions and Examples make a skill."""
    reading = ingest([DEMO / "intake_form.md"])[0]
    form = next(a for a in reading.artefacts if a.kind == "form")
    assert form.fields["control"] == {
        "type": "string",
        "enum": ["none", "monitoring", "segmentation", "encryption"],
        "default": "none",
        "description": "compensating control in place",
    }
    assert form.fields["requested_days"]["type"] == "integer"
    assert (form.fields["requested_days"]["minimum"], form.fields["requested_days"]["maximum"]) == (
        1,
        365,
    )
    ((name, body),) = reading.skills
    assert name == "intake"
    assert body.startswith("Copy the words that name the data the system holds today.")
    assert body.count('output: {"data":') == 4


def test_example_that_is_not_json_is_left_out_with_a_note(tmp_path):
    """One bad example costs itself, not the file."""
    text = "# F\n\n## Examples\n\n- input: a b\n  output: {bad}\n- input: c d\n  output: {}\n"
    reading = _one(tmp_path / "f.md", text)
    assert reading.skills == (("f", "## Examples\n\n- input: c d\n  output: {}\n"),)
    assert reading.diagnostics[0].message == "f.md: the output of an example is not JSON: {bad}"


@pytest.mark.parametrize(
    ("text", "name"),
    [("Résumé Größe", "resume_groe"), ("2nd", "item_2nd"), ("", "item"), ("--a--b--", "a_b")],
)
def test_identifier(text, name):
    """Names are lower-case ASCII and start with a letter."""
    assert identifier(text) == name
