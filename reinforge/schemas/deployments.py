"""Deployments: weights under a name of your own, asked at `/v1/chat/completions` with that name as the model."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from reinforge.schemas.common import Editable, Request, Response, Timestamp

State = Literal["loading", "ready", "draining", "stopped", "failed"]
STATES: tuple[State, ...] = ("loading", "ready", "draining", "stopped", "failed")
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"


class DeploymentTarget(Request):
    """What is behind the name: an adapter, a checkpoint, or a base model as it is; exactly one of them."""

    adapter: str | None = Field(default=None, min_length=1, max_length=100)
    """`adp_…`: what a succeeded job handed back."""
    checkpoint: str | None = Field(default=None, min_length=1, max_length=100)
    """`ftckpt_…`: a checkpoint of a job, finished or not."""
    model: str | None = Field(default=None, min_length=1, max_length=200)
    """A base model."""

    @model_validator(mode="after")
    def _one(self) -> "DeploymentTarget":
        if sum(source is not None for source in (self.adapter, self.checkpoint, self.model)) != 1:
            raise ValueError("Name exactly one of adapter, checkpoint and model.")
        return self


class DeploymentCreate(DeploymentTarget):
    name: str = Field(pattern=NAME)
    """The model's name in requests; unique in the project, and not a base model's."""


class DeploymentChange(DeploymentTarget):
    """Other weights behind the same name; what is under way ends with the old ones."""


class DeploymentUsage(Response):
    requests: int
    """Answered, those that were broken off included."""
    failed_requests: int
    prompt_tokens: int
    completion_tokens: int


class DeploymentError(Response):
    code: str
    message: str
    hint: str | None = None


class VllmCommand(Response):
    """How to serve the same weights with vLLM, elsewhere."""

    command: str
    """To be run where `folder` is the unpacked adapter."""
    folder: str | None = None
    """Where the command expects the unpacked adapter; None for a base model."""
    rank: int | None = None
    max_lora_rank: int | None = None
    """`rank`, rounded up to what vLLM allows."""
    chat_template: str | None = None
    """What `./chat_template.jinja` has to hold, for a model that was added with a template of the platform's."""
    notes: list[str] = []


class DeploymentInfo(Editable):
    EDITS: ClassVar = frozenset({"model", "adapter", "job", "step"})

    object: Literal["deployment"] = "deployment"
    id: str
    name: str
    model: str
    """The base model."""
    adapter: str | None = None
    checkpoint: str | None = None
    """None as well when the job keeps it no longer; the deployment does."""
    job: str | None = None
    step: int | None = None
    bytes: int | None = None
    state: State
    """`loading` until a worker has loaded it once; `ready` answers, loading on demand; `draining` ends what is under
    way; `stopped` refuses; `failed` could not be loaded or lost its worker: the next request tries again."""
    error: DeploymentError | None = None
    under_way: int
    """Requests that are being answered now."""
    usage: DeploymentUsage
    vllm: VllmCommand
    created_by: str | None = None
    last_used_at: Timestamp | None = None
    created_at: Timestamp
    updated_at: Timestamp
