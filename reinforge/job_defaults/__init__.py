"""Suggested values of a job's most important fields, with reasons, and its estimated duration."""

from reinforge.job_defaults.fields import filled, stated
from reinforge.job_defaults.rules import job_defaults
from reinforge.job_defaults.sizes import JobSizes, MeasuredTexts, PreflightSizes
from reinforge.job_defaults.values import JobDefault, TimeEstimate

__all__ = [
    "JobDefault",
    "JobSizes",
    "MeasuredTexts",
    "PreflightSizes",
    "TimeEstimate",
    "filled",
    "job_defaults",
    "stated",
]
