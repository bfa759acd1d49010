"""Sampling on demand: streamed completions of a base model or checkpoint."""

from typing import Any, Literal

from pydantic import Field

from reinforge.schemas.common import Request, Response


class SampleRequest(Request):
    model: str = Field(min_length=1, max_length=200)
    checkpoint: str | None = Field(default=None, max_length=100)
    """`ftckpt_…` of a job on that model; None samples the base."""
    prompts: list[list[dict[str, Any]]] = Field(min_length=1, max_length=16)
    """Conversations, rendered with the model's chat template."""
    samples_per_prompt: int = Field(default=1, ge=1, le=16)
    max_tokens: int = Field(default=256, ge=1, le=4096)
    temperature: float = Field(default=1.0, ge=0, le=10)
    top_p: float = Field(default=1.0, gt=0, le=1)
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    stop: list[str] = Field(default_factory=list, max_length=16)
    tools: list[dict[str, Any]] | None = Field(default=None, max_length=128)
    """Tools that the model may call; its chat template has to support tools."""


class SampledCall(Response):
    """A call of a tool in a completion, for `POST /api/v1/tools/run`."""

    name: str
    arguments: str
    """JSON."""
    error: str | None = None
    """Why the call cannot be read."""


class SampleEvent(Response):
    """Server-sent event of `POST /api/v1/sample`, by `type`:

    `status`: `message` says what is done before the first token ("Loading starter-arith").
    `prompt`: `tokens` is the length of the rendered prompt number `prompt`.
    `delta`: `text` is the next piece of completion `sample` of the prompt; `tokens` were sampled so far.
    `done`: `text` is the whole completion, `tokens` include the end token; with `finish_reason`.
    `error`: `error` is the inner object of an error response; the stream ends.
    `end`: everything is done; the stream ends.
    """

    type: Literal["status", "prompt", "delta", "done", "error", "end"]
    message: str | None = None
    prompt: int | None = None
    sample: int | None = None
    text: str | None = None
    tokens: int | None = None
    finish_reason: str | None = None
    content: str | None = None
    calls: list[SampledCall] | None = None
    error: dict[str, Any] | None = None
