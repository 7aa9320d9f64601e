"""Candidate: a patch together with the pack it would make and what it touches."""

from __future__ import annotations

from collections.abc import Callable

from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.base import Frozen
from logoslab.pack.patch import Footprint, Patch
from logoslab.pack.policy import RootPolicy


class Candidate(Frozen):
    """An isolated change. It holds no authority and nobody runs it live.

    Attributes
    ----------
    patch : Patch
    pack : AgentPack
        The incumbent with the patch applied.
    footprint : Footprint
    diff : str
    """

    patch: Patch
    pack: AgentPack
    footprint: Footprint
    diff: str

    @property
    def title(self) -> str:
        """The proposer's title; data, never instructions."""
        return self.patch.title


def make_candidate(
    patch: Patch,
    incumbent: AgentPack,
    policy: RootPolicy,
    renumbered: Callable[[AgentPack], AgentPack],
) -> Candidate:
    """Apply a patch in isolation.

    ``renumbered`` gives a component a free version number when a withdrawn release owns its own.

    Raises
    ------
    PatchError
        When the patch does not fit the incumbent. Nothing is written.
    PackError
        When a file of the patched pack cannot be read as what it is.
    """
    pack = renumbered(patch.apply(incumbent))
    pack.require_readable()
    return Candidate(
        patch=patch,
        pack=pack,
        footprint=patch.footprint(incumbent, policy),
        diff=patch.diff(incumbent),
    )
