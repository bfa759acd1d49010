"""Events of a running RPC, by `type`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reinforge.schemas.rpc.base import RpcModel


class StatusEvent(RpcModel):
    type: Literal["status"]
    message: str


class ProgressEvent(RpcModel):
    """Progress of `inspect_model`, with bytes during a download."""

    type: Literal["progress"]
    phase: str
    done: int | None = None
    total: int | None = None


class PromptEvent(RpcModel):
    type: Literal["prompt"]
    prompt: int
    tokens: int
    notation: str | None = None
    """Notation of the model's tool calls, if there are tools and the notation is supported."""


class DeltaEvent(RpcModel):
    type: Literal["delta"]
    prompt: int
    sample: int
    text: str
    tokens: int | None = None
    logprobs: list[dict[str, Any]] | None = None
    """Log-probabilities, as in OpenAI's `logprobs.content`."""


class DoneEvent(RpcModel):
    """The whole completion. `tokens` include the end token; `logprobs` are of tokens after the last delta."""

    type: Literal["done"]
    prompt: int
    sample: int
    text: str
    tokens: int | None = None
    logprobs: list[dict[str, Any]] | None = None
    finish_reason: Literal["stop", "length"]


SamplingEvent = Annotated[StatusEvent | PromptEvent | DeltaEvent | DoneEvent, Field(discriminator="type")]
RpcEvent = Annotated[
    StatusEvent | ProgressEvent | PromptEvent | DeltaEvent | DoneEvent, Field(discriminator="type")
]
