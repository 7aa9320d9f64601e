"""The map from the papers to the code and the page of formulas name only what exists."""

import ast
import importlib
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from logoslab.gate import RULES

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src"
MAP = (ROOT / "docs/paper_map.md").read_text()
FORMULAS = (ROOT / "docs/formulas.md").read_text()
PAPERS = ("LOGOS", "AgentEvolver", "Self-Healing Harness", "Autogenesis")
STATUSES = ("Built", "Partial", "Not built yet")
CODE = re.compile(r"`(logoslab[\w.]*:[\w.]+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
NOTEBOOK = re.compile(r"`(notebooks/[\w/]+\.ipynb)`")
NUMBERS = r"\d+(?:(?:\s*[-–,]\s*|\s+and\s+)\d+)*"
EQUATIONS = re.compile(rf"\bEqs?\.\s*({NUMBERS})")
# L0, L1 and L2 are levels of probes; a LOGOS equation written this way begins at L3.
SHORT = re.compile(r"\bL((?:[3-9]|\d{2,3})(?:\s*[-–]\s*L?\d+)?)\b")
# "Chen et al. 2021, …, Eq. 1": an equation of another work.
FOREIGN = re.compile(r"\b(?:19|20)\d\d\b(?![^;]*LOGOS)[^;]*$")


class Row(NamedTuple):
    """One line of a table of the map."""

    paper: str
    status: str
    cells: tuple[str, ...]

    @property
    def equations(self) -> set[int]:
        """Numbers of the equations in the first cell."""
        return {n for found in EQUATIONS.findall(self.cells[0]) for n in spelled(found)}

    @property
    def text(self) -> str:
        """The whole line."""
        return " | ".join(self.cells)


def spelled(numbers: str) -> set[int]:
    """``"89-90 and 92"`` → 89, 90, 92."""
    parts = re.split(r"\s*,\s*|\s+and\s+", numbers.replace("L", ""))
    ends = [[int(n) for n in re.split(r"\s*[-–]\s*", part)] for part in parts]
    return {n for end in ends for n in range(end[0], end[-1] + 1)}


def table_rows() -> list[Row]:
    """Every row of every table, under its two headings; heads and rulers left out."""
    rows, paper, status = [], "", ""
    for line in MAP.splitlines():
        if line.startswith("## "):
            paper, status = line[3:], ""
        elif line.startswith("### "):
            status = line[4:]
        elif line.startswith("| ") and not line.startswith(("| ---", "| in the paper", "| source")):
            rows.append(Row(paper, status, tuple(c.strip() for c in line.strip("| ").split(" | "))))
    return rows


ROWS = table_rows()
NAMED = sorted(set(CODE.findall(MAP)) | set(CODE.findall(FORMULAS)))


def resolved(name: str) -> object:
    """The object behind ``module:attribute.path``."""
    module, _, path = name.partition(":")
    found: object = importlib.import_module(module)
    for attribute in path.split("."):
        found = getattr(found, attribute)
    return found


def identity(name: str) -> str:
    """Where the object of a name is defined, so that a re-exported name is the same thing."""
    found = resolved(name)
    found = getattr(found, "fget", found)
    where = getattr(found, "__module__", ""), getattr(found, "__qualname__", "")
    return ":".join(where) if all(where) else name


def claims() -> list[tuple[str, int]]:
    """(module:name, equation) for each equation that a public docstring says it implements."""
    found = []
    for page in sorted(SRC.rglob("*.py")):
        module = ".".join(page.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        for name, docstring in public_docstrings(ast.parse(page.read_text())):
            numbers = {n for m in SHORT.finditer(docstring) for n in spelled(m[1])}
            for match in EQUATIONS.finditer(docstring):
                if not FOREIGN.search(docstring[max(0, match.start() - 100) : match.start()]):
                    numbers |= spelled(match[1])
            found += [(f"{module}:{name}", number) for number in sorted(numbers)]
    return found


def public_docstrings(node: ast.AST, outer: str = "") -> list[tuple[str, str]]:
    """(qualified name, docstring) of public functions, classes, methods and properties."""
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            if child.name.startswith("_"):
                continue
            found.append((outer + child.name, ast.get_docstring(child) or ""))
            if isinstance(child, ast.ClassDef):
                found += public_docstrings(child, f"{outer}{child.name}.")
    return found


def test_every_paper_has_its_three_tables():
    """Built, partial and not built are told apart for each of the four papers."""
    assert {(row.paper, row.status) for row in ROWS} == {
        *((paper, status) for paper in PAPERS for status in STATUSES),
        ("Other sources", ""),
    }


def test_rows_fill_their_columns():
    """What is built names code and a test; what is partial says what is missing."""
    width = {"Built": 5, "Partial": 6, "Not built yet": 3, "": 5}
    for row in ROWS:
        assert len(row.cells) == width[row.status], row.text
        assert all(row.cells), row.text
        if row.status == "Not built yet":
            assert not CODE.search(row.text), f"{row.text}: built or not?"
        else:
            assert CODE.search(row.cells[2]), row.text
            assert TEST.search(row.cells[3]), row.text
            assert row.cells[4] == "—" or NOTEBOOK.search(row.cells[4]), row.text


@pytest.mark.parametrize("name", NAMED)
def test_named_code_exists(name):
    """Every ``module:name`` of the map and of the page of formulas can be imported."""
    assert resolved(name) is not None


def test_every_code_span_is_well_formed():
    """A path that the parser would overlook is a mistake, not a silent gap."""
    spans = re.findall(r"`(logoslab[^`]*|tests/[^`]*|notebooks/[^`]*)`", MAP + FORMULAS)
    whole = re.compile("|".join(p.pattern for p in (CODE, TEST, NOTEBOOK)))
    loose = [s for s in spans if not whole.fullmatch(f"`{s}`") and s != "tests/test_paper_map.py"]
    assert loose == []


def test_named_tests_exist():
    """Every test stands under its name in its file."""
    for file, name in sorted(set(TEST.findall(MAP))):
        page = ROOT / file
        assert page.is_file(), file
        tests = {n.name for n in ast.walk(ast.parse(page.read_text())) if hasattr(n, "name")}
        assert name in tests, f"{file} has no {name}"


def test_named_notebooks_exist():
    """Every notebook is there."""
    missing = [n for n in sorted(set(NOTEBOOK.findall(MAP))) if not (ROOT / n).is_file()]
    assert missing == []


def test_each_logos_equation_has_exactly_one_status():
    """Equations 1 to 105 are each built, partial or not built, and never two of these."""
    status = {(n, row.status) for row in ROWS if row.paper == "LOGOS" for n in row.equations}
    assert Counter(n for n, _ in status) == Counter(range(1, 106))


SECTIONS = {
    "LOGOS": """1 2 2.1 2.2 2.3 2.4 2.5 2.6 2.7 2.8 2.9 2.10 2.11 3 3.1 3.2 3.3 3.4 3.4.1 3.4.2
        3.4.3 3.4.4 3.5 3.5.1 3.5.2 3.5.3 3.6 3.6.1 3.6.2 3.6.3 3.6.4 3.6.5 3.6.6 3.7 3.7.1 3.7.2
        3.7.3 3.7.4 3.8 4 4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9 5 6 D.1 G.1 G.2 G.3 G.4 G.5 G.6 G.7
        G.8 G.9""",
    "AgentEvolver": """1 2 2.1 2.2 2.3 2.4 3 3.1 3.2 3.3 3.4 3.5 4 4.1 4.2 4.2.1 4.2.2 4.2.3 5 6 A
        A.1 A.2 A.3 A.4 A.5 A.6 A.7 A.8 A.9 A.10 A.11 A.12 B C C.1 C.2 C.3 C.4 C.5 C.6 C.7 C.8""",
    "Autogenesis": """1 2 2.1 2.2 3 3.1 3.1.1 3.2 3.2.1 3.2.2 3.2.3 4 5 5.1 5.2 5.3 5.4 6 7 A.1 A.2
        A.3 B.1 B.2 D.1 E.1 F.1 F.2 F.3 G.1 G.2 G.2.1 G.2.2 G.2.3 G.2.4 G.3 G.3.1 G.3.2 G.3.3 G.3.4
        G.3.5 G.3.6 G.3.7""",
}
TABLES = {
    "LOGOS": range(1, 42),
    "AgentEvolver": range(1, 14),
    "Self-Healing Harness": range(1, 15),
    "Autogenesis": (*range(1, 7), 9, 10, 11, 12),
}


@pytest.mark.parametrize("paper", SECTIONS)
def test_no_section_is_left_out(paper):
    """Every numbered section is in some row, and no row invents one."""
    first = " ".join(row.cells[0] for row in ROWS if row.paper == paper)
    named = set(re.findall(r"§((?:[A-G]|\d+)(?:\.\d+)*)", first))
    expected = set(SECTIONS[paper].split())
    assert expected - named == set()
    assert named - expected - {"B", "C"} == set()


@pytest.mark.parametrize("paper", TABLES)
def test_no_table_is_left_out(paper):
    """Every table of a paper is in exactly one row."""
    first = [row.cells[0] for row in ROWS if row.paper == paper]
    named = Counter(
        n for cell in first for m in re.findall(rf"\bTables? ({NUMBERS})", cell) for n in spelled(m)
    )
    assert named == Counter(TABLES[paper])


def test_letters_of_the_logos_appendix():
    """Appendices A to G are named."""
    text = " ".join(row.cells[0] for row in ROWS if row.paper == "LOGOS")
    assert set(re.findall(r"Appendix ([A-G])\b", text)) == set("ABCDEFG")


def test_a_docstring_that_names_an_equation_is_in_the_map():
    """What claims an equation stands in a row of that equation, so no claim escapes review."""
    listed: dict[str, set[int]] = {}
    for row in ROWS:
        if row.paper == "LOGOS":
            for name in CODE.findall(row.cells[2]):
                listed.setdefault(identity(name), set()).update(row.equations)
    found = claims()
    assert len(found) > 40, "the scan for claims has gone blind"
    assert [c for c in found if c[1] not in listed.get(identity(c[0]), set())] == []


def test_a_docstring_that_names_an_equation_elsewhere_is_in_the_map():
    """Equations of other works are listed too."""
    others = {identity(n) for row in ROWS if row.paper == "Other sources"
              for n in CODE.findall(row.cells[2])}  # fmt: skip
    for page in sorted(SRC.rglob("*.py")):
        module = ".".join(page.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")
        for name, text in public_docstrings(ast.parse(page.read_text())):
            for match in EQUATIONS.finditer(text):
                if FOREIGN.search(text[max(0, match.start() - 100) : match.start()]):
                    assert identity(f"{module}:{name}") in others, f"{module}:{name}"


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("89-90", {89, 90}), ("91-92 and 101", {91, 92, 101}), ("21, 22", {21, 22}), ("60", {60})],
)
def test_numbers_are_spelled_out(text, numbers):
    """Ranges and lists of equations are read as people write them."""
    assert spelled(text) == numbers


def test_formulas_name_only_what_is_at_least_partly_built():
    """An equation on the page of formulas is not one that the map calls not built."""
    absent = {
        n for r in ROWS if r.paper == "LOGOS" and r.status == "Not built yet" for n in r.equations
    }
    named = {n for match in SHORT.finditer(FORMULAS) for n in spelled(match[1])}
    assert named & absent == set()
    assert named, "the page of formulas names its equations as (L59)"


def test_every_formula_names_its_code():
    """Each entry on the page of formulas says which function implements it."""
    entries = re.split(r"(?m)^### ", FORMULAS)[1:]
    assert [entry.splitlines()[0] for entry in entries if not CODE.search(entry)] == []


@pytest.mark.parametrize("name", RULES)
def test_every_rule_is_on_both_pages(name):
    """Each shipped rule has a formula that says its name, and a row of the map with a test."""
    rule = f"{RULES[name].__module__}:{RULES[name].__qualname__}"
    entries = [e for e in re.split(r"(?m)^### ", FORMULAS)[1:] if rule in CODE.findall(e)]
    assert any(name in re.split(r"\W+", entry) for entry in entries)
    assert [row.text for row in ROWS if rule in CODE.findall(row.cells[2])]
