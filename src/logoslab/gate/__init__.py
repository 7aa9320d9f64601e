"""May this change stay? Admission rules over evidence, the firewall, the ledger and promotion.

Nothing here runs a pack, asks a person or changes a file.
"""

from logoslab.gate.adoption import AdoptionReport
from logoslab.gate.anytime import AnytimeGate
from logoslab.gate.batch import Batch, Cases, Outcomes, decide_one_by_one
from logoslab.gate.bootstrap import BootstrapInterval
from logoslab.gate.controlled import ReplayControlled
from logoslab.gate.corpus import CorpusGuard
from logoslab.gate.firewall import (
    Exposure,
    ExposureBudget,
    accepted_loss,
    holdout_digest,
    proposal_trace,
    split_digest,
)
from logoslab.gate.forward import ForwardTrial
from logoslab.gate.guarded import Guarded, rule_on_record
from logoslab.gate.harness import ReplayCaptured, ReplayNarrowed, TargetOnly
from logoslab.gate.ledger import GateLedger, GateRow, Price
from logoslab.gate.measurement import measured_by, require_same_measurement
from logoslab.gate.paired import PairedGate
from logoslab.gate.pass_set import PassSet
from logoslab.gate.peers import AcceptAll, McNemar, MeanImproves, MinibatchSum
from logoslab.gate.promotion import SAFETY_ROLE, Leg, PromotionVerdict, promote
from logoslab.gate.proxy import Proxy
from logoslab.gate.reaudit import (
    Adoption,
    FalseAdoptions,
    Reaudit,
    Reaudited,
    baseline_audit,
    false_adoptions_per_100,
    reaudit,
)
from logoslab.gate.registry import (
    PROMOTING,
    RULES,
    all_rules,
    judge,
    promoting_rules,
    rule_named,
    rules,
)
from logoslab.gate.rollout import Rollout
from logoslab.gate.rule import PairedRule, Rule
from logoslab.gate.safety import SafetyAxis, SafetyVerdict
from logoslab.gate.self_judged import CommitFirst, SelfJudged
from logoslab.gate.sequential import EValuePairs, Sprt
from logoslab.gate.validated_route import ValidatedRoute
from logoslab.gate.wilcoxon import Wilcoxon

__all__ = [
    "PROMOTING",
    "RULES",
    "SAFETY_ROLE",
    "AcceptAll",
    "Adoption",
    "AdoptionReport",
    "AnytimeGate",
    "Batch",
    "BootstrapInterval",
    "Cases",
    "CommitFirst",
    "CorpusGuard",
    "EValuePairs",
    "Exposure",
    "ExposureBudget",
    "FalseAdoptions",
    "ForwardTrial",
    "GateLedger",
    "GateRow",
    "Guarded",
    "Leg",
    "McNemar",
    "MeanImproves",
    "MinibatchSum",
    "Outcomes",
    "PairedGate",
    "PairedRule",
    "PassSet",
    "Price",
    "PromotionVerdict",
    "Proxy",
    "Reaudit",
    "Reaudited",
    "ReplayCaptured",
    "ReplayControlled",
    "ReplayNarrowed",
    "Rollout",
    "Rule",
    "SafetyAxis",
    "SafetyVerdict",
    "SelfJudged",
    "Sprt",
    "TargetOnly",
    "ValidatedRoute",
    "Wilcoxon",
    "accepted_loss",
    "all_rules",
    "baseline_audit",
    "decide_one_by_one",
    "false_adoptions_per_100",
    "holdout_digest",
    "judge",
    "measured_by",
    "promote",
    "promoting_rules",
    "proposal_trace",
    "reaudit",
    "require_same_measurement",
    "rule_named",
    "rule_on_record",
    "rules",
    "split_digest",
]
