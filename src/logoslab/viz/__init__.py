"""Numbers → tidy frame → plotly figure. A figure function computes no statistics.

plotly and pandas load when the first frame or figure is made, not on import.
"""

from logoslab.viz.dossier import write_dossier
from logoslab.viz.evidence import paired_differences, wealth
from logoslab.viz.export import save, save_all
from logoslab.viz.flips import flip_bar, flip_frame, slice_frame, slice_intervals
from logoslab.viz.frames import cascade_frame, paired_frame, wealth_frame
from logoslab.viz.frontier import frontier, null_adoption
from logoslab.viz.graph import PackFrame, pack_frame
from logoslab.viz.histories import decision_frame, release_decisions
from logoslab.viz.ledger import gate_ledger, gate_ledger_frame
from logoslab.viz.plan import acceptance_curve, design_costs, plan_surface
from logoslab.viz.report import Code, Section, write_report
from logoslab.viz.series import confidence_sequence, error_rate, ledger, reliability_decay
from logoslab.viz.stats_frames import ledger_frame, sequence_frame, stream_frame
from logoslab.viz.structure import cascade_flow, pack_graph
from logoslab.viz.theme import alt_text, describe

__all__ = [
    "Code",
    "PackFrame",
    "Section",
    "acceptance_curve",
    "alt_text",
    "cascade_flow",
    "cascade_frame",
    "confidence_sequence",
    "decision_frame",
    "describe",
    "design_costs",
    "error_rate",
    "flip_bar",
    "flip_frame",
    "frontier",
    "gate_ledger",
    "gate_ledger_frame",
    "ledger",
    "ledger_frame",
    "null_adoption",
    "pack_frame",
    "pack_graph",
    "paired_differences",
    "paired_frame",
    "plan_surface",
    "release_decisions",
    "reliability_decay",
    "save",
    "save_all",
    "sequence_frame",
    "slice_frame",
    "slice_intervals",
    "stream_frame",
    "wealth",
    "wealth_frame",
    "write_dossier",
    "write_report",
]
