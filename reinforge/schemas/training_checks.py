"""Response of `GET /jobs/{id}/training-check`."""

from typing import Literal

from reinforge.diagnosis.training_check import TrainingCheck
from reinforge.diagnosis.verdict import Outcome


class JobTrainingCheck(TrainingCheck):
    """Whether a job is training, by its stored series."""

    object: Literal["training_check"] = "training_check"
    job: str
    step: int
    """Completed steps of the job."""
    verdict: Outcome | None = None
    """Verdict of a job that has ended or paused; `message` is then the verdict's."""
