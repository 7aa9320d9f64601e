"""Names of models."""

from pathlib import Path

import pytest

from logoslab.errors import InvalidValue
from logoslab.ports import Model
from logoslab.run.models import catalog
from logoslab.run.models.catalog import add_gguf, list_models, resolve_model
from logoslab.run.models.embedded import EmbeddedModel
from logoslab.run.models.provider import ProviderModel


@pytest.fixture(autouse=True)
def _config(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOGOSLAB_CONFIG", str(tmp_path / "config"))


@pytest.fixture
def gguf(tmp_path: Path) -> Path:
    file = tmp_path / "My Model.gguf"
    file.write_bytes(b"GGUF...")
    return file


def test_each_kind_of_name_finds_its_model(gguf: Path) -> None:
    """The default, a path, an alias and a provider's name; all behind one port."""
    add_gguf(gguf, "mine")
    default, path, alias, hosted = map(resolve_model, ("embedded", str(gguf), "mine", "openai/x"))
    assert all(isinstance(m, Model) for m in (default, path, alias, hosted))
    assert default.name == "embedded/smollm2-135m"
    assert isinstance(path, EmbeddedModel)
    assert isinstance(alias, EmbeddedModel)
    assert path.path == alias.path == gguf
    assert isinstance(hosted, ProviderModel)
    assert hosted.name == "openai/x"


def test_an_unknown_name_lists_the_known_ones(gguf: Path) -> None:
    """A typo is answered with what exists."""
    add_gguf(gguf)
    with pytest.raises(InvalidValue) as caught:
        resolve_model("embeded")
    assert str(caught.value) == (
        "model: allowed embedded, my-model, a path to a .gguf file, provider/model; got embeded. "
        "Correct the name, or add a file with `logoslab models add PATH`."
    )


def test_the_list_says_what_is_there(gguf: Path) -> None:
    """An alias whose file is gone stays listed, as absent."""
    add_gguf(gguf)
    assert [(m.name, m.present) for m in list_models()][1:] == [("my-model", True)]
    gguf.unlink()
    assert [(m.name, m.present) for m in list_models()][1:] == [("my-model", False)]


def test_only_gguf_files_and_plain_aliases_are_kept(gguf: Path, tmp_path: Path) -> None:
    """A refused file leaves the registry as it was."""
    other = tmp_path / "x.gguf"
    other.write_bytes(b"PK..")
    with pytest.raises(InvalidValue) as caught:
        add_gguf(other)
    assert str(caught.value) == (
        "GGUF file: allowed an existing file that begins with the bytes GGUF; got x.gguf. Point at "
        "a model file in GGUF format."
    )
    for alias in ("embedded", "a b", "../x", "A"):
        with pytest.raises(InvalidValue, match="model alias: allowed 1 to 64 of a-z"):
            add_gguf(gguf, alias)
    assert not catalog.registry_file().exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}'])
def test_a_malformed_registry_is_named(text: str) -> None:
    """A hand-edited file gives a typed error, never a guess."""
    catalog.registry_file().parent.mkdir()
    catalog.registry_file().write_text(text)
    with pytest.raises(InvalidValue) as caught:
        list_models()
    assert str(caught.value) == (
        'model registry models.json: allowed {"alias": "path"}; got not a JSON object of alias and '
        "path. Correct or delete the file, then add your models again."
    )
