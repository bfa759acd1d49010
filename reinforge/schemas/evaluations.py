"""Replays, labels and calibrations."""

from typing import Literal

from pydantic import Field

from reinforge.calibration import CalibrationReport
from reinforge.replay import ReplayReport
from reinforge.schemas.common import Request, Response, Timestamp
from reinforge.schemas.jobs import JobError

MOST_COMPLETIONS = 20_000


class ReplayCreate(Request):
    """Which of the job's rewards, and what takes its place: a stored revision, or code."""

    job: str
    reward: str | None = None
    """Name of one of the job's rewards; needed when it has several."""
    stored: str | None = None
    """Id of a stored reward (`rew_…`); by default the one that the job used."""
    revision: int | None = Field(default=None, ge=1)
    """Of the stored reward; default its newest."""
    source: str | None = Field(default=None, max_length=262_144)
    """Code that is not stored."""
    entry: str | None = None
    completions: int = Field(default=2000, ge=1, le=MOST_COMPLETIONS)
    """At most about this many, in whole groups spread evenly over the steps."""


class Evaluation(Response):
    object: Literal["evaluation"] = "evaluation"
    id: str
    kind: Literal["replay"]
    job: str
    reward: str
    """Name in the job."""
    stored: str | None = None
    revision: int | None = None
    """None for code that is not stored."""
    status: Literal["running", "succeeded", "failed", "cancelled"]
    done: int
    total: int
    report: ReplayReport | None = None
    error: JobError | None = None
    created_by: str | None = None
    created_at: Timestamp
    finished_at: Timestamp | None = None


class LabelPlace(Request):
    """A stored completion."""

    split: Literal["train", "held_out"] = "train"
    step: int = Field(ge=0)
    prompt_no: int = Field(ge=0)
    sample_no: int = Field(ge=0)


class LabelCreate(LabelPlace):
    right: bool | None
    """What you say of it; null takes the label away."""


class LabelsCreate(Request):
    labels: list[LabelCreate] = Field(min_length=1, max_length=500)


class LabelView(Response):
    split: Literal["train", "held_out"]
    step: int
    prompt_no: int
    sample_no: int
    right: bool
    created_by: str | None = None
    created_at: Timestamp


class LabelList(Response):
    object: Literal["list"] = "list"
    data: list[LabelView]


class Calibration(Response):
    object: Literal["calibration"] = "calibration"
    job: str
    reward: str
    pass_above: float
    report: CalibrationReport
    disagreements: list[LabelView]
    """Labelled completions on which person and reward differ."""
    unlabelled: list[LabelPlace]
    """Completions to label next, spread over steps and over both sides of the reward."""
