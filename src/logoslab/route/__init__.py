"""Which stage answers: fixed tiers, or a ladder that learns where to enter (LOGOS §3.5.1)."""

from logoslab.route.accounting import CascadeAccount, StageAccount, cascade_account
from logoslab.route.cascade import Cascade, Experience
from logoslab.route.static import StaticRouter, TierRule, complexity

__all__ = [
    "Cascade",
    "CascadeAccount",
    "Experience",
    "StageAccount",
    "StaticRouter",
    "TierRule",
    "cascade_account",
    "complexity",
]
