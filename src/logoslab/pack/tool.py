"""Tool specification (LOGOS Eq. 27): what may be called, and what calling it does."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Literal

from pydantic import Field, JsonValue, field_validator

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen

Schema = dict[str, JsonValue]
_PATH = re.compile(r"/[A-Za-z0-9_.~{}:\-/]*")


class EffectClass(StrEnum):
    """How far a call reaches, mildest first. The order is the order of severity."""

    READ_ONLY = "read_only"
    TRANSACTIONAL_WRITE = "transactional_write"
    DESTRUCTIVE = "destructive"
    EXTERNAL_SIDE_EFFECT = "external_side_effect"


Match = Literal["equals", "contained_in", "at_most"]
"""How an argument selects rows of a table.

``equals``: same text, ignoring case and outer space. ``contained_in``: the cell occurs in the
argument (a term in a sentence). ``at_most``: the argument is a number no greater than the cell.
"""


class TableBinding(Frozen):
    """Rows of one table that ships in the pack, in file order.

    ``source`` is a CSV file of the pack. ``keys`` maps each key column to how the argument of the
    same name selects. The call returns the first matching row (``{}`` columns → cells), which is
    how a decision table is read; no match is a tool error.
    """

    kind: Literal["table"] = "table"
    source: str
    columns: tuple[str, ...]
    keys: dict[str, Match]


class SqlBinding(Frozen):
    """One guarded SELECT over the pack's tabular sources, read-only."""

    kind: Literal["sql"] = "sql"
    tables: dict[str, str]
    max_rows: int = Field(default=200, ge=1, le=10_000)


class RestBinding(Frozen):
    """One HTTP operation.

    ``body`` maps each field of the request body to the argument that fills it, so renaming a
    field in a drifted API is one edit here and none in the plan. ``service`` is a name; the lab
    resolves it to a base URL at call time, so a pack holds no address.
    """

    kind: Literal["rest"] = "rest"
    service: str
    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    path_arguments: tuple[str, ...] = ()
    query: dict[str, str] = Field(default_factory=dict)
    body: dict[str, str] = Field(default_factory=dict)

    @field_validator("path")
    @classmethod
    def _stays_below_the_service(cls, path: str) -> str:
        # It is joined to the service's base URL and must not be able to leave it.
        if not _PATH.fullmatch(path) or {".", ".."} & set(path.split("/")):
            raise InvalidValue(
                "path of a REST binding",
                got=path,
                allowed="a path that begins with / and holds plain segments",
                next_step="Write it as the service's description does.",
            )
        return path


class HumanBinding(Frozen):
    """Ask a person. Answers come from the human room, never from a model."""

    kind: Literal["human"] = "human"


Binding = TableBinding | SqlBinding | RestBinding | HumanBinding


def _any_object() -> Schema:
    return {"type": "object"}


class ToolSpec(Frozen):
    """The twelve fields of Eq. 27.

    ``auth`` holds the *name* of a credential, resolved at call time; a value never enters a pack.
    """

    name: str = Field(min_length=1, max_length=64, pattern=r"^[a-z][a-z0-9_]*$")
    description: str
    input_schema: Schema
    output_schema: Schema
    error_schema: Schema = Field(default_factory=_any_object)
    recovery: str = ""
    effect: EffectClass = EffectClass.READ_ONLY
    auth: str | None = None
    network: Literal["none", "loopback", "declared_hosts"] = "none"
    rate_per_minute: int | None = None
    idempotency: Literal["safe", "key", "none"] = "safe"
    binding: Binding = Field(discriminator="kind")
