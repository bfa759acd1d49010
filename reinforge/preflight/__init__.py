"""Pre-flight: assesses a job by a few of its steps, without learning."""

from reinforge.preflight.assess import assess
from reinforge.preflight.observed import Observed, ObservedCompletion, observe
from reinforge.preflight.probe import probe
from reinforge.preflight.report import PreflightReport, Reason, Verdict

__all__ = [
    "Observed",
    "ObservedCompletion",
    "PreflightReport",
    "Reason",
    "Verdict",
    "assess",
    "observe",
    "probe",
]
