"""Compile: documents and a brief → a probed Agent Pack, or a diagnosis. Always one of the two."""

from logoslab.compile.bindings import PackTools, ServiceRefused
from logoslab.compile.build import DiagnosticPack, ProbeValidatedPack, build
from logoslab.compile.design import DeterministicDesigner
from logoslab.compile.model_designer import ModelDesigner
from logoslab.compile.probe import ProbeReport, ProbeResult, probe
from logoslab.compile.repair import repair_loop
from logoslab.compile.stub import ServiceCall, StubService, read_document

__all__ = [
    "DeterministicDesigner",
    "DiagnosticPack",
    "ModelDesigner",
    "PackTools",
    "ProbeReport",
    "ProbeResult",
    "ProbeValidatedPack",
    "ServiceCall",
    "ServiceRefused",
    "StubService",
    "build",
    "probe",
    "read_document",
    "repair_loop",
]
