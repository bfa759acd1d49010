"""Datasets, rewards, base models, adapters, workers."""

import json
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from reinforge.base_models.learning_rate import AutoLearningRate
from reinforge.base_models.memory import MemoryEstimate
from reinforge.dataset.columns import ColumnRoles
from reinforge.schemas.common import Editable, Request, Response, Timestamp
from reinforge.schemas.datasets import PromptView, SkippedRows
from reinforge.schemas.jobs import JobError, RewardResult


class Dataset(Editable):
    EDITS: ClassVar = frozenset({"name", "prompt_view"})

    object: Literal["dataset"] = "dataset"
    id: str
    name: str
    filename: str
    format: str
    bytes: int
    rows: int
    sha256: str
    columns: list[dict[str, Any]]
    """Columns, each `{name, type, nulls, example}`."""
    warnings: list[str] = []
    preview: list[dict[str, Any]] = []
    skipped: SkippedRows | None = None
    """Rows of the file that `skip_bad_rows` left out."""
    suggested_columns: ColumnRoles | None = None
    """A guess at the columns that `prompt_view` leaves open, by name and content."""
    prompt_view: PromptView = PromptView()
    """How rows become prompts; can be edited."""
    created_at: Timestamp
    jobs: int = 0
    newest: str | None = None
    """Id of the newest dataset of this name; None if it is this one."""


class DatasetRows(Response):
    object: Literal["list"] = "list"
    data: list[dict[str, Any]]
    offset: int
    total: int


class RewardText(Request):
    """Text of a reward, as exactly one of `source` and `grader`."""

    source: str | None = Field(default=None, min_length=1, max_length=262_144)
    """Python code, or a grader's JSON as text."""
    grader: dict[str, Any] | None = None

    @model_validator(mode="after")
    def one_of_both(self) -> Self:
        if (self.source is None) == (self.grader is None):
            raise ValueError("give exactly one of `source` (code) and `grader` (JSON)")
        return self

    @property
    def text(self) -> str:
        return written(self.source, self.grader)


def written(source: str | None, grader: dict[str, Any] | None) -> str:
    return source if source is not None else json.dumps(grader or {}, indent=2, ensure_ascii=False)


class RewardCreate(RewardText):
    name: str = Field(min_length=1, max_length=100)
    entry: str | None = None
    granularity: Literal["sample", "group", "batch"] = "sample"
    description: str | None = Field(default=None, max_length=2000)


class RevisionCreate(RewardText):
    entry: str | None = None


class RewardRevision(Response):
    revision: int
    kind: Literal["python", "grader"] = "python"
    source: str
    sha256: str
    entries: list[dict[str, Any]]
    """Functions, each `{name, spelling, line}`; for graders the sub-graders, with types as `spelling`."""
    created_at: Timestamp


class RewardSummary(Editable):
    EDITS: ClassVar = frozenset({"revision"})

    object: Literal["reward"] = "reward"
    id: str
    name: str
    description: str | None
    revision: int
    entry: str | None
    granularity: str
    kind: Literal["python", "grader"] = "python"
    created_at: Timestamp
    updated_at: Timestamp
    jobs: int = 0
    last_used_at: Timestamp | None = None
    """When the newest job with it was created."""
    error_share: float | None = None
    """Share of completions that it failed to score, in jobs where it is the only reward; null without such a job."""


class RewardDetail(RewardSummary):
    revisions: list[RewardRevision]


class RewardTestRow(Request):
    completion: str = Field(max_length=262_144)
    item: dict[str, Any] = {}
    prompt: str | list[dict[str, Any]] = ""


class RewardTest(Request):
    """Scores completions with the stored reward in the path, or with `source` or `grader`."""

    source: str | None = Field(default=None, max_length=262_144)
    """Python code, or a grader's JSON as text."""
    grader: dict[str, Any] | None = None
    entry: str | None = None
    granularity: Literal["sample", "group", "batch"] = "sample"
    rows: list[RewardTestRow] = Field(min_length=1, max_length=256)
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)


class RewardTestResult(Response):
    object: Literal["reward.test"] = "reward.test"
    jail: str | None
    results: list[RewardResult]
    load_error: str | None = None


class ModelCreate(Request):
    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")
    source: str = Field(min_length=1, max_length=4096)
    """Folder on the worker, or `hub:org/name@revision`, pinned to a commit."""
    token: SecretStr | None = Field(default=None, min_length=1, max_length=500)
    """Token for private or gated hub models; stored encrypted, sent to workers that need it."""
    chat_template: Literal["plain", "bare"] | None = None
    """For a model without a chat template: `plain` writes roles as words, `bare` only the messages' texts."""


class ModelProgress(Response):
    phase: Literal["waiting", "looking", "downloading", "hashing"]
    done: int | None = None
    """Bytes done."""
    total: int | None = None


class BaseModelInfo(Response):
    object: Literal["base_model"] = "base_model"
    id: str
    shared: bool = True
    """True: all projects share the model, and only administrators change it. False: the project owns it."""
    source: str
    status: Literal["adding", "ready", "failed"]
    error: str | None = None
    progress: ModelProgress | None = None
    failure: JobError | None = None
    """Why the last inspection failed, and what to do."""
    revision: str | None = None
    has_token: bool = False
    memory: MemoryEstimate | None = None
    auto_learning_rate: AutoLearningRate | None = None
    """Value of `optimizer.learning_rate: auto` for this model."""
    architecture: str | None
    parameters: int | None
    context_length: int | None
    has_chat_template: bool
    chat_template_source: str | None = None
    vocabulary: int | None = None
    lora_targets: list[str] = []
    bytes: int | None
    licence: str | None
    sha256: str | None
    created_at: Timestamp

    @field_validator("progress", mode="wrap")
    @classmethod
    def only_phases(cls, value: Any, handler: Any) -> Any:
        """Drops a failure, which the database stores in the same column as progress."""
        return None if isinstance(value, dict) and "phase" not in value else handler(value)


class BestCheckpoint(Response):
    id: str
    step: int
    held_out_reward: float


class Adapter(Response):
    object: Literal["adapter"] = "adapter"
    id: str
    name: str
    job: str | None
    """Job that trained the adapter; null if it was uploaded."""
    checkpoint: str | None
    step: int
    model: str
    bytes: int
    sha256: str
    held_out_reward: float | None
    base_reward: float | None = None
    """Held-out reward of the base model."""
    best: BestCheckpoint | None = None
    """Best checkpoint, possibly this one; null if none is above the base."""
    created_at: Timestamp


class WorkerInfo(Response):
    object: Literal["worker"] = "worker"
    id: str
    kind: Literal["trainer", "calls"]
    hostname: str
    online: bool
    jail: str | None
    jail_reasons: list[str] = []
    device: str | None
    answers: list[str] | None = None
    """Supported RPCs: validate, score, render, inspect_model, sample. None: not reported."""
    version: str
    last_seen_at: Timestamp
    job: str | None = None
    """Id of the job that it runs; null if the job belongs to another project."""
    busy: bool = False
    notice: str | None = None
    """Why jobs start late, and what to do: the worker's broker does not answer or is not the backend's, or
    all GPUs are taken.
    """
