"""docs/architecture.md says what the code, the import contracts and a real lab say."""

import asyncio
import importlib
import re
import tomllib
from pathlib import Path
from typing import get_args

from logoslab.pack.component import Family
from logoslab.pack.decision import Conclusion
from logoslab.pack.evidence import Arm, Role
from logoslab.pack.genome import AXES
from logoslab.pack.policy import RootPolicy
from logoslab.pack.task import Task
from tests.lifecycle.make import Bench

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src/logoslab"
PAGE = (ROOT / "docs/architecture.md").read_text()
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
    "contracts"
]


def table(head: str) -> list[list[str]]:
    """Rows of the table whose head line begins with ``head``."""
    body = PAGE.split(f"| {head} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in body]


def names(cell: str) -> list[str]:
    """What stands in code spans."""
    return re.findall(r"`([^`]+)`", cell)


def meaning(word: str) -> str:
    """What the table of words says of one."""
    return next(row[1] for row in table("word") if row[0] == word)


def test_floors_are_the_layers_contract():
    """The floors table is the layers of pyproject, top to bottom, numbered down to 1."""
    layers = next(c for c in CONTRACTS if c["type"] == "layers")["layers"]
    # A bar separates neighbours that may not meet, a colon those that may.
    contract = [set(re.split(r"\s*[|:]\s*", layer)) for layer in layers]
    rows = table("floor")
    assert [set(names(row[1])) for row in rows] == contract
    assert [int(row[0]) for row in rows] == list(range(len(layers), 0, -1))


def test_every_room_is_on_a_floor():
    """Each folder and module of the package is on exactly one floor, and nothing else is."""
    found = {p.stem for p in SRC.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    named = [room for row in table("floor") for room in names(row[1])]
    assert sorted(named) == sorted(found - {"__init__"})


def test_empty_rooms_are_called_empty():
    """A room without code is said to be empty, and one with code is not."""
    empty = {
        p.name
        for p in SRC.iterdir()
        if (p / "__init__.py").exists() and not any(q.stat().st_size for q in p.rglob("*.py"))
    }
    said = {
        room
        for row in table("floor")
        if "empty so far" in row[2]
        for room in names(row[2]) or names(row[1])[:1]
    }
    assert said == empty


def test_what_stands_where_names_rooms():
    """The rooms that a thing stands in, and those that explain it, are on floors."""
    rooms = {room for row in table("floor") for room in names(row[1])}
    said = {room for row in table("thing") for cell in row[1:] for room in names(cell)}
    assert said - rooms == set()
    assert said


def test_owners_of_third_parties_are_the_contracts():
    """Each third party has the owners that its import contract allows."""
    allowed = {
        c["forbidden_modules"][0]: {
            line.split(" -> ")[0].removesuffix(".**") for line in c["ignore_imports"]
        }
        for c in CONTRACTS
        if c["type"] == "forbidden"
    }
    assert {row[0]: set(names(row[1])) for row in table("third party")} == allowed


def test_every_word_is_in_the_code():
    """Each word of the table is an importable thing."""
    for word, _, where in table("word"):
        module, _, path = names(where)[0].partition(":")
        found: object = importlib.import_module(module)
        for attribute in path.split("."):
            found = getattr(found, attribute)
        assert found is not None, word


def test_enumerations_are_complete():
    """Families, axes, conclusions, arms and roles are listed as they are in the code."""
    assert meaning("family").split(", ") == [family.value for family in Family]
    assert meaning("genome").split(": ")[1].split(", ") == list(AXES)
    assert meaning("decision").split(", ") == [conclusion.value for conclusion in Conclusion]
    assert meaning("arm").split(", ") == list(get_args(Arm))
    assert meaning("role").split(": ")[1].split(", ") == list(get_args(Role))


def test_root_policy_fields_are_listed():
    """The nine fields of the root policy, in the order of the file, as its error message says."""
    assert [names(row[0])[0] for row in table("field")] == list(RootPolicy.model_fields)
    assert len(RootPolicy.model_fields) == 9


def test_a_real_lab_holds_what_the_page_says(tmp_path):
    """A run, gates, a queued change and a promotion leave exactly what the page lists."""
    bench = Bench(tmp_path)
    asyncio.run(bench.lab.run(None, [Task(id="t1", inputs={})], name="first", progress=False))
    candidate = bench.candidate()
    decisions = bench.decisions(candidate)
    bench.lab.request_approval(candidate, decisions)
    assert bench.lab.promote(decisions, [bench.approval(candidate, decisions)]).promoted
    found = {p.name for p in bench.lab.path.iterdir() if p.suffix != ".lock"}
    assert found == {name.rstrip("/") for row in table("path") for name in names(row[0])}
