"""Plain JSON from YAML or JSON, and ``#/`` references inside it. Opens no other file or address."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import yaml

MAX_NODES = 200_000
MAX_DEPTH = 80


class ReferenceProblem(ValueError):
    """A reference that is not followed. ``code`` is dangling_ref, cyclic_ref or remote_ref."""

    def __init__(self, code: str, ref: str) -> None:
        self.code, self.ref = code, ref
        super().__init__(f"{code.replace('_', ' ')}: {ref[:120]!r}")


def parse(text: str) -> Any:
    """JSON, else YAML, as plain JSON values with string keys.

    Raises
    ------
    ValueError
        Not parsable, nested deeper than 80, or over 200,000 nodes once aliases are written out.
    """
    try:
        loaded = json.loads(text) if text.lstrip()[:1] in "{[" else yaml.safe_load(text)
    except (json.JSONDecodeError, yaml.YAMLError) as cause:
        raise ValueError(str(cause).splitlines()[0]) from cause
    except (RecursionError, TypeError, AttributeError, OverflowError) as cause:
        raise ValueError(f"not plain data ({type(cause).__name__})") from cause
    return _plain(loaded, [MAX_NODES], 0)


def _plain(node: Any, left: list[int], depth: int) -> Any:
    left[0] -= 1
    if left[0] < 0 or depth > MAX_DEPTH:
        raise ValueError("too large or too deep once aliases are written out")
    if isinstance(node, Mapping):
        return {str(key): _plain(value, left, depth + 1) for key, value in node.items()}
    if isinstance(node, list | tuple | set):
        return [_plain(value, left, depth + 1) for value in node]
    if isinstance(node, float) and not -1e308 < node < 1e308:
        raise ValueError("a number that JSON does not have")
    if node is None or isinstance(node, bool | int | float | str):
        return node
    return str(node)  # YAML dates and times


def bad_references(document: Any) -> list[ReferenceProblem]:
    """Every reference that leaves the document or points at nothing in it."""
    found: list[ReferenceProblem] = []
    todo = [document]
    while todo:
        node = todo.pop()
        if isinstance(node, dict):
            ref = node.get("$ref")
            if isinstance(ref, str):
                try:
                    lookup(document, ref)
                except ReferenceProblem as problem:
                    found.append(problem)
            todo.extend(node.values())
        elif isinstance(node, list):
            todo.extend(node)
    return found


def lookup(document: Any, ref: str) -> Any:
    """What a ``#/…`` pointer points at.

    Raises
    ------
    ReferenceProblem
        ``remote_ref`` unless it starts with ``#/``; ``dangling_ref`` when nothing is there.
    """
    if not ref.startswith("#/"):
        raise ReferenceProblem("remote_ref", ref)
    node = document
    for part in ref[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdigit() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise ReferenceProblem("dangling_ref", ref)
    return node


def resolve(document: Any, node: Any, open_refs: tuple[str, ...] = ()) -> Any:
    """``node`` with every reference written out.

    Raises
    ------
    ReferenceProblem
        On a remote, dangling or cyclic reference.
    """
    if isinstance(node, list):
        return [resolve(document, item, open_refs) for item in node]
    if not isinstance(node, dict):
        return node
    ref = node.get("$ref")
    if isinstance(ref, str):
        if ref in open_refs or len(open_refs) > MAX_DEPTH:
            raise ReferenceProblem("cyclic_ref", ref)
        return resolve(document, lookup(document, ref), (*open_refs, ref))
    return {key: resolve(document, value, open_refs) for key, value in node.items()}


def modern(schema: Any) -> Any:
    """An OpenAPI 3.0 schema as JSON Schema: ``nullable`` and boolean exclusive bounds."""
    if isinstance(schema, list):
        return [modern(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    new = {key: modern(value) for key, value in schema.items()}
    for bound, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if isinstance(new.get(exclusive), bool) and new.pop(exclusive) and bound in new:
            new[exclusive] = new.pop(bound)
    if new.get("nullable") is True and isinstance(new.get("type"), str):
        new["type"] = [new["type"], "null"]
        if isinstance(new.get("enum"), list) and None not in new["enum"]:
            new["enum"] = [*new["enum"], None]
        del new["nullable"]
    return new
