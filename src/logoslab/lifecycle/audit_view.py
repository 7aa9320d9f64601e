"""The audit log of a lab for reading, verifying and signing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from logoslab.errors import AuthorityError
from logoslab.human import PersonKey
from logoslab.store import AuditLog, AuditReport

if TYPE_CHECKING:
    import pandas as pd


class AuditView:
    """What ``lab.audit`` is: the log with the lab's public keys at hand."""

    def __init__(self, log: AuditLog, keys: Mapping[str, bytes]) -> None:
        self._log, self._keys = log, keys

    def verify(self, *, strict: bool = False) -> AuditReport:
        """Check the chain and every checkpoint; with ``strict`` raise on the first finding."""
        return self._log.verify(self._keys, strict=strict)

    def checkpoint(self, key: PersonKey) -> None:
        """Sign the chain up to here with a person's key.

        Raises
        ------
        AuthorityError
            When the lab does not know the key: its signature could not be verified here. Nothing
            is written.
        """
        if key.id not in self._keys:
            raise AuthorityError(
                "checkpoint of the audit log",
                got=f"key {key.id}",
                allowed=f"a key that this lab knows: {', '.join(self._keys) or 'none yet'}",
                next_step="Let the lab know the person's public key with `Lab.add_key`.",
            )
        self._log.checkpoint(key.id, key.sign)

    def frame(self) -> pd.DataFrame:
        """One row a record."""
        import pandas as pd

        return pd.DataFrame([r.model_dump(mode="json") for r in self._log.records()])
