"""People: their keys, signed approvals, the queue of what waits for them, risk, answers."""

from logoslab.files import config_folder
from logoslab.human.approvals import check_approval, sign_approval
from logoslab.human.ask import NobodyAnswers, ScriptedHuman
from logoslab.human.keys import PersonKey, load_key, new_key
from logoslab.human.queue import ApprovalQueue, PendingChange, QueueItem, Ruling
from logoslab.human.risk import risk_of
from logoslab.pack.signature import key_id

__all__ = [
    "ApprovalQueue",
    "NobodyAnswers",
    "PendingChange",
    "PersonKey",
    "QueueItem",
    "Ruling",
    "ScriptedHuman",
    "check_approval",
    "config_folder",
    "key_id",
    "load_key",
    "new_key",
    "risk_of",
    "sign_approval",
]
