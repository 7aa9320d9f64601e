"""B_output: what accepts, and that every doubt rejects."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from logoslab.errors import InvalidValue
from logoslab.pack.task import Task
from logoslab.pack.verdict import Outcome, Verdict, VerifierSpec
from logoslab.ports import VerifyContext
from logoslab.verify import Requirement, VerifierStack

CONTEXT = VerifyContext(Task(id="t", slice="payroll"), {}, {}, {})
P, F, N, E = Outcome.PASS, Outcome.FAIL, Outcome.NOT_APPLICABLE, Outcome.ERROR


class Says:
    """A verifier that always says the same and counts how often it was asked."""

    def __init__(
        self, name: str, outcome: Outcome, kind: Any = "execution", *, sufficient: bool = True,
        scope: str = "output",
    ) -> None:  # fmt: skip
        self.spec = VerifierSpec(
            name=name, kind=kind, assurance="execution", sufficient=sufficient, scope=scope
        )
        self.outcome, self.asked = outcome, 0

    def check(self, context: VerifyContext) -> Verdict:
        self.asked += 1
        return Verdict(
            verifier=self.spec.name, kind="execution", scope="?", outcome=self.outcome,
            detail="said so", sufficient=True,
        )  # fmt: skip


def judge(*verifiers: Any, requirements: list[Requirement] | None = None) -> tuple[bool, str]:
    """Accepted, and why."""
    verdict = VerifierStack(verifiers, requirements)(CONTEXT)
    return verdict.accepted, verdict.reason


def test_hard_and_sufficient_acceptance_accept() -> None:
    """Schema passes and the execution check passes: accepted."""
    assert judge(Says("schema", P, "schema"), Says("run", P)) == (
        True,
        "all hard checks and acceptance requirements pass",
    )


def test_the_truth_table_of_one_hard_and_one_acceptance_check() -> None:
    """Of 16 pairs only (pass | not applicable, pass) accepts."""
    accepted = {
        (h, a)
        for h, a in product(Outcome, repeat=2)
        if judge(Says("hard", h, "security"), Says("run", a))[0]
    }
    assert accepted == {(P, P), (N, P)}


def test_hard_checks_alone_never_accept() -> None:
    """An empty acceptance is a rejection, and so is an empty stack."""
    nothing = (False, "no sufficient acceptance evidence applies")
    assert judge(Says("schema", P, "schema")) == nothing
    assert judge() == nothing


def test_insufficient_evidence_does_not_accept() -> None:
    """A passing check that is not declared sufficient leaves the second factor at 0."""
    assert judge(Says("lint-like", P, sufficient=False)) == (
        False,
        "no sufficient acceptance evidence applies",
    )


def test_a_verdict_cannot_declare_itself_sufficient_or_change_kind() -> None:
    """The declaration counts: the verdict above said sufficient=True and scope '?'."""
    verdict = VerifierStack([Says("v", P, "learned", sufficient=False)])(CONTEXT).verdicts[0]
    assert (verdict.sufficient, verdict.kind, verdict.scope) == (False, "learned", "output")


def test_a_failed_hard_check_stops_before_anything_is_executed() -> None:
    """The acceptance check is not run on an output that breaks its schema."""
    run = Says("run", P)
    assert judge(Says("schema", F, "schema"), run) == (
        False,
        "schema: fail, said so (hard check)",
    )
    assert run.asked == 0


def raising(error: Exception) -> Callable[[VerifyContext], Verdict]:
    """A check that raises."""

    def check(context: VerifyContext) -> Verdict:
        raise error

    return check


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (raising(ZeroDivisionError("1/0")), "run: error, crashed with ZeroDivisionError: 1/0"),
        (raising(TimeoutError("30 s")), "run: error, crashed with TimeoutError: 30 s"),
        (lambda context: "pass", "run: error, gave no verdict of its own"),
        (lambda context: None, "run: error, gave no verdict of its own"),
        (Says("other", P).check, "run: error, gave no verdict of its own"),
    ],
)
def test_crash_timeout_and_unparsable_are_errors_and_reject(check: Any, reason: str) -> None:
    """Whatever goes wrong in a check, the output is not accepted and the reason is kept."""
    broken = Says("run", P)
    broken.check = check  # type: ignore[method-assign]
    assert judge(broken) == (False, reason)


def test_a_late_verdict_is_an_error() -> None:
    """A pass after 5 seconds with 2 allowed rejects (time is scripted)."""
    ticks = iter([0.0, 5.0])
    stack = VerifierStack([Says("run", P)], timeout=2.0, timer=lambda: next(ticks))
    assert stack(CONTEXT).reason == "run: error, took longer than 2 s"


AGGREGATES: list[tuple[str, int | None, tuple[Outcome, ...], bool]] = [
    ("all_of", None, (P, P, N), True),
    ("all_of", None, (P, F, P), False),
    ("any_of", None, (F, P, N), True),
    ("any_of", None, (F, F, F), False),
    ("any_of", None, (P, E, P), False),
    ("k_of_n", 2, (P, F, P), True),
    ("k_of_n", 2, (P, F, N), False),
    ("k_of_n", 2, (P, N, N), False),
    ("precedence", None, (N, P, F), True),
    ("precedence", None, (N, F, P), False),
    ("precedence", None, (P, E, E), True),
    ("precedence", None, (E, P, P), False),
    ("all_of", None, (N, N, N), False),
]


@pytest.mark.parametrize(("how", "k", "said", "passes"), AGGREGATES)
def test_aggregates(how: Any, k: int | None, said: tuple[Outcome, ...], passes: bool) -> None:
    """Over applicable verdicts only; one error fails every aggregate that consulted it."""
    names = ("a", "b", "c")
    requirement = Requirement(verifiers=names, aggregate=how, k=k)
    verifiers = [Says(n, o) for n, o in zip(names, said, strict=True)]
    assert judge(*verifiers, requirements=[requirement])[0] is passes


def test_a_judge_speaks_only_when_nothing_stronger_applies() -> None:
    """Precedence does not even run what it does not need."""
    judge_verifier = Says("judge", P, "judge")
    requirement = Requirement(verifiers=("run", "judge"), aggregate="precedence")
    assert not judge(Says("run", F), judge_verifier, requirements=[requirement])[0]
    assert judge_verifier.asked == 0


def test_reasons_name_scope_and_count() -> None:
    """The rejection says which verifier, which aggregate, how many."""
    assert judge(Says("a", F), Says("b", P)) == (False, "a: fail, said so (all_of: 1 of 2 passed)")
    assert judge(Says("a", N)) == (False, "no verdict applies to required scope output")


def test_scopes() -> None:
    """A requirement of another slice does not apply; an optional one may stay unresolved."""
    run = Says("run", P)
    other = Requirement(scope="slice:vendor", verifiers=("missing",))
    mine = Requirement(scope="slice:payroll", verifiers=("missing",))
    optional = Requirement(scope="style", verifiers=("style",), required=False)
    always = Requirement(verifiers=("run",))
    assert judge(run, requirements=[always, other])[0]
    assert judge(run, requirements=[always, mine]) == (
        False,
        "missing: error, is required and not declared in verifiers.json",
    )
    assert judge(run, Says("style", N), requirements=[always, optional])[0]
    assert not judge(run, Says("style", F), requirements=[always, optional])[0]


def test_every_declared_scope_must_be_resolved() -> None:
    """Two acceptance verifiers of two scopes are two requirements by default."""
    assert not judge(Says("run", P), Says("draft", N, scope="draft"))[0]


def test_duplicates_and_impossible_requirements_are_refused() -> None:
    """Two verifiers of one name, or k above n, are configuration errors."""
    with pytest.raises(InvalidValue) as caught:
        VerifierStack([Says("a", P), Says("a", F)])
    assert str(caught.value) == (
        "verifier stack: allowed verifiers with distinct names; got ['a', 'a']. "
        "Rename the duplicates in verifiers.json."
    )
    for wrong in ({"k": 1}, {"aggregate": "k_of_n"}, {"aggregate": "k_of_n", "k": 3}):
        with pytest.raises(ValueError, match="requirement on output"):
            Requirement(verifiers=("a", "b"), **wrong)
