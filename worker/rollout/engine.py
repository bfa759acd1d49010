"""The protocol of rollout engines: token ids in, token ids and log-probabilities out."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from worker.rollout.noise import Stream

FinishReason = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Sampling:
    max_tokens: int
    temperature: float
    """0 is greedy; log-probabilities are then those at temperature 1."""
    top_p: float = 1.0
    stop_ids: tuple[int, ...] = ()
    """Tokens that end a completion; the end token is included in it."""
    stop: tuple[str, ...] = ()
    """Texts that end a completion; the text stays in it."""
    entropies: bool = False
    """Return entropies, if the engine can compute them."""


@dataclass(frozen=True, slots=True)
class NoiseKey:
    """Key of the noise of one request; the engine adds sample and token number."""

    seed: int
    stream: Stream
    step: int
    prompt_no: int


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    policy: str | None
    """Published policy; None: the base model."""
    version: int
    """Step after which the policy was published; engines refuse other versions."""
    prompt_ids: tuple[int, ...]
    n: int
    sampling: Sampling
    noise: NoiseKey
    tag: int


@dataclass(frozen=True, slots=True)
class Sample:
    token_ids: tuple[int, ...]
    """Includes the end token."""
    logprobs: tuple[float, ...]
    """Per token, from log-softmax of logits / temperature over the whole vocabulary (before top-p)."""
    finish_reason: FinishReason
    entropies: tuple[float, ...] | None = None
    """Per token, nats, of the distribution of `logprobs`; None if not requested or if the engine sees only the sampled
    token."""


@dataclass(frozen=True, slots=True)
class Generated:
    request: GenerateRequest
    samples: tuple[Sample, ...]
    """`request.n` samples."""


class RolloutEngine(Protocol):
    def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        """Answers requests as they finish, in any order."""

    def cancel(self) -> None:
        """End running requests with partial samples, as `cancelled`. Callable from any thread."""

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        """Make `policy` at `version` available for sampling. path: adapter folder, for engines in other processes."""

    async def rest(self) -> None:
        """Release memory for training until the next `generate` or `publish`."""

    async def close(self) -> None: ...
