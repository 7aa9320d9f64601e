"""Say one instruction in other words. Neutral by intent: a probe of how a gate treats no change."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from logoslab.pack.agent_pack import AgentPack
from logoslab.pack.event import Event
from logoslab.pack.patch import Patch, Replace
from logoslab.pack.policy import RootPolicy
from logoslab.pack.run import Abstention

SYNONYMS: Final = {
    "answer": "reply",
    "choose": "pick",
    "copy": "repeat",
    "exactly": "precisely",
    "find": "locate",
    "give": "provide",
    "read": "go through",
    "request": "enquiry",
    "return": "give back",
    "short": "brief",
    "use": "employ",
    "words": "terms",
    "write": "put down",
}
_WORD: Final = re.compile(rf"\b({'|'.join(SYNONYMS)})\b", re.I)


class Rewording:
    """Proposer: reword the first sentence of a skill's instructions that can be reworded.

    Parameters
    ----------
    skill : str, optional
        Name of the skill; by default the first that has such a sentence.
    """

    name = "rewording"
    needs_trace = False

    def __init__(self, skill: str | None = None) -> None:
        self._skill = skill

    def propose(
        self, pack: AgentPack, trace: Sequence[Event], policy: RootPolicy
    ) -> Patch | Abstention:
        """A patch of one sentence, or the reason for none. The trace is not read."""
        for name in sorted(pack.skills) if self._skill is None else [self._skill]:
            path = f"skills/{name}/SKILL.md"
            if name not in pack.skills or path not in pack.files:
                continue
            for sentence in _sentences(pack.skills[name].instructions):
                reworded = _WORD.sub(_synonym, sentence)
                if reworded != sentence and pack.files[path].count(sentence) == 1:
                    return Patch(
                        title=f"Reword an instruction of {name}",
                        rationale="The same instruction in other words.",
                        base=pack.digest,
                        proposer=self.name,
                        target=pack.component_of(path),
                        edits=(Replace(path=path, anchor=sentence, text=reworded),),
                    )
        return Abstention(
            proposer=self.name, reason="no instruction sentence holds a word with a listed synonym"
        )


def _sentences(instructions: str) -> list[str]:
    """Sentences within a line; headings, tables and list markers are not sentences."""
    lines = [line.strip() for line in instructions.splitlines()]
    prose = [line.lstrip("-* ") for line in lines if line and line[0] not in "#|>`"]
    return [s for line in prose for s in re.split(r"(?<=[.!?])\s+", line) if s]


def _synonym(match: re.Match[str]) -> str:
    word = SYNONYMS[match[0].casefold()]
    return word[0].upper() + word[1:] if match[0][0].isupper() else word
