"""Pre-flight: estimates a job from a few of its own steps, without learning.

`probe` turns a job into those steps, `observe` reads their records, `assess` makes the report. Used by the
command line, the server and the page.
"""

from reinforge.preflight.assess import assess
from reinforge.preflight.observed import Observed, Sampled, observe
from reinforge.preflight.probe import probe
from reinforge.preflight.report import PreflightReport, Reason, Verdict

__all__ = ["Observed", "PreflightReport", "Reason", "Sampled", "Verdict", "assess", "observe", "probe"]
