"""B_output: hard constraints and acceptance requirements over typed verdicts (LOGOS Eq. 47)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Literal

from pydantic import Field, model_validator

from logoslab.errors import InvalidValue
from logoslab.pack.base import Frozen
from logoslab.pack.verdict import HARD_KINDS, Outcome, StackVerdict, Verdict, VerifierSpec
from logoslab.ports import Verifier, VerifyContext

Aggregate = Literal["all_of", "any_of", "k_of_n", "precedence"]


class Requirement(Frozen):
    """One acceptance requirement (S, A, scope).

    Attributes
    ----------
    scope : str
        ``output`` applies to every task; ``slice:<name>`` to tasks of that slice only.
    verifiers : tuple of str
        Names, strongest first; the order matters for ``precedence``.
    aggregate : str
        Over the applicable verdicts: ``all_of``; ``any_of``; ``k_of_n`` (at least ``k``);
        ``precedence`` (the first applicable decides and later ones are not run, so a judge speaks
        only when nothing stronger applies). An error among the verdicts fails every aggregate.
    required : bool
        Whether the scope must be resolved by at least one applicable verdict. An optional
        requirement without one is left out.
    """

    scope: str = "output"
    verifiers: tuple[str, ...] = Field(min_length=1)
    aggregate: Aggregate = "all_of"
    k: int | None = Field(default=None, ge=1)
    required: bool = True

    @model_validator(mode="after")
    def _k_fits(self) -> Requirement:
        if (self.aggregate == "k_of_n") != (self.k is not None) or (self.k or 1) > len(
            self.verifiers
        ):
            raise InvalidValue(
                f"requirement on {self.scope}",
                got=f"{self.aggregate} with k={self.k} of {len(self.verifiers)}",
                allowed="k from 1 to the number of verifiers, for k_of_n only",
                next_step="Give k_of_n a k, and the others none.",
            )
        return self

    def applies_to(self, context: VerifyContext) -> bool:
        """Whether the task is in this requirement's scope."""
        kind, _, name = self.scope.partition(":")
        return kind != "slice" or name == context.task.slice


class VerifierStack:
    """Judges one output; every doubt is a rejection.

    B_output = B_hard ∧ B_acc. B_hard: every applicable hard check passes. B_acc: every applicable
    requirement's aggregate passes, every required scope has an applicable verdict, and at least
    one requirement is sufficient, i.e. a verifier declared sufficient passed in it. Hard checks
    alone never accept. A crash, a late or missing verdict and an unknown verifier are errors, and
    an error rejects.

    Parameters
    ----------
    verifiers : sequence of Verifier
        With distinct names.
    requirements : sequence of Requirement, optional
        Default: one ``all_of`` requirement for each scope that an acceptance verifier declares.
        The root policy's owner chooses them; they are never read from a pack, which a candidate
        could edit.
    timeout : float, optional
        Seconds after which a verdict is too late and counts as an error.
    timer : callable
        Monotonic seconds.

    Raises
    ------
    InvalidValue
        When two verifiers share a name.
    """

    def __init__(
        self,
        verifiers: Sequence[Verifier],
        requirements: Sequence[Requirement] | None = None,
        *,
        timeout: float | None = None,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        self._by_name = {v.spec.name: v for v in verifiers}
        if len(self._by_name) != len(verifiers):
            raise InvalidValue(
                "verifier stack",
                got=[v.spec.name for v in verifiers],
                allowed="verifiers with distinct names",
                next_step="Rename the duplicates in verifiers.json.",
            )
        self._hard = [v for v in verifiers if v.spec.kind in HARD_KINDS]
        self.requirements = tuple(
            _one_per_scope(verifiers) if requirements is None else requirements
        )
        self._timeout, self._timer = timeout, timer

    def __call__(self, context: VerifyContext) -> StackVerdict:
        """The typed verdict with everything it rests on.

        Acceptance verifiers run only once the hard checks pass: executing an output that breaks
        its schema or carries markup would be the effect the hard checks exist to stop.
        """
        verdicts = [self._run(v, context) for v in self._hard]
        for verdict in verdicts:
            if verdict.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE):
                return _rejected(f"{_said(verdict)} (hard check)", verdicts)
        sufficient = False
        for requirement in self.requirements:
            if not requirement.applies_to(context):
                continue
            found = self._gather(requirement, context)
            verdicts += found
            problem = _problem(requirement, found)
            if problem:
                return _rejected(problem, verdicts)
            sufficient |= any(v.sufficient and v.outcome is Outcome.PASS for v in found)
        if not sufficient:
            return _rejected("no sufficient acceptance evidence applies", verdicts)
        return StackVerdict(
            accepted=True,
            reason="all hard checks and acceptance requirements pass",
            verdicts=tuple(verdicts),
        )

    def _gather(self, requirement: Requirement, context: VerifyContext) -> list[Verdict]:
        found: list[Verdict] = []
        for name in requirement.verifiers:
            verifier = self._by_name.get(name)
            found.append(self._run(verifier, context) if verifier else _missing(name, requirement))
            if (
                requirement.aggregate == "precedence"
                and found[-1].outcome is not Outcome.NOT_APPLICABLE
            ):
                break
        return found

    def _run(self, verifier: Verifier, context: VerifyContext) -> Verdict:
        started = self._timer()
        try:
            verdict = verifier.check(context)
        except Exception as cause:  # noqa: BLE001  a crash of any kind is a recorded rejection
            return _error(verifier.spec, f"crashed with {type(cause).__name__}: {cause}")
        if not isinstance(verdict, Verdict) or verdict.verifier != verifier.spec.name:
            return _error(verifier.spec, "gave no verdict of its own")
        if self._timeout is not None and self._timer() - started > self._timeout:
            return _error(verifier.spec, f"took longer than {self._timeout:g} s")
        # Kind, scope and sufficiency are the declaration's, whatever the verdict says of itself.
        return verdict.replace(
            kind=verifier.spec.kind, scope=verifier.spec.scope, sufficient=verifier.spec.sufficient
        )


def _one_per_scope(verifiers: Sequence[Verifier]) -> list[Requirement]:
    scopes: dict[str, list[str]] = {}
    for verifier in verifiers:
        if verifier.spec.kind not in HARD_KINDS:
            scopes.setdefault(verifier.spec.scope, []).append(verifier.spec.name)
    return [Requirement(scope=s, verifiers=tuple(names)) for s, names in scopes.items()]


def _problem(requirement: Requirement, found: list[Verdict]) -> str | None:
    """Why this requirement does not pass; None when it does or is optional and inapplicable."""
    for verdict in found:
        if verdict.outcome is Outcome.ERROR:
            return _said(verdict)
    applicable = [v for v in found if v.outcome is not Outcome.NOT_APPLICABLE]
    if not applicable:
        unresolved = f"no verdict applies to required scope {requirement.scope}"
        return unresolved if requirement.required else None
    passes = sum(v.outcome is Outcome.PASS for v in applicable)
    needed = {"any_of": 1, "k_of_n": requirement.k or 1}.get(requirement.aggregate, len(applicable))
    if passes >= needed:
        return None
    failed = next((v for v in applicable if v.outcome is Outcome.FAIL), applicable[-1])
    return f"{_said(failed)} ({requirement.aggregate}: {passes} of {needed} passed)"


def _said(verdict: Verdict) -> str:
    return f"{verdict.verifier}: {verdict.outcome.value}, {verdict.detail or 'no detail'}"


def _rejected(reason: str, verdicts: list[Verdict]) -> StackVerdict:
    return StackVerdict(accepted=False, reason=reason, verdicts=tuple(verdicts))


def _error(spec: VerifierSpec, detail: str) -> Verdict:
    return Verdict(
        verifier=spec.name, kind=spec.kind, scope=spec.scope, outcome=Outcome.ERROR, detail=detail
    )


def _missing(name: str, requirement: Requirement) -> Verdict:
    return Verdict(
        verifier=name,
        kind="execution",
        scope=requirement.scope,
        outcome=Outcome.ERROR,
        detail="is required and not declared in verifiers.json",
    )
