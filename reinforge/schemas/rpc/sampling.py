"""RPC `sample`: completions streamed as `SamplingEvent`s."""

from typing import Any

from pydantic import TypeAdapter

from reinforge.dataset import Message, Tool
from reinforge.schemas.rpc.base import NoResult, Rpc, RpcModel
from reinforge.schemas.rpc.models import ModelRequest


class AdapterArchive(RpcModel):
    sha256: str
    bytes: int | None = None
    step: int | None = None


class SamplingPrompts(RpcModel):
    prompts: list[list[Message]]
    tools: list[Tool] | None = None
    """Tools for all prompts; they need a chat template that renders them."""
    row_tools: list[list[Tool] | None] | None = None
    """Tools of each prompt."""
    max_tokens: int


class SamplingRequest(ModelRequest, SamplingPrompts):
    """Without prompts, the worker only loads the weights."""

    model: str
    model_sha256: str | None = None
    adapter: AdapterArchive | None = None
    samples_per_prompt: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    stop: list[str] = []
    top_logprobs: int | None = None
    json_schema: dict[str, Any] | None = None
    deployment: str | None = None
    """Id of the deployment, to count its running requests."""


SAMPLE = Rpc("sample", TypeAdapter(SamplingRequest), TypeAdapter(NoResult))
