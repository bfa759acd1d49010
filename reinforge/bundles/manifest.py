"""`bundle.json`: the first file of a bundle, which lists all others with their size and SHA-256."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reinforge.records import Count, ForkStart, Large, RecordModel, ScheduledChange

NAME = "bundle.json"
FORMAT = 1
MOST_FILES = 200_000
BundlePath = Annotated[
    str,
    Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*){0,2}$", max_length=90),
]
"""Relative path, at most two folders deep, which fits the name field of a plain tar header."""
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class BundledFile(RecordModel):
    path: BundlePath
    bytes: Large
    sha256: Sha256


class BundledModel(RecordModel):
    """The base model, whose weights a bundle never contains."""

    id: str
    source: str | None
    """`builtin:NAME` or `hub:ORG/NAME@REVISION`; None for a folder on the workers."""
    sha256: Sha256 | None
    """Hash over names and contents of the model's files; None if never computed."""


class BundledData(RecordModel):
    dataset: str
    name: str
    format: Literal["jsonl", "csv", "parquet"]
    numbers: list[str]
    """CSV columns whose values rewards receive as numbers."""
    rows: Large
    bytes: Large
    sha256: Sha256
    path: BundlePath | None
    """Path of the rows; None if the bundle lacks them."""


class BundledReward(RecordModel):
    name: str
    kind: Literal["python", "grader"]
    revision: str
    path: BundlePath


class BundledFork(RecordModel):
    """State of another job from which training continued."""

    job: str
    start: ForkStart
    path: BundlePath | None
    """Path of the state; None if it is no longer stored, so that the job cannot be repeated."""


class BundledRollouts(RecordModel):
    split: Literal["train", "held_out"]
    step: Count
    path: BundlePath


class BundledCheckpoint(RecordModel):
    step: Count
    sha256: Sha256
    bytes: Large
    held_out_reward: float | None
    best: bool
    final: bool
    path: BundlePath | None
    """Path of the weights; None if the bundle has only their hash."""


class BundleManifest(RecordModel):
    format: Literal[1] = 1
    job: str
    name: str
    status: str
    step: Count
    """Completed steps."""
    spec: dict[str, Any]
    """Specification as submitted."""
    resolved_spec: dict[str, Any]
    model: BundledModel
    dataset: BundledData
    held_out: BundledData | None
    rewards: list[BundledReward] = Field(max_length=1000)
    judges: list[str]
    """Names of the judges that rewards call; judges' replies are not reproducible."""
    start: BundlePath | None
    """Archive of the adapter that training started from."""
    fork: BundledFork | None
    changes: list[ScheduledChange] = Field(max_length=100_000)
    """Changes made to the job while it ran."""
    facts: dict[str, Any]
    """Versions, engine, device and machine, as the trainer reported them."""
    metrics: BundlePath
    rollouts: list[BundledRollouts] = Field(max_length=MOST_FILES)
    checkpoints: list[BundledCheckpoint] = Field(max_length=MOST_FILES)
    files: list[BundledFile] = Field(max_length=MOST_FILES)
    """Files in the order of the archive."""
