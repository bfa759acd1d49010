"""A job's findings as the API returns them: problem, evidence and remedies."""

from reinforge.diagnosis.finding import FindingCode, FindingEvidence, Remedy, Severity
from reinforge.schemas.common import Response


class FindingEntry(Response):
    code: FindingCode | str
    """Code of the problem; plug-ins and older versions may have others than `FindingCode`."""
    severity: Severity
    """`error`: act now. `warning`: watch it."""
    step: int
    """Step at which the problem began."""
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
    """Ways to act on it, with one request each; the best first."""
    cause: FindingCode | None = None
    """Code of the finding that explains this one; an explained finding has no remedies of its own."""
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
