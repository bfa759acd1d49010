"""Events of a running RPC, by `type`."""

from typing import Annotated, Any, Literal

from pydantic import Field

from reinforge.schemas.rpc.base import RpcModel


class StatusEvent(RpcModel):
    type: Literal["status"]
    message: str


class ProgressEvent(RpcModel):
    """Progress of `inspect_model`; with bytes done and in total during a download."""

    type: Literal["progress"]
    phase: str
    done: int | None = None
    total: int | None = None


class PromptEvent(RpcModel):
    """Number of tokens of a rendered prompt."""

    type: Literal["prompt"]
    prompt: int
    tokens: int


class DeltaEvent(RpcModel):
    """The next piece of a completion."""

    type: Literal["delta"]
    prompt: int
    sample: int
    text: str
    tokens: int | None = None
    """Number of sampled tokens so far."""
    logprobs: list[dict[str, Any]] | None = None
    """Log-probabilities of the piece's tokens, as in OpenAI's `logprobs.content`."""


class DoneEvent(RpcModel):
    """A completion has ended. `text` is all of it, `logprobs` those of tokens without a piece."""

    type: Literal["done"]
    prompt: int
    sample: int
    text: str
    tokens: int | None = None
    """Includes the end token."""
    logprobs: list[dict[str, Any]] | None = None
    finish_reason: Literal["stop", "length"]


SamplingEvent = Annotated[StatusEvent | PromptEvent | DeltaEvent | DoneEvent, Field(discriminator="type")]
RpcEvent = Annotated[
    StatusEvent | ProgressEvent | PromptEvent | DeltaEvent | DoneEvent, Field(discriminator="type")
]
