"""Suggested values for a job's settings, and its estimated time, before it starts."""

from typing import Literal

from reinforge.job_defaults.values import JobDefault, TimeEstimate
from reinforge.schemas.common import Response


class JobDefaults(Response):
    object: Literal["job.defaults"] = "job.defaults"
    data: list[JobDefault]
    """Suggestions, also for fields that the specification states. They take effect only if the job is
    created with them.
    """
    preflight: str | None = None
    """The newest pre-flight of the same model, data and rewards; the values are based on it."""
    estimate: TimeEstimate | None = None
    """Time of the job with its own and the suggested values; null if nothing was measured."""
    estimate_note: str | None = None
    """What to do to get an estimate, if there is none."""
