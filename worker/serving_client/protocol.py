"""Protocol between the RPC server and the serving process: one JSON object per line.

requests   {"request": ServingRequest} · {"cancel": id}                                            on standard input
replies    {"id", "events": [SampleEvent, …]} · {"id", "ended": true} · {"id", "error": error}    on descriptor 3
"""

from typing import Any

from pydantic import BaseModel


class SamplePrompt(BaseModel):
    ids: list[int]
    max_tokens: int


class ServingRequest(BaseModel):
    id: str
    model: str
    folder: str
    model_sha256: str | None = None
    adapter: str | None = None
    """Adapter name, made from the hash of its content; None: the base model."""
    adapter_folder: str | None = None
    prompts: list[SamplePrompt]
    samples_per_prompt: int = 1
    temperature: float = 1.0
    top_p: float = 1.0
    seed: int = 0
    stop: list[str] = []
    top_logprobs: int | None = None
    """Number of alternatives per token; None: no log-probabilities."""

    json_schema: dict[str, Any] | None = None
    notation: str | None = None
    """Notation of tool calls, if there are tools; its marks stay in the text."""


class Reply(BaseModel):
    id: str
    events: list[dict[str, Any]] = []
    ended: bool = False
    error: dict[str, Any] | None = None
