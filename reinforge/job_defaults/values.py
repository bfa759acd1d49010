"""Suggested values and the time estimate, as people read them."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from reinforge.preflight.report import Range

Basis = Literal["method", "preflight", "data", "model", "workers", "general"]


class DefaultModel(BaseModel):
    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class JobDefault(DefaultModel):
    """Suggested value of one field."""

    field: str
    """Path in the job."""
    value: int | float | str
    becomes: int | float | str | None = None
    """What `auto` would become now."""
    reason: str
    basis: Basis
    """What decided: the method's preset, a pre-flight, the dataset, the base model, the online workers, or none of
    them.
    """


class TimeEstimate(DefaultModel):
    """Time of a job before its start, from measurements of the same model."""

    seconds_per_step: Range
    seconds: Range
    """The whole job with its evaluations, once a worker has claimed it."""
    source: Literal["jobs", "preflight"]
    ids: list[str]
    """Jobs or the pre-flight that were measured."""
    device: str
    reason: str
