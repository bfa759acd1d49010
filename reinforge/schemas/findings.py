"""Findings of jobs."""

from reinforge.diagnosis.finding import FindingCode, FindingEvidence, Remedy, Severity
from reinforge.schemas.common import Response


class FindingEntry(Response):
    code: FindingCode | str
    """Other codes come from plug-ins and older versions."""
    severity: Severity
    """`error`: act now. `warning`: watch it."""
    step: int
    """Since when."""
    noticed_step: int
    """Step at which it was reported."""
    title: str
    message: str
    """What is wrong, with numbers."""
    why: str = ""
    """Why it matters."""
    hint: str | None
    """What to do, in words."""
    evidence: FindingEvidence = FindingEvidence()
    remedies: list[Remedy] = []
    """What to do, with one request each; the best first."""
    cause: FindingCode | None = None
    """Finding that this one follows from. It has no remedies of its own then."""
    source: str = "trainer"
    """`trainer` or `training_check`."""
    resolved_step: int | None = None
    """Step at which the problem was gone."""


class FindingHead(Response):
    """The most important open finding of a job."""

    code: str
    severity: Severity
    title: str
    step: int
