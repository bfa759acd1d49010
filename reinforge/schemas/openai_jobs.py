"""OpenAI's shapes of fine-tuning jobs."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from reinforge.schemas.common import Request
from reinforge.schemas.openai_common import WireObject


def _open(value: Any) -> Any:
    return None if value == "auto" else value


Auto = BeforeValidator(_open)
"""Reads `auto` as None."""
Positive = Annotated[int, Field(strict=True, ge=1)]
Text64 = Annotated[str, Field(min_length=1, max_length=64)]
Text512 = Annotated[str, Field(max_length=512)]


class Hyperparameters(Request):
    """OpenAI's hyperparameters, in OpenAI's ranges; `reinforge.imports.hyperparameters` reads more fields."""

    model_config = ConfigDict(extra="allow")

    batch_size: Annotated[Annotated[int, Field(strict=True, ge=1, le=256)] | None, Auto] = None
    n_epochs: Annotated[Annotated[int, Field(strict=True, ge=1, le=50)] | None, Auto] = None
    learning_rate_multiplier: Annotated[Annotated[float, Field(gt=0)] | None, Auto] = None
    compute_multiplier: Annotated[Annotated[float, Field(gt=0.00001, le=10)] | None, Auto] = None
    eval_interval: Annotated[Positive | None, Auto] = None
    eval_samples: Annotated[Annotated[int, Field(strict=True, ge=1, le=1024)] | None, Auto] = None
    reasoning_effort: Literal["default", "low", "medium", "high"] = "default"


class Reinforcement(Request):
    grader: dict[str, Any]
    response_format: dict[str, Any] | None = None
    hyperparameters: Hyperparameters | None = None


class Method(Request):
    model_config = ConfigDict(extra="allow")

    type: Literal["supervised", "dpo", "reinforcement"]
    reinforcement: Reinforcement | None = None


class JobCreate(Request):
    model: str = Field(min_length=1, max_length=300)
    training_file: str = Field(min_length=1, max_length=200)
    validation_file: str | None = Field(default=None, max_length=200)
    method: Method | None = None
    suffix: str | None = Field(default=None, min_length=1, max_length=64)
    seed: Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)] | None = None
    metadata: dict[Text64, Text512] | None = Field(default=None, max_length=16)
    integrations: list[dict[str, Any]] | None = Field(default=None, max_length=5)
    hyperparameters: dict[str, Any] | None = None


class JobErrorView(Request):
    code: str
    message: str
    param: str | None = None


class FineTuningJob(WireObject):
    object: Literal["fine_tuning.job"] = "fine_tuning.job"
    created_at: int
    error: JobErrorView | None
    """None unless the job has failed."""
    fine_tuned_model: str | None
    finished_at: int | None
    hyperparameters: dict[str, Any] = {}
    """Empty: it is for supervised jobs, which are not offered."""
    model: str
    organization_id: str
    """Id of the project."""
    result_files: list[str] = []
    seed: int
    status: str
    trained_tokens: int | None
    training_file: str
    validation_file: str | None
    estimated_finish: int | None
    integrations: list[dict[str, Any]] = []
    metadata: dict[str, str]
    method: dict[str, Any]
    user_provided_suffix: str | None
    usage_metrics: dict[str, Any] | None = None
    shared_with_openai: Literal[False] = False
    eval_id: str | None = None


class JobEventView(WireObject):
    object: Literal["fine_tuning.job.event"] = "fine_tuning.job.event"
    created_at: int
    level: Literal["info", "warn", "error"]
    message: str
    type: Literal["message", "metrics"]
    data: dict[str, Any] | None = None


class CheckpointView(WireObject):
    object: Literal["fine_tuning.job.checkpoint"] = "fine_tuning.job.checkpoint"
    created_at: int
    fine_tuned_model_checkpoint: str
    fine_tuning_job_id: str
    step_number: int
    metrics: dict[str, float]
    """Metrics that are defined at the step."""


class PermissionsCreate(Request):
    project_ids: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        min_length=1, max_length=100
    )


class PermissionView(WireObject):
    object: Literal["checkpoint.permission"] = "checkpoint.permission"
    created_at: int
    project_id: str


class ModelView(WireObject):
    object: Literal["model"] = "model"
    created: int
    owned_by: str
