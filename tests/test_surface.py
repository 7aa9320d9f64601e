"""The public surface: names, import weight, size of pages, one description of the environment."""

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import logoslab as ll

ROOT = Path(__file__).parents[1]
SRC = ROOT / "src/logoslab"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HEAVY = ("litellm", "plotly", "jupyter", "jupyterlab", "ipywidgets", "IPython", "duckdb", "pandas",
         "scipy.stats", "httpx", "starlette", "openpyxl", "sqlglot")  # fmt: skip


def test_every_public_name_resolves():
    """Each name in ``__all__`` exists, and there are at most 45."""
    assert len(ll.__all__) <= 45
    for name in ll.__all__:
        assert getattr(ll, name) is not None


def test_every_resolvable_name_is_public():
    """The lazy table, the typing imports and ``__all__`` say the same."""
    source = (SRC / "__init__.py").read_text()
    typed = set(re.findall(r"import (\w+) as \1", source))
    assert typed | set(ll._ROOMS) == set(ll.__all__)
    assert set(dir(ll)) == {*ll.__all__, "__version__"}


def test_an_unknown_name_is_an_attribute_error():
    """A typo fails like any module attribute."""
    with pytest.raises(AttributeError, match="has no attribute 'Labb'"):
        _ = ll.Labb


def test_version_is_the_projects():
    """``__version__`` and pyproject agree, and the changelog has an entry for it."""
    assert ll.__version__ == PROJECT["version"]
    assert f"## {ll.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_import_is_light():
    """``import logoslab`` loads none of the heavy libraries."""
    code = f"import sys, logoslab; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_pages_stay_short():
    """One idea a file: no source page above 400 lines, no function above 60."""
    for page in SRC.rglob("*.py"):
        text = page.read_text()
        assert text.count("\n") <= 400, f"{page.name}: split it by noun"
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0
                assert lines <= 60, f"{page.name}: {node.name} has {lines} lines"


def test_public_functions_have_docstrings():
    """Whatever has no underscore says what it does."""
    bare = []
    for page in SRC.rglob("*.py"):
        for node in ast.parse(page.read_text()).body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                public = not node.name.startswith("_")
                if public and not ast.get_docstring(node):
                    bare.append(f"{page.relative_to(SRC)}:{node.name}")
    assert bare == []


def test_nothing_imports_testing():
    """The doubles are for tests and notebooks; no room leans on them."""
    users = [
        p.name
        for p in SRC.rglob("*.py")
        if "testing" not in p.parts
        and re.search(r"(from|import) logoslab\.testing", p.read_text())
        and p.name != "__init__.py"
    ]
    assert users == []


ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())
CONDA = [d for d in ENVIRONMENT["dependencies"] if isinstance(d, str)]
PIP = next(d["pip"] for d in ENVIRONMENT["dependencies"] if isinstance(d, dict))
LOCK = (ROOT / "requirements.lock").read_text().splitlines()


def test_environment_delegates_to_the_project():
    """The conda file holds Python and pip only; the rest is the project and its lock."""
    assert ENVIRONMENT["name"] == PROJECT["name"]
    assert ENVIRONMENT["channels"] == ["conda-forge"]
    assert [c.split("=")[0] for c in CONDA] == ["python", "pip"]
    python = CONDA[0].split("=")[1]
    assert Version(f"{python}.99") in SpecifierSet(PROJECT["requires-python"])
    assert PIP[0] == "-r requirements.lock"
    extras = re.fullmatch(r"-e \.\[([\w,]+)\]", PIP[1])
    assert extras
    assert set(extras[1].split(",")) <= set(PROJECT["optional-dependencies"])


def test_lock_satisfies_every_direct_requirement():
    """Each dependency and extra of pyproject is pinned to a version inside its bounds."""
    pins: dict[str, list[Version]] = {}
    for line in LOCK:
        found = re.match(r"([A-Za-z0-9_.\-]+)(?:\[[^\]]*\])?==([^\s;]+)", line)
        if found:
            pins.setdefault(found[1].lower().replace("_", "-"), []).append(Version(found[2]))
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for requirement in (Requirement(r) for group in groups for r in group):
        versions = pins.get(requirement.name.lower().replace("_", "-"), [])
        assert versions, f"{requirement.name} is not in requirements.lock: run `make lock`"
        assert all(v in requirement.specifier for v in versions), requirement


def test_lock_names_no_host():
    """The lock pins names and versions, never where they come from."""
    assert not [line for line in LOCK if "://" in line or line.startswith("-")]
