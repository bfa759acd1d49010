"""Protocol of rollout engines."""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from worker.rollout.noise import Stream


class Interrupted(Exception):
    """Sampling was cancelled."""


FinishReason = Literal["stop", "length", "cancelled"]


@dataclass(frozen=True, slots=True)
class Sampling:
    max_tokens: int
    temperature: float
    """0: greedy sampling, with log-probabilities at temperature 1."""
    top_p: float = 1.0
    stop_ids: tuple[int, ...] = ()
    """Tokens that end a completion, included in it."""
    stop: tuple[str, ...] = ()
    """Strings that end a completion, included in it."""
    entropies: bool = False


@dataclass(frozen=True, slots=True)
class NoiseKey:
    seed: int
    stream: Stream
    step: int
    prompt_no: int
    sample_no: int = 0
    """Number of the request's first sample."""
    first_token: int = 0
    """Position of the first sampled token in the completion."""


@dataclass(frozen=True, slots=True)
class GenerateRequest:
    policy: str | None
    version: int
    """Step after which the policy was published. Engines refuse other versions."""
    prompt_ids: tuple[int, ...]
    n: int
    sampling: Sampling
    noise: NoiseKey
    tag: int
    limit: int | None = None
    """Most new tokens; not above `sampling.max_tokens`, the default."""

    @property
    def most_tokens(self) -> int:
        return self.sampling.max_tokens if self.limit is None else self.limit


@dataclass(frozen=True, slots=True)
class Sample:
    token_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """Log-softmax of logits / temperature, before top-p."""
    finish_reason: FinishReason
    entropies: tuple[float, ...] | None = None
    """Entropies (nats) of the distributions of `logprobs`."""


@dataclass(frozen=True, slots=True)
class Generated:
    request: GenerateRequest
    samples: tuple[Sample, ...]


class RolloutEngine(Protocol):
    def generate(self, requests: Sequence[GenerateRequest]) -> AsyncGenerator[Generated, None]:
        """Answer requests in any order."""

    def cancel(self) -> None:
        """End running requests as `cancelled`, with partial samples, from any thread."""

    async def publish(self, policy: str, version: int, path: Path | None = None) -> None:
        """Make a version of `policy` available. path: adapter folder, for engines in other processes."""

    async def rest(self) -> None:
        """Release memory until the next `generate` or `publish`."""

    async def close(self) -> None: ...


class RequestQueue:
    """Requests for an engine, which may be added while it samples. For one event loop."""

    def __init__(self, requests: Iterable[GenerateRequest] = ()) -> None:
        self._requests = list(requests)
        self.closed = False
        """Whether all requests have been added."""
        self.on_change: Callable[[], None] = lambda: None
        """Called after each `add` and `close`."""

    def add(self, request: GenerateRequest) -> None:
        self._requests.append(request)
        self.on_change()

    def close(self) -> None:
        self.closed = True
        self.on_change()

    def take(self) -> list[GenerateRequest]:
        requests, self._requests = self._requests, []
        return requests


@runtime_checkable
class ContinuousEngine(RolloutEngine, Protocol):
    def generate_from(self, queue: RequestQueue) -> AsyncGenerator[Generated, None]:
        """Answer requests of the queue in any order until it is closed, or until `cancel`."""
