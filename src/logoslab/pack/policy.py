"""Root policy: the human-owned envelope of nine fields (LOGOS Eq. 24), a TOML file.

Nothing that a candidate contains can change it. Its digest is pinned by the lab; changing it is
itself a signed event by its owner role.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Literal

import tomli_w
from pydantic import Field, ValidationError

from logoslab.errors import PolicyError
from logoslab.pack.base import Frozen, first_error_of
from logoslab.pack.task import Split
from logoslab.pack.tool import EffectClass


class Safety(Frozen):
    """Minimum constraints. ``surfaces`` are path prefixes whose edits count as safety edits.

    A forbidden effect in a candidate's trials is always a veto; no setting turns that off.
    """

    surfaces: tuple[str, ...] = ("verifiers.json", "genome.json#/safety", "genome.json#/sandbox")


class Evaluator(Frozen):
    """Final scorer and gate parameters. A candidate cannot touch what judges it.

    ``rules`` names the admission rules that must all accept before a promotion is considered.
    ``accept_imported`` lets evidence that came from outside the lab carry a promotion: only for
    teams whose trials run elsewhere and who trust that runner as they trust this one.
    """

    scorer: str = "exact"
    rules: tuple[str, ...] = ("paired",)
    delta_min: float | None = None
    eps_reg: float = Field(default=0.0, ge=0)
    r_max: int = Field(default=0, ge=0)
    rho_max: float = Field(default=0.1, gt=0, lt=1)
    alpha: float = Field(default=0.05, gt=0, lt=1)
    m_fail: float = 0.0
    accept_imported: bool = False


def _default_fractions() -> dict[Split, float]:
    return {"proposal": 0.25, "selection": 0.1, "gate": 0.4, "report": 0.25}


class Holdout(Frozen):
    """How final-gate tasks are chosen, which claim that supports, and how long they last (Eq. 60).

    Attributes
    ----------
    max_decisions : int
        Candidates that may be judged on one gate split.
    max_releases : int or None
        Decisions whose aggregate numbers may leave the firewall; later ones leave as a verdict
        alone. None is no limit.
    max_loss : float or None
        Regressed tasks that the split's accepted decisions may add up to. None is no limit.
    """

    salt: str = "change-me"
    fractions: dict[Split, float] = Field(  # shares sum to 1
        default_factory=_default_fractions
    )
    sampling: Literal["iid", "with_replacement", "fixed_holdout", "shared_pool"] = "shared_pool"
    max_decisions: int = Field(default=50, ge=1)
    max_releases: int | None = Field(default=None, ge=0)
    max_loss: float | None = Field(default=None, ge=0)


class Permissions(Frozen):
    """Which tools a pack may use (``"*"`` is every tool, nothing listed is none), and whether a
    candidate may ask for more."""

    tools: tuple[str, ...] = ()
    may_expand: bool = False

    def allows(self, tool: str) -> bool:
        """Whether a pack may call this tool."""
        return "*" in self.tools or tool in self.tools


class Approvals(Frozen):
    """Role → public key ids that may sign for it, and which roles a promotion needs."""

    roles: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    required: tuple[str, ...] = ("release_owner",)
    max_age_days: int = Field(default=30, ge=1)


class Effects(Frozen):
    """The effect envelope: classes that run freely, tools that need a person's authority."""

    allowed: tuple[EffectClass, ...] = (EffectClass.READ_ONLY,)
    needs_authority: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ("127.0.0.1",)


class Credentials(Frozen):
    """Names of credentials that tools may ask for; values live outside the lab.

    The value of credential ``api_key`` is read at call time from the environment variable
    ``LOGOSLAB_CREDENTIAL_API_KEY``.
    """

    names: tuple[str, ...] = ()


class Audit(Frozen):
    """Where release acts are recorded, and how many may go unsigned.

    The sink is fixed. A person who rules at their desk signs a checkpoint once more than
    ``checkpoint_every`` records are unsigned.
    """

    sink: Literal["audit.jsonl"] = "audit.jsonl"
    checkpoint_every: int = Field(default=20, ge=1)


class RootPolicy(Frozen):
    """The nine fields. See each field's own class."""

    objective: str
    safety: Safety = Field(default_factory=Safety)
    evaluator: Evaluator = Field(default_factory=Evaluator)
    holdout: Holdout = Field(default_factory=Holdout)
    permissions: Permissions = Field(default_factory=Permissions)
    approvals: Approvals = Field(default_factory=Approvals)
    effects: Effects = Field(default_factory=Effects)
    credentials: Credentials = Field(default_factory=Credentials)
    audit: Audit = Field(default_factory=Audit)

    def to_toml(self) -> str:
        """The file's text; unset values are left out (TOML has no null)."""
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True))


def parse_policy(text: str, where: str = "root_policy.toml") -> RootPolicy:
    """Read a root policy.

    Raises
    ------
    PolicyError
        When the text is not TOML or a field is unknown, missing or out of its domain.
    """
    try:
        return RootPolicy.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, ValidationError) as cause:
        raise PolicyError(
            where,
            got=first_error_of(cause) if isinstance(cause, ValidationError) else str(cause),
            allowed="TOML with the nine fields of docs/architecture.md (objective is required)",
            next_step="Correct the field; docs/architecture.md lists them all.",
        ) from cause


def load_policy(path: Path) -> RootPolicy:
    """Read a root policy file. Raises :class:`PolicyError` when it is absent or malformed."""
    if not path.is_file():
        raise PolicyError(
            f"root policy {path.name}",
            got="no such file",
            allowed="a TOML file",
            next_step="Give the lab a root policy before it compiles or promotes anything.",
        )
    return parse_policy(path.read_text("utf-8", errors="replace"), path.name)
