"""Widgets for people: rule on pending changes, step through a gate, plan one. They keep nothing."""

from logoslab.widgets.approval_queue import ApprovalQueue, Choice, PendingItem, PendingQueue
from logoslab.widgets.gate_planner import GatePlanner
from logoslab.widgets.gate_stepper import GateStepper

__all__ = ["ApprovalQueue", "Choice", "GatePlanner", "GateStepper", "PendingItem", "PendingQueue"]
