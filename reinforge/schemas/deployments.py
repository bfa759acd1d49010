"""Deployments: weights under a name, by which requests to `/v1/chat/completions` choose them."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from reinforge.schemas.common import Editable, Request, Response, Timestamp

State = Literal["loading", "ready", "draining", "stopped", "failed"]
STATES: tuple[State, ...] = ("loading", "ready", "draining", "stopped", "failed")
NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"


class DeploymentTarget(Request):
    """Weights to deploy: exactly one adapter, checkpoint or base model."""

    adapter: str | None = Field(default=None, min_length=1, max_length=100)
    """`adp_…`: result of a succeeded job."""
    checkpoint: str | None = Field(default=None, min_length=1, max_length=100)
    """`ftckpt_…`: checkpoint of any job."""
    model: str | None = Field(default=None, min_length=1, max_length=200)
    run_tools: bool | None = None
    """Whether to run the job's tools, as its rollouts did, and answer with the last message. Default:
    unchanged; a new deployment runs no tools.
    """

    @model_validator(mode="after")
    def _one(self) -> "DeploymentTarget":
        if sum(source is not None for source in (self.adapter, self.checkpoint, self.model)) != 1:
            raise ValueError("Name exactly one of adapter, checkpoint and model.")
        return self


class DeploymentCreate(DeploymentTarget):
    name: str = Field(pattern=NAME)
    """Model name in requests; unique in the project, and not the name of a base model."""


class DeploymentChange(DeploymentTarget):
    """Other weights behind the same name; running requests finish with the old ones."""


class DeploymentUsage(Response):
    requests: int
    """Answered requests, including aborted ones."""
    failed_requests: int
    prompt_tokens: int
    completion_tokens: int


class DeploymentError(Response):
    code: str
    message: str
    hint: str | None = None


class VllmCommand(Response):
    command: str
    """Command line of `vllm`, to run in the folder that contains `folder`."""
    folder: str | None = None
    """Where the command expects the unpacked adapter; None for a base model."""
    rank: int | None = None
    max_lora_rank: int | None = None
    """`rank`, rounded up to one that vLLM accepts."""
    chat_template: str | None = None
    """Content of `./chat_template.jinja`, if the platform added the template."""
    notes: list[str] = []


class DeploymentInfo(Editable):
    EDITS: ClassVar = frozenset({"model", "adapter", "job", "step", "tools"})

    object: Literal["deployment"] = "deployment"
    id: str
    name: str
    model: str
    adapter: str | None = None
    checkpoint: str | None = None
    """Id of the checkpoint; None also if it was deleted. The deployment keeps the weights."""
    job: str | None = None
    step: int | None = None
    bytes: int | None = None
    tools: list[str] | None = None
    """Names of the tools that it runs; None if it runs none."""
    state: State
    """`loading` until a worker has loaded it once; `ready` loads on demand; `draining` finishes
    running requests; `stopped` refuses; `failed` could not be loaded or lost its worker: the next
    request retries.
    """
    error: DeploymentError | None = None
    under_way: int
    usage: DeploymentUsage
    vllm: VllmCommand
    created_by: str | None = None
    last_used_at: Timestamp | None = None
    created_at: Timestamp
    updated_at: Timestamp
