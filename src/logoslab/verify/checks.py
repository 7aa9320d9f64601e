"""The shipped verifiers, found by the name or kind that a pack declares.

``schema`` and ``security`` are hard checks. ``execution`` runs the step's declared check tool.
``copied_span`` is a check of its own, declared with a hard kind (``lint``): a span that does not
occur in the input is never acceptable, and one that does is not yet right.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Final

from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.schema import validator
from logoslab.pack.verdict import Outcome, Verdict, VerifierSpec
from logoslab.ports import Verifier, VerifyContext

MAX_DEPTH: Final = 32

# Every pattern is linear: no nested repetition, so hostile text cannot stall a check.
SUSPECT: Final[dict[str, re.Pattern[str]]] = {
    "a private key": re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----"),
    "a cloud access key": re.compile(r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    "an API token": re.compile(
        r"\b(?:sk|pk|rk|ghp|gho|ghs|glpat|xox[abprs])[-_][A-Za-z0-9_-]{16,}"
    ),
    "a signed web token": re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\."),
    "a password assignment": re.compile(
        r"\b(?:password|passwd|secret|api[_-]?key)\s{0,3}[:=]\s{0,3}\S{6,}", re.I
    ),
    "markup": re.compile(r"<[!/?]?[A-Za-z][^<>]{0,200}>|<script|javascript:|data:text/html", re.I),
    "a chat control token": re.compile(r"<\|[a-z_]{2,20}\|>|\[/?INST\]|<</?SYS>>", re.I),
    "a fetched image link": re.compile(r"!\[[^\]]{0,200}\]\s?\("),
    "control characters": re.compile(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff"
        "\U000e0000-\U000e007f]"
    ),
}


class _Check(ABC):
    """A verifier with a declaration; subclasses say what they look at."""

    kinds: ClassVar[frozenset[str]] = frozenset()
    """Kinds it may be declared with: a schema check cannot pose as acceptance evidence."""

    def __init__(self, spec: VerifierSpec) -> None:
        self.spec = spec

    def check(self, context: VerifyContext) -> Verdict:
        """The typed verdict."""
        outcome, detail = self._look(context)
        return Verdict(
            verifier=self.spec.name,
            kind=self.spec.kind,
            scope=self.spec.scope,
            outcome=outcome,
            detail=detail,
            sufficient=self.spec.sufficient,
        )

    @abstractmethod
    def _look(self, context: VerifyContext) -> tuple[Outcome, str]:
        """Outcome and detail."""


class SchemaCheck(_Check):
    """The output satisfies its JSON schema. References leave the schema's own document nowhere."""

    kinds = frozenset({"schema"})

    def _look(self, context: VerifyContext) -> tuple[Outcome, str]:
        found = validator(dict(context.output_schema)).iter_errors(dict(context.output))
        errors = sorted(found, key=lambda e: e.json_path)
        if not errors:
            return Outcome.PASS, "satisfies its schema"
        # The rule that broke, not the value: a value may be hostile or secret.
        return Outcome.FAIL, f"{errors[0].json_path} breaks {errors[0].validator!r}"


class SecurityCheck(_Check):
    """No secret-like text, control characters, injected markup or undeclared field.

    The detail names the field and the finding and never repeats the text.
    """

    kinds = frozenset({"security"})

    def _look(self, context: VerifyContext) -> tuple[Outcome, str]:
        declared = context.output_schema.get("properties")
        if isinstance(declared, Mapping):
            unknown = sorted(set(context.output) - set(declared))
            if unknown:
                return Outcome.FAIL, f"{len(unknown)} field(s) that the schema does not declare"
        for where, text in texts(context.output):
            for what, pattern in SUSPECT.items():
                if pattern.search(text):
                    return Outcome.FAIL, f"{where} holds {what}"
        return Outcome.PASS, "nothing suspicious"


class ExecutionCheck(_Check):
    """The step's declared check tool accepts the output; not applicable when none is declared."""

    kinds = frozenset({"execution"})

    def _look(self, context: VerifyContext) -> tuple[Outcome, str]:
        if context.execute is None:
            return Outcome.NOT_APPLICABLE, "the step declares no check"
        succeeded, detail = context.execute()
        return (Outcome.PASS if succeeded is True else Outcome.FAIL), detail


class CopiedSpanCheck(_Check):
    """Every free-text field of the output occurs in some text of the inputs.

    Case and runs of white space do not matter. Fields with a closed list of values (``enum`` or
    ``const``) are answers, not spans, and are left out. An empty span is no span: it fails.
    """

    kinds = frozenset({"lint", "syntax", "execution"})

    def _look(self, context: VerifyContext) -> tuple[Outcome, str]:
        spans = [(f, v) for f, v in context.output.items() if _is_free_text(f, v, context)]
        if not spans:
            return Outcome.NOT_APPLICABLE, "no free-text field"
        sources = [_plain(text) for _, text in texts(context.inputs)]
        for field, span in spans:
            wanted = _plain(span)
            if not wanted or not any(wanted in source for source in sources):
                return Outcome.FAIL, f"{field} is not a span of the input"
        return Outcome.PASS, "every span occurs in the input"


class ExactCheck(_Check):
    """The output equals the expected fields. Given by an evaluator: a pack never holds labels."""

    def __init__(self, spec: VerifierSpec, expected: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(spec)
        self._expected = expected

    def _look(self, context: VerifyContext) -> tuple[Outcome, str]:
        expected = self._expected.get(context.task.id)
        if expected is None:
            return Outcome.NOT_APPLICABLE, "no expected answer for this task"
        wrong = sorted(f for f, v in expected.items() if context.output.get(f) != v)
        if wrong:
            return Outcome.FAIL, f"differs in {', '.join(wrong)}"
        return Outcome.PASS, "equals the expected answer"


class _Unknown(_Check):
    """Stands for a declaration that nothing here implements; its error rejects."""

    def _look(self, context: VerifyContext) -> tuple[Outcome, str]:
        return Outcome.ERROR, f"no verifier of this name has kind {self.spec.kind!r}"


_CHECKS: Final[dict[str, type[_Check]]] = {
    "schema": SchemaCheck,
    "security": SecurityCheck,
    "execution": ExecutionCheck,
    "copied_span": CopiedSpanCheck,
}


def verifiers_for(
    pack: AgentPack, given: Mapping[str, Verifier] | None = None
) -> tuple[Verifier, ...]:
    """The verifiers that a pack declares, in its order.

    Parameters
    ----------
    pack : AgentPack
    given : mapping, optional
        Name → verifier for declarations that need something a pack cannot hold (labels, a judge).

    Returns
    -------
    tuple of Verifier
        A name given by the caller wins, then a shipped name (``schema``, ``security``,
        ``execution``, ``copied_span``), then a shipped kind. An unknown declaration, or one of a
        kind that the check does not fit, becomes a verifier that answers ``error``: the stack
        rejects.
    """
    return tuple((given or {}).get(spec.name) or _shipped(spec) for spec in pack.verifiers)


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """Every string in a JSON value, keys included, with the top-level field it is under.

    Raises
    ------
    ValueError
        Beyond 32 levels of nesting; a verifier that meets it rejects.
    """
    stack = [("output", value, 0)]
    while stack:
        where, node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
        if isinstance(node, str):
            yield where, node
        elif isinstance(node, Mapping):
            for position, (key, child) in enumerate(node.items()):
                name = f"field {position + 1}" if depth == 0 else where
                yield name, str(key)
                stack.append((name, child, depth + 1))
        elif isinstance(node, list | tuple):
            stack += [(where, child, depth + 1) for child in node]


def _shipped(spec: VerifierSpec) -> Verifier:
    found = _CHECKS.get(spec.name) or _CHECKS.get(spec.kind)
    return found(spec) if found and spec.kind in found.kinds else _Unknown(spec)


def _is_free_text(field: str, value: Any, context: VerifyContext) -> bool:
    schema = context.output_schema.get("properties", {}).get(field, {})
    return isinstance(value, str) and not {"enum", "const"} & set(schema)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
