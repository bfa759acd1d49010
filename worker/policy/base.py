"""Protocols of policies and critics, which hide micro-batching, devices and ranks."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor

SumCount = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Sequences:
    """N prompts with their completions. Per-token tensors are (N, T), with T the longest
    completion's length.
    """

    prompts: Sequence[Sequence[int]]
    completions: Sequence[Sequence[int]]
    temperature: float
    """Divides logits before log-probabilities and entropies."""

    def __len__(self) -> int:
        return len(self.completions)

    @property
    def longest(self) -> int:
        return max((len(ids) for ids in self.completions), default=0)

    def take(self, rows: Sequence[int]) -> "Sequences":
        return Sequences(
            [self.prompts[i] for i in rows], [self.completions[i] for i in rows], self.temperature
        )


@dataclass(frozen=True, slots=True)
class TokenScores:
    logprobs: Tensor
    """Log-probabilities of completion tokens, (N, T) float32, 0 at missing tokens."""
    entropies: Tensor
    """Entropies over the full vocabulary, (N, T) float32 nats, 0 at missing tokens."""
    execute_logits: Tensor | None = None
    """(N, T) logit of `Batch.execute_token`, divided by the temperature."""
    execute_logprobs: Tensor | None = None
    """(N, T) log-probability of `Batch.execute_token`."""


@dataclass(frozen=True, slots=True)
class Batch:
    sequences: Sequences
    tensors: Mapping[str, Tensor]
    """Constants of the loss, (N,) or (N, T)."""
    needs_gradient: Tensor
    denominator: float
    """Σ count over the whole batch; divides the sum of losses."""
    skipped: Tensor | None = None
    """(N,) bool: rows without a forward pass; their log-probabilities and entropies stay 0."""
    entropy_gradient: bool = False
    execute_token: int | None = None
    """Id of the token whose logit and log-probability the loss reads at every position."""


@dataclass(frozen=True, slots=True)
class LossValue:
    total: Tensor
    """Sum of the losses, with gradient, not divided by the denominator."""
    metrics: dict[str, SumCount]
    gradients: dict[str, float] = field(default_factory=dict)
    """Derivatives of `total` by the loss's own parameters, not divided by the denominator."""


LossFunction = Callable[[TokenScores, Mapping[str, Tensor]], LossValue]

ValueFunction = Callable[[Tensor, Mapping[str, Tensor]], LossValue]


@dataclass(frozen=True, slots=True)
class ForwardBackward:
    metrics: dict[str, SumCount]
    scores: TokenScores
    gradients: dict[str, float] = field(default_factory=dict)
    """Derivatives of the loss by its own parameters, divided by the denominator."""


@dataclass(frozen=True, slots=True)
class PolicyState:
    adapter: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    facts: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Tensor] = field(default_factory=dict)
    """The reference's adapter weights; empty for the base model."""


class Policy(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def held_bytes(self) -> int:
        """Bytes of weights, gradients and optimizer state, without activations."""

    def log_probs(self, sequences: Sequences) -> TokenScores:
        """Log-probabilities and entropies under the current weights, without gradient."""

    def reference_log_probs(self, sequences: Sequences) -> Tensor:
        """Log-probabilities (N, T) under the base model or a refreshed reference, without gradient."""

    def refresh_reference(self, mixup: float) -> None:
        """Replace the reference by `mixup` · adapter + (1 - `mixup`) · old reference."""

    def forward_backward(self, batch: Batch, loss: LossFunction) -> ForwardBackward:
        """Add the gradient of Σ total / denominator to the adapter's gradients."""

    def optimizer_step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float:
        """Take an AdamW step on the clipped gradient. Returns the gradient's norm before clipping; if it is
        not finite, nothing is updated.
        """

    def state(self) -> PolicyState: ...

    def load_state(self, state: PolicyState) -> None: ...

    def export(self, folder: Path, *, base_model: str) -> None:
        """Write a PEFT directory that `PeftModel.from_pretrained` loads."""


class Critic(Protocol):
    """Value model: predicts the remaining reward before each completion token."""

    @property
    def held_bytes(self) -> int: ...

    def values(self, sequences: Sequences) -> Tensor:
        """Values (N, T) float32, without gradient; 0 at missing tokens."""

    def forward_backward(self, batch: Batch, loss: ValueFunction) -> dict[str, SumCount]:
        """Add the gradient of Σ total / denominator to the critic's gradients."""

    def optimizer_step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float: ...

    def state(self) -> PolicyState: ...

    def load_state(self, state: PolicyState) -> None: ...


class PolicyHost(Protocol):
    """One base model on its devices; policies are adapters on it."""

    def create_policy(
        self, name: str, *, rank: int, alpha: float, targets: str | list[str], seed: int
    ) -> Policy: ...

    def activate(self, policy: str | None) -> AbstractContextManager[None]:
        """Context in which the model computes as this policy (None: as the base model)."""

    @property
    def facts(self) -> dict[str, Any]: ...


def empty_scores(rows: int, tokens: int) -> TokenScores:
    return TokenScores(torch.zeros(rows, tokens), torch.zeros(rows, tokens))
