"""OpenAPI 3.x → one tool an operation, with the effect that calling it has.

The effect class follows from the HTTP verb: GET reads, POST, PUT and PATCH write, DELETE destroys.
An operation's ``x-effect`` may raise the class (a POST that reaches the outside world), never
lower it. The service is named after the title; its address is not taken from the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pydantic import ValidationError

from logoslab.compile.ingest.bounds import diagnostic, identifier, read_text, unique
from logoslab.compile.ingest.references import (
    ReferenceProblem,
    bad_references,
    modern,
    parse,
    resolve,
)
from logoslab.pack.base import digest_bytes
from logoslab.pack.source import Artefact, Diagnostic, Provenance, SourceReading
from logoslab.pack.tool import EffectClass, RestBinding, Schema, ToolSpec

EFFECT_OF = {
    "get": EffectClass.READ_ONLY,
    "post": EffectClass.TRANSACTIONAL_WRITE,
    "put": EffectClass.TRANSACTIONAL_WRITE,
    "patch": EffectClass.TRANSACTIONAL_WRITE,
    "delete": EffectClass.DESTRUCTIVE,
}
METHOD_OF: dict[str, Literal["GET", "POST", "PUT", "PATCH", "DELETE"]] = {
    "get": "GET", "post": "POST", "put": "PUT", "patch": "PATCH", "delete": "DELETE",
}  # fmt: skip
SEVERITY = tuple(EffectClass)
MAX_OPERATIONS = 300
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


class Operation(NamedTuple):
    """One operation with every reference written out."""

    path: str
    verb: str
    detail: dict[str, Any]
    parameters: list[dict[str, Any]]

    @property
    def name(self) -> str:
        """The operation's id as a tool name."""
        return identifier(str(self.detail.get("operationId") or f"{self.verb}_{self.path}"), "call")

    @property
    def body_schema(self) -> Schema | None:
        """The JSON schema of the request body, if it has one."""
        content = self.detail.get("requestBody", {}).get("content", {})
        found = content.get("application/json", {}).get("schema")
        return found if isinstance(found, dict) else None

    def response_schema(self, *codes: str) -> Schema | None:
        """The JSON schema of the first of these responses that documents one."""
        responses = self.detail.get("responses", {})
        for code in codes:
            content = responses.get(code, {}).get("content", {})
            found = content.get("application/json", {}).get("schema")
            if isinstance(found, dict):
                return found
        return None


class OpenApiAdapter:
    """OpenAPI 3.0 and 3.1, in YAML or JSON."""

    suffixes: tuple[str, ...] = (".yaml", ".yml", ".json")

    def read(self, path: Path) -> SourceReading:
        """Tools of every operation that can be read, and the document as an ``api`` artefact."""
        name = path.name
        found = read_text(path)
        if isinstance(found, Diagnostic):
            return SourceReading(source=name, diagnostics=(found,))
        text, data, notes = found
        checked = _document(name, text)
        if not isinstance(checked, dict):
            return SourceReading(source=name, diagnostics=(*notes, *checked))
        made = list(_tools(name, checked))
        artefact = Artefact(
            name=identifier(path.stem, "api"),
            kind="api",
            document=checked,
            provenance=Provenance(source=name, content_digest=digest_bytes(data)),
        )
        return SourceReading(
            source=name,
            tools=tuple(m for m in made if isinstance(m, ToolSpec)),
            artefacts=(artefact,),
            diagnostics=(*notes, *(m for m in made if isinstance(m, Diagnostic))),
        )


def service_name(document: dict[str, Any]) -> str:
    """The service that a document describes: its title without the words API and service."""
    title = str(document.get("info", {}).get("title") or "service")
    return identifier(re.sub(r"(?i)\b(api|service|the)\b", " ", title), "service")


def operations(document: dict[str, Any]) -> Iterator[Operation | Diagnostic]:
    """Every operation, resolved; one that cannot be resolved gives a diagnostic."""
    for path, item in document["paths"].items():
        shared = item.get("parameters", []) if isinstance(item, dict) else []
        for verb, raw in item.items() if isinstance(item, dict) else ():
            if verb not in EFFECT_OF or not isinstance(raw, dict):
                continue
            where = f"{verb.upper()} {path}"
            try:
                old = str(document.get("openapi", "")).startswith("3.0")
                detail, common = resolve(document, raw), resolve(document, shared)
                detail, common = (modern(detail), modern(common)) if old else (detail, common)
                merged = {(p["name"], p["in"]): p for p in [*common, *detail.get("parameters", [])]}
                yield Operation(path, verb, detail, list(merged.values()))
            except ReferenceProblem as problem:
                yield diagnostic(
                    "", problem.code, f"{where}: {problem}", "Write the schema without the cycle."
                )
            except (KeyError, TypeError, AttributeError) as cause:
                yield _skipped(where, f"parameters or body are malformed ({type(cause).__name__})")


def _document(name: str, text: str) -> dict[str, Any] | list[Diagnostic]:
    try:
        document = parse(text)
    except ValueError as cause:
        return [diagnostic(name, "bad_api", f"{name}: {cause}", "Correct the YAML or JSON.")]
    version = str(document.get("openapi", "")) if isinstance(document, dict) else ""
    paths = document.get("paths") if isinstance(document, dict) else None
    info = document.get("info") if isinstance(document, dict) else None
    if not version.startswith("3.") or not isinstance(paths, dict) or not isinstance(info, dict):
        return [
            diagnostic(
                name,
                "bad_api",
                f"{name}: not an OpenAPI 3 document with info and paths "
                f"(openapi is {version[:20] or 'absent'!r})",
                "Give an OpenAPI 3.0 or 3.1 description; convert 2.0 first.",
            )
        ]
    advice = {
        "remote_ref": "Copy the schema under components and point at it with '#/components/…'.",
        "dangling_ref": "Add what the reference points at, or correct the reference.",
    }
    found = [
        diagnostic(name, p.code, f"{name}: {p}", advice[p.code]) for p in bad_references(document)
    ]
    return found or document


def _tools(source: str, document: dict[str, Any]) -> Iterator[ToolSpec | Diagnostic]:
    taken: set[str] = set()
    for number, operation in enumerate(operations(document)):
        if number >= MAX_OPERATIONS:
            yield _skipped(source, f"only the first {MAX_OPERATIONS} operations are read")
            return
        if isinstance(operation, Diagnostic):
            yield operation.replace(source=source)
            continue
        try:
            yield from _tool(source, document, operation, unique(operation.name, taken))
        except (KeyError, TypeError, AttributeError, ValidationError) as cause:
            where = f"{operation.verb.upper()} {operation.path}"
            yield _skipped(where, f"malformed ({type(cause).__name__})").replace(source=source)


def _tool(
    source: str, document: dict[str, Any], operation: Operation, name: str
) -> Iterator[ToolSpec | Diagnostic]:
    where = f"{operation.verb.upper()} {operation.path}"
    body = operation.body_schema
    if body is not None and not _fields(body):
        yield _skipped(where, "its body is not a JSON object with properties").replace(
            source=source
        )
        return
    effect, lowered = _effect(operation)
    if lowered:
        yield diagnostic(
            source,
            "effect_lowered",
            f"{where}: x-effect {lowered!r} would lower the class {effect.value!r}; ignored",
            "x-effect may only raise the class that follows from the verb.",
        )
    arguments, binding, required = _arguments(document, operation, body)
    writes = effect is not EffectClass.READ_ONLY
    detail = operation.detail
    yield ToolSpec(
        name=name,
        description=str(detail.get("summary") or detail.get("description") or where)[:500],
        input_schema={
            "type": "object",
            "properties": arguments,
            "required": required,
            "additionalProperties": False,
        },
        output_schema=operation.response_schema("200", "201", "202", "2XX", "default") or {},
        error_schema=operation.response_schema("422", "400", "4XX") or {"type": "object"},
        recovery="The service says which fields are missing, unexpected or wrong."
        if writes
        else "",
        effect=effect,
        auth=_auth(document, operation),
        network="loopback" if _is_loopback(document) else "declared_hosts",
        idempotency="key" if writes else "safe",
        binding=binding,
    )


def _effect(operation: Operation) -> tuple[EffectClass, str]:
    """The effect class, and the declared class when it was ignored."""
    base, declared = EFFECT_OF[operation.verb], str(operation.detail.get("x-effect", ""))
    if declared not in SEVERITY:
        return base, declared[:40]
    if SEVERITY.index(EffectClass(declared)) < SEVERITY.index(base):
        return base, declared
    return EffectClass(declared), ""


def _arguments(
    document: dict[str, Any], operation: Operation, body: Schema | None
) -> tuple[dict[str, Any], RestBinding, list[Any]]:
    """Argument schemas, how they fill the request, and which are required."""
    properties: dict[str, Any] = {}
    required: list[Any] = []
    path_arguments: list[str] = []
    query: dict[str, str] = {}
    for parameter in operation.parameters:
        name = str(parameter["name"])
        if parameter["in"] == "path":
            path_arguments.append(name)
        elif parameter["in"] == "query":
            query[name] = name
        else:
            continue
        properties[name] = parameter.get("schema") or {"type": "string"}
        if parameter["in"] == "path" or parameter.get("required"):
            required.append(name)
    fields: dict[str, str] = {}
    for field, schema in _fields(body).items():
        fields[field] = field if field not in properties else f"body_{field}"
        properties[fields[field]] = schema
    needed = body.get("required") if body else None
    required += [fields[f] for f in needed if f in fields] if isinstance(needed, list) else []
    binding = RestBinding(
        service=service_name(document),
        method=METHOD_OF[operation.verb],
        path=operation.path,
        path_arguments=tuple(path_arguments),
        query=query,
        body=fields,
    )
    return properties, binding, required


def _fields(body: Schema | None) -> Schema:
    properties = body.get("properties") if body else None
    return properties if isinstance(properties, dict) else {}


def _auth(document: dict[str, Any], operation: Operation) -> str | None:
    """The name of the first security scheme that the operation asks for."""
    asked = operation.detail.get("security", document.get("security")) or []
    names = [name for scheme in asked if isinstance(scheme, dict) for name in scheme]
    return identifier(names[0], "credential") if names else None


def _is_loopback(document: dict[str, Any]) -> bool:
    servers = document.get("servers") or []
    hosts = [urlsplit(str(s.get("url", ""))).hostname for s in servers if isinstance(s, dict)]
    return bool(hosts) and all(host in LOOPBACK for host in hosts)


def _skipped(where: str, why: str) -> Diagnostic:
    return diagnostic(
        "", "operation_skipped", f"{where}: {why}", "Correct it in the description if it is needed."
    )
