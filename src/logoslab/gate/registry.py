"""Admission rules by name: the shipped ones, and those that other packages bring."""

from __future__ import annotations

import warnings
from difflib import get_close_matches
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from inspect import isabstract
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import PydanticUndefined

from logoslab.errors import InvalidValue
from logoslab.gate.adoption import AdoptionReport
from logoslab.gate.anytime import AnytimeGate
from logoslab.gate.asking import asked, require_rule
from logoslab.gate.bootstrap import BootstrapInterval
from logoslab.gate.controlled import ReplayControlled
from logoslab.gate.corpus import CorpusGuard
from logoslab.gate.forward import ForwardTrial
from logoslab.gate.harness import ReplayCaptured, ReplayNarrowed, TargetOnly
from logoslab.gate.paired import PairedGate
from logoslab.gate.pass_set import PassSet
from logoslab.gate.peers import AcceptAll, McNemar, MeanImproves, MinibatchSum
from logoslab.gate.proxy import Proxy
from logoslab.gate.rollout import Rollout
from logoslab.gate.rule import Rule, range_of
from logoslab.gate.self_judged import CommitFirst, SelfJudged
from logoslab.gate.sequential import EValuePairs, Sprt
from logoslab.gate.validated_route import ValidatedRoute
from logoslab.gate.wilcoxon import Wilcoxon
from logoslab.pack.decision import Decision
from logoslab.pack.evidence import Evidence
from logoslab.pack.policy import Evaluator
from logoslab.ports import AdmissionRule

if TYPE_CHECKING:
    import pandas as pd

ENTRY_POINTS: Final = "logoslab.rules"
"""Entry-point group in which another package names its :class:`Rule` classes."""

RULES: Final[dict[str, type[Rule]]] = {
    rule.name: rule
    for rule in (
        PairedGate,
        AnytimeGate,
        AcceptAll,
        MeanImproves,
        MinibatchSum,
        McNemar,
        Wilcoxon,
        BootstrapInterval,
        Sprt,
        EValuePairs,
        Proxy,
        PassSet,
        ValidatedRoute,
        TargetOnly,
        ReplayCaptured,
        ReplayNarrowed,
        ReplayControlled,
        ForwardTrial,
        CorpusGuard,
        AdoptionReport,
        Rollout,
        SelfJudged,
        CommitFirst,
    )
}
"""The shipped rules."""

PROMOTING: Final = (PairedGate.name, AnytimeGate.name)
"""Rules whose decisions can carry a promotion; the others exist to be compared with."""


def all_rules() -> dict[str, type[Rule]]:
    """Shipped rules and those of installed packages, by name.

    An entry point of group ``logoslab.rules`` that does not load, is no :class:`Rule`, or takes a
    name that is in use is left out with a warning that names it and its package.
    """
    found, broken = _plugins()
    for refusal in broken.values():
        warnings.warn(f"left out {refusal}", stacklevel=2)
    return {**RULES, **found}


def default_rules() -> dict[str, Rule]:
    """A rule object of each of :func:`all_rules` that has a default for every parameter."""
    return {
        name: rule()
        for name, rule in all_rules().items()
        if not any(field.is_required() for field in rule.model_fields.values())
    }


def rule_named(name: str, evaluator: Evaluator | None = None, /, **params: Any) -> Rule:
    """The rule of that name.

    Parameters
    ----------
    name : str
        A name in :func:`all_rules`.
    evaluator : Evaluator, optional
        The root policy's values for the parameters that the rule has.
    **params
        Override single parameters.

    Raises
    ------
    InvalidValue
        On an unknown name or parameter, where the message lists the allowed ones; or on the name
        of an installed rule that cannot be used.
    """
    # A shipped rule is found without the installed packages: one broken plugin stops no gate.
    rule = RULES.get(str(name)) or _installed(str(name))
    declared = evaluator.model_dump() if evaluator else {}
    return rule(**{**{k: v for k, v in declared.items() if k in rule.model_fields}, **params})


def judge(evidence: Evidence, rule: str | AdmissionRule, /, **params: Any) -> Decision:
    """What a rule concludes from evidence. Nothing is recorded, priced or promoted.

    Parameters
    ----------
    evidence : Evidence
    rule : str or AdmissionRule
        A name in :func:`rules`, or a rule object.
    **params
        Parameters of a rule given by name.

    Raises
    ------
    InvalidValue
        On an unknown name or parameter, parameters for a rule object, something that is no rule
        or no evidence, or a rule that breaks.
    EvidenceError
        When a value is infinite or not a number.
    """
    if isinstance(rule, str):
        return asked(rule_named(rule, **params), evidence)
    known = require_rule(rule)
    if params:
        raise InvalidValue(
            f"parameters beside a rule object {known.name}",
            got=", ".join(params),
            allowed="none: the object has its own",
            next_step="Set them when you make the rule.",
        )
    return asked(known, evidence)


def rules() -> pd.DataFrame:
    """Every rule: name, what it needs, parameters with default and range, source, claim."""
    import pandas as pd

    rows = [
        {
            "rule": name,
            "accepts": (rule.__doc__ or "").split("\n\n")[0].replace("\n", " ").strip(),
            "needs": rule.needs.words(),
            "parameters": "; ".join(parameters_of(rule)),
            "promotes": name in PROMOTING,
            "claim": rule.claim,
            "source": rule.source,
        }
        for name, rule in all_rules().items()
    ]
    return pd.DataFrame(rows)


def parameters_of(rule: type[Rule]) -> list[str]:
    """Each parameter of a rule as ``name=default (range): meaning``."""
    return [
        f"{name}={'required' if f.default is PydanticUndefined else f.default} "
        f"({range_of(f)}): {f.description}"
        for name, f in rule.model_fields.items()
    ]


def promoting_rules(*, level: float | None = None, **params: Any) -> dict[str, Rule]:
    """The rules that can carry a promotion, each with those parameters that it has.

    Made for what-if questions: ``ll.widgets.GateStepper(evidence, ll.gate.promoting_rules)``.

    Parameters
    ----------
    level : float, optional
        The level that a ledger gave the anytime gate; by default ``alpha``. To step through a
        decision as it was made, bind its level: ``partial(promoting_rules, level=…)``.
    **params
        ``delta_min``, ``eps_reg``, ``r_max``, ``rho_max``, ``alpha`` as in the root policy.
    """
    evaluator = Evaluator(**params)
    own = {AnytimeGate.name: {"level": level}}
    return {name: rule_named(name, evaluator, **own.get(name, {})) for name in PROMOTING}


def _installed(name: str) -> type[Rule]:
    found, broken = _plugins()
    if name in broken:
        raise broken[name]
    if name not in found:
        known = [*RULES, *found]
        near = get_close_matches(name, known, n=1)
        raise InvalidValue(
            "admission rule",
            got=name,
            allowed=", ".join(known),
            next_step=f"Did you mean {near[0]}?"
            if near
            else "Choose one of these names, or pass a rule object.",
        )
    return found[name]


@cache
def _plugins() -> tuple[dict[str, type[Rule]], dict[str, InvalidValue]]:
    """Rules of installed packages by name, and by entry point why others cannot be used."""
    found: dict[str, type[Rule]] = {}
    broken = {}
    for entry in entry_points(group=ENTRY_POINTS):
        try:
            rule = _loaded(entry, {**RULES, **found})
        except InvalidValue as refusal:
            broken[entry.name] = refusal
        else:
            found[rule.name] = rule
    return found, broken


def _loaded(entry: EntryPoint, taken: dict[str, type[Rule]]) -> type[Rule]:
    try:
        rule = entry.load()
    except Exception as cause:
        got = f"{type(cause).__name__}: {cause}"
        raise _bad_plugin(entry, got, "a class that loads") from cause
    if not (isinstance(rule, type) and issubclass(rule, Rule)):
        raise _bad_plugin(entry, repr(rule), "a subclass of logoslab.gate.Rule")
    silent = [known for known in ("name", "source") if not _says(rule, known)]
    if silent:
        raise _bad_plugin(entry, f"a rule without {silent[0]}", "a rule with name and source")
    if isabstract(rule):
        missing = ", ".join(sorted(rule.__abstractmethods__))
        raise _bad_plugin(entry, f"a rule without {missing}", "a rule that can judge")
    if rule.name in taken:
        got = f"the name {rule.name!r}, which is in use"
        raise _bad_plugin(entry, got, "a name of its own")
    return rule


def _says(rule: type[Rule], what: str) -> bool:
    text = getattr(rule, what, None)
    return isinstance(text, str) and bool(text)


def _bad_plugin(entry: EntryPoint, got: str, allowed: str) -> InvalidValue:
    return InvalidValue(
        f"rule {entry.name!r} of package {entry.dist.name if entry.dist else 'unknown'}",
        got=got,
        allowed=allowed,
        next_step="Correct or uninstall that package.",
    )
