"""Pre-flight: what a job would be, found out by a few of its own steps that learn nothing.

`probe` turns a job into those steps, `observe` reads what they reported, `assess` says what it means. The same three
serve the command line, the server and the page.
"""

from reinforge.preflight.assess import assess
from reinforge.preflight.observed import Observed, Sampled, observe
from reinforge.preflight.probe import probe
from reinforge.preflight.report import PreflightReport, Reason, Verdict

__all__ = ["Observed", "PreflightReport", "Reason", "Sampled", "Verdict", "assess", "observe", "probe"]
