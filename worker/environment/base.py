"""Protocol between collector and environment."""

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol


@dataclass(frozen=True, slots=True)
class Prompt:
    row_index: int
    item: dict[str, Any]
    messages: list[dict[str, Any]]
    text: str
    token_ids: tuple[int, ...]
    prompt_hash: str
    """SHA-256 (hex) of messages and tools: equal prompts are equal across jobs."""
    tools: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of tokens by one author; only the policy's tokens are trained on."""

    token_ids: tuple[int, ...]
    by: Literal["policy", "environment"]
    sampler_logprobs: tuple[float, ...] = field(default=())
    """One per policy token: log-probability under logits / temperature when it was sampled."""
    sampler_entropies: tuple[float, ...] | None = None
    """One per policy token, in nats, where the engine knows them."""


class Environment(Protocol):
    def start(self, prompt: Prompt) -> tuple[Segment, ...]:
        """Segments that the policy continues, all by the environment."""

    def step(self, prompt: Prompt, segments: tuple[Segment, ...]) -> tuple[Segment, ...] | None:
        """The environment's answer to all segments so far; None ends the rollout."""
