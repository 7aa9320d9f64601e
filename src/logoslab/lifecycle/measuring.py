"""Names of what measures, with digests, as evidence carries them."""

from __future__ import annotations

from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.base import digest
from logoslab.ports import Scorer, Verifier
from logoslab.verify import code_digest, verifiers_for


def scorer_named(scorer: Scorer) -> str:
    """``name sha256:…``: the scorer's own ``digest`` when it has one, else that of its code.

    A scorer whose labels or settings are not code states its digest itself.
    """
    own = getattr(scorer, "digest", None)
    return f"{scorer.name} {own if isinstance(own, str) else code_digest(scorer)}"


def verifiers_named(*packs: AgentPack) -> tuple[str, ...]:
    """``name sha256:…`` of every verifier that one of the packs declares, each once, in order."""
    named = {_named(verifier) for pack in packs for verifier in verifiers_for(pack)}
    return tuple(sorted(named))


def _named(verifier: Verifier) -> str:
    what = {"spec": verifier.spec.model_dump(mode="json"), "code": code_digest(verifier)}
    return f"{verifier.spec.name} {digest(what)}"
