"""What can go wrong, by room.

LogoslabError
 + InvalidValue            a value outside its domain (also a ValueError)
 + PackError
 |  + PatchError           an edit that cannot be applied: absent anchor, wrong type
 |  + GenomeConflict       two concrete settings that nobody ranked
 |  + PackTampered         bytes that do not match their manifest
 + PolicyError             the root policy is missing, malformed or not the pinned one
 + SourceError             a source document that cannot be read safely
 + StoreError
 |  + TraceLocked          another process holds the trace database
 |  + TraceCorrupt         the trace database cannot be opened
 |  + QueryRefused         a statement that is not one read-only query
 |  + ArchiveConflict      same identity, other bytes
 |  + AuditTampered        the hash chain or a checkpoint does not verify
 + ModelError
 |  + ModelUnavailable     no weights, no key, no network
 |  + ModelReplyInvalid    an answer that breaks its schema or was cut off
 |  + ReplayMiss           a recorded call was asked for and is not there
 + ToolError               a tool refused its arguments or its service answered with an error
 + EffectRefused           an effect outside the envelope
 + BudgetExceeded          calls, tokens, money or time are used up
 + EvidenceError           evidence that a rule cannot judge
 + AuthorityError          an approval that does not authorise this act
"""

from __future__ import annotations


class LogoslabError(Exception):
    """Base of every error a user can cause or meet.

    Parameters
    ----------
    which : str
        What was being done or which argument was wrong.
    got : object
        The value that arrived; shortened to 200 characters in the message.
    allowed : str
        What would have been accepted.
    next_step : str
        One imperative sentence: what the user can do now.
    """

    def __init__(self, which: str, *, got: object, allowed: str, next_step: str) -> None:
        self.which, self.got, self.allowed, self.next_step = which, got, allowed, next_step
        super().__init__(f"{which}: allowed {allowed}; got {_short(got)}. {next_step}")

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only arguments do not survive the default pickling, and errors cross processes.
        return (_rebuild, (type(self), self.which, self.got, self.allowed, self.next_step))


def one_line(text: str) -> str:
    """A message on one line, for a terminal: what would break or steer it is spelled out.

    Texts from files stand in messages, and an escape sequence in one must not be obeyed.
    """
    line = " ".join(text.split())
    if line.isprintable():
        return line
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def _rebuild(
    kind: type[LogoslabError], which: str, got: object, allowed: str, next_step: str
) -> LogoslabError:
    return kind(which, got=got, allowed=allowed, next_step=next_step)


def _short(value: object, limit: int = 200) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


class InvalidValue(LogoslabError, ValueError):
    """A value outside its stated domain."""


class PackError(LogoslabError):
    """A pack, patch or genome that cannot be used."""


class PatchError(PackError):
    """An edit that cannot be applied to this pack."""


class GenomeConflict(PackError):
    """Two concrete settings for one field and no declared precedence."""


class PackTampered(PackError):
    """Bytes on disk that do not match the manifest."""


class PolicyError(LogoslabError):
    """A root policy that is missing, malformed or not the pinned one."""


class SourceError(LogoslabError):
    """A source document that cannot be read safely."""


class StoreError(LogoslabError):
    """The lab folder could not be read or written."""


class NoBrowser(StoreError):
    """No Chromium or Chrome starts, which images of figures need."""


class TraceLocked(StoreError):
    """Another process holds the trace database for longer than the retry limit."""


class TraceCorrupt(StoreError):
    """The trace database cannot be opened as one."""


class QueryRefused(StoreError):
    """SQL that is not exactly one read-only query."""


class ArchiveConflict(StoreError):
    """The same component identity with other bytes."""


class AuditTampered(StoreError):
    """The audit log does not verify."""


class ModelError(LogoslabError):
    """A model call that gave no usable answer."""


class ModelUnavailable(ModelError):
    """No weights, no key or no network."""


class ModelReplyInvalid(ModelError):
    """An answer that is cut off or breaks its schema."""


class ReplayMiss(ModelError):
    """A recorded call was asked for and is not recorded."""


class ToolError(LogoslabError):
    """A tool refused its arguments, or its service answered with an error."""


class EffectRefused(LogoslabError):
    """An effect outside the envelope of the root policy."""


class BudgetExceeded(LogoslabError):
    """Calls, tokens, money or time are used up."""


class EvidenceError(LogoslabError):
    """Evidence that a rule cannot judge."""


class AuthorityError(LogoslabError):
    """An approval that does not authorise this act."""
