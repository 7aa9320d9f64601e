"""Experience into candidates: attribute a failure to a component, then propose, or abstain.

Nothing here can see a gate; a proposal changes nothing.
"""

from logoslab.evolve.credit import attribute
from logoslab.evolve.feedback import Feedback
from logoslab.evolve.reword import Rewording
from logoslab.evolve.skill_edit import SkillRuleFromFailure
from logoslab.evolve.tool_repair import ToolSchemaRepair

__all__ = [
    "Feedback",
    "Rewording",
    "SkillRuleFromFailure",
    "ToolSchemaRepair",
    "attribute",
]
