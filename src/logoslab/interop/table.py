"""What every reader hands on: a table as columns, and what the format itself says about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple


class Headline(NamedTuple):
    """A result that a file states about itself, and the name under which it states it."""

    value: float
    name: str


class Table(NamedTuple):
    """One file's rows, column by column, before anybody has decided what the columns mean.

    Attributes
    ----------
    format : str
        What the file is, in words.
    columns : mapping of name → sequence
        All of one length.
    fixed : mapping
        Columns that the format defines (``task``, ``score``, ``replicate``, ``cost``,
        ``latency``, ``slice`` → name): they are not guesses.
    candidates : tuple of str
        Columns that may be the score, for a format that names its score columns by a pattern.
    headline : Headline, optional
    total : int, optional
        How many tasks the file says there are, listed or not.
    unlisted : float, optional
        Value of a task that the file does not list, when its form says so.
    notes : tuple of str
    """

    format: str
    columns: Mapping[str, Sequence[Any]]
    fixed: Mapping[str, str] = {}
    candidates: tuple[str, ...] = ()
    headline: Headline | None = None
    total: int | None = None
    unlisted: float | None = None
    notes: tuple[str, ...] = ()


def named(names: Sequence[str], columns: Iterable[Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """Columns by name. Raises ``ValueError`` when two have the same one."""
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise ValueError(f"two columns of one name, {twice!r}")
    return dict(zip(names, columns, strict=True))


def of_records(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Columns of a list of records; a key that a record lacks is None there.

    A key of an object inside a record is the column ``outer.inner``. Raises ``ValueError`` when
    that is another key's name already.
    """
    flat = [_flat(record) for record in records]
    names = dict.fromkeys(name for record in flat for name in record)
    return {name: [record.get(name) for record in flat] for name in names}


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    if dict not in map(type, record.values()):
        return dict(record)
    found: dict[str, Any] = {}
    for name, value in record.items():
        inside = _flat(value) if isinstance(value, dict) else {}
        more = {f"{name}.{key}": part for key, part in inside.items()} or {name: value}
        if twice := found.keys() & more:
            raise ValueError(f"{min(twice)!r} stands twice in one object")
        found |= more
    return found
