"""Wiring: one backend for one pack and arm, out of rooms that do not know each other."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from logoslab.compile import PackTools
from logoslab.errors import ToolError
from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.policy import RootPolicy
from logoslab.ports import Clock, Human, Model, Recorder, Router
from logoslab.run.budget import Budget
from logoslab.run.native import NativeBackend
from logoslab.verify import VerifierStack, verifiers_for


class World(NamedTuple):
    """What an arm runs in. The services of a trial are never the live ones."""

    model: Model
    services: Mapping[str, str]
    policy: RootPolicy
    human: Human | None
    recorder: Recorder
    clock: Clock
    budget: Budget
    authorities: frozenset[str] = frozenset()


def backend_for(pack: AgentPack, world: World, router: Router) -> NativeBackend:
    """The native backend with this pack's tools and verifiers under the root policy."""
    return NativeBackend(
        model=world.model,
        router=router,
        accept=VerifierStack(verifiers_for(pack)),
        runner=PackTools(
            pack,
            world.services,
            credentials=lambda name: credential(name, world.policy),
            hosts=world.policy.effects.hosts,
        ),
        policy=world.policy,
        human=world.human,
        recorder=world.recorder,
        clock=world.clock,
        budget=world.budget,
        authorities=world.authorities,
    )


def credential(name: str, policy: RootPolicy) -> str:
    """The value of a credential, read from the environment when a tool is called.

    Raises
    ------
    ToolError
        When the root policy does not name it, or the environment does not hold it.
    """
    variable = f"LOGOSLAB_CREDENTIAL_{re.sub(r'[^A-Z0-9]', '_', name.upper())}"
    if name not in policy.credentials.names:
        raise ToolError(
            f"credential {name}",
            got="a name that the root policy does not list",
            allowed=f"one of {', '.join(policy.credentials.names) or 'none'}",
            next_step="Let the policy's owner add it to credentials.names.",
        )
    if not os.environ.get(variable):
        raise ToolError(
            f"credential {name}",
            got=f"no value in {variable}",
            allowed="a value in the environment of the process that runs the pack",
            next_step=f"Set {variable}; it reaches one header and no file.",
        )
    return os.environ[variable]
