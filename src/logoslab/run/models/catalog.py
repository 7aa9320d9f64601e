"""Names of models: what a user types → a model behind the port."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

from logoslab.errors import InvalidValue
from logoslab.files import config_folder, locked, write_atomic
from logoslab.pack.model import Message, ModelReply, ModelRequest
from logoslab.ports import Model
from logoslab.run.models.weights import find_default_weights

EMBEDDED = "embedded"
_ALIAS = re.compile(r"^[a-z0-9][a-z0-9._-]{0,63}$")


class Listed(NamedTuple):
    """One known model: its name, where its weights are, and whether they are there."""

    name: str
    path: Path | None
    present: bool


def resolve_model(name: str = EMBEDDED, *, api_base: str | None = None) -> Model:
    """The model of a name; nothing is loaded and nobody is asked yet.

    Parameters
    ----------
    name : str
        ``embedded``; a path that ends in ``.gguf``; an alias that ``add_gguf`` keeps; or
        ``provider/model`` as litellm spells it.
    api_base : str, optional
        Base URL of an OpenAI-compatible server, for ``provider/model``.

    Raises
    ------
    InvalidValue
        When the name is none of these.
    """
    # The modules are imported here so that naming a model costs nothing.
    from logoslab.run.models.embedded import EmbeddedModel
    from logoslab.run.models.provider import ProviderModel

    if name == EMBEDDED:
        return EmbeddedModel()
    if name.endswith(".gguf"):
        return EmbeddedModel(Path(name).expanduser())
    aliases = _read()
    if name in aliases:
        return EmbeddedModel(aliases[name])
    if "/" in name:
        return ProviderModel(name, api_base=api_base)
    raise InvalidValue(
        "model",
        got=name,
        allowed=", ".join([EMBEDDED, *sorted(aliases), "a path to a .gguf file, provider/model"]),
        next_step="Correct the name, or add a file with `logoslab models add PATH`.",
    )


def add_gguf(path: str | Path, name: str | None = None) -> str:
    """Keep a GGUF file under an alias in the user's config folder.

    Returns
    -------
    str
        The alias; by default the file's stem in lower case.

    Raises
    ------
    InvalidValue
        When the path is no GGUF file or the alias is not a plain word.
    """
    file = Path(path).expanduser().resolve()
    alias = name or re.sub(r"[^a-z0-9._-]+", "-", file.stem.lower())
    if not _is_gguf(file):
        raise InvalidValue(
            "GGUF file",
            got=file.name,
            allowed="an existing file that begins with the bytes GGUF",
            next_step="Point at a model file in GGUF format.",
        )
    if not _ALIAS.match(alias) or alias == EMBEDDED:
        raise InvalidValue(
            "model alias",
            got=alias,
            allowed=f"1 to 64 of a-z 0-9 . _ - and not {EMBEDDED!r}",
            next_step="Give it another name.",
        )
    with locked(registry_file()):
        kept = {**_read(), alias: str(file)}
        write_atomic(registry_file(), json.dumps(kept, indent=2, sort_keys=True).encode())
    return alias


def list_models() -> list[Listed]:
    """The embedded model and every alias, in order of name."""
    weights = find_default_weights()
    kept = [Listed(n, Path(p), Path(p).is_file()) for n, p in sorted(_read().items())]
    return [Listed(EMBEDDED, weights, weights is not None), *kept]


async def try_model(name: str, *, api_base: str | None = None) -> ModelReply:
    """Ask a model for one word: the shortest proof that a key, a path or a server works.

    Raises
    ------
    ModelError
        With what is missing and what to do.
    """
    model = resolve_model(name, api_base=api_base)
    question = Message(role="user", content="Say yes.")
    schema = {"type": "object", "properties": {"word": {"enum": ["yes", "no"]}}}
    request = ModelRequest(
        model=model.name,
        messages=(question,),
        output_schema={**schema, "required": ["word"]},
        max_tokens=32,
    )
    return await model.complete(request)


def registry_file() -> Path:
    """Where aliases are kept."""
    return config_folder() / "models.json"


def _read() -> dict[str, str]:
    file = registry_file()
    if not file.is_file():
        return {}
    try:
        aliases = json.loads(file.read_text("utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as cause:
        raise _malformed(file) from cause
    if not isinstance(aliases, dict) or not all(isinstance(p, str) for p in aliases.values()):
        raise _malformed(file)
    return aliases


def _is_gguf(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as handle:
        return handle.read(4) == b"GGUF"


def _malformed(file: Path) -> InvalidValue:
    return InvalidValue(
        f"model registry {file.name}",
        got="not a JSON object of alias and path",
        allowed='{"alias": "path"}',
        next_step="Correct or delete the file, then add your models again.",
    )
