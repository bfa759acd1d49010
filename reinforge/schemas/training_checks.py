"""Response of `GET /jobs/{id}/training-check`."""

from typing import Literal

from reinforge.diagnosis.training_check import TrainingCheck
from reinforge.diagnosis.verdict import Outcome


class JobTrainingCheck(TrainingCheck):
    object: Literal["training_check"] = "training_check"
    job: str
    step: int
    verdict: Outcome | None = None
    """Verdict on an ended or paused job, repeated in `message`."""
