"""Suggested values and the estimated duration, as the API returns them."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from reinforge.preflight.report import Range

Basis = Literal["method", "preflight", "data", "model", "workers", "general"]


class DefaultModel(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class JobDefault(DefaultModel):
    """Suggested value of one job field."""

    field: str
    """Dotted path in the job."""
    value: int | float | str
    becomes: int | float | str | None = None
    """Value that `auto` would become now."""
    reason: str
    basis: Basis
    """Basis of the value: the method's preset, a pre-flight, the dataset, the base model, the online
    workers, or none of these.
    """


class TimeEstimate(DefaultModel):
    """Estimated duration of a job that has not started, from measurements of the same model."""

    seconds_per_step: Range
    seconds: Range
    """Seconds of the whole job with its evaluations, after a worker has claimed it."""
    source: Literal["jobs", "preflight"]
    ids: list[str]
    """Ids of the measured jobs or pre-flight."""
    device: str
    reason: str
