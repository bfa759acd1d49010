"""Protocols of policies and critics. They hide micro-batching, devices and normalisation over ranks."""

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
    """N prompts with their completions. Per-token tensors are (N, T): T is the longest completion, column t its token
    t."""

    prompts: Sequence[Sequence[int]]
    completions: Sequence[Sequence[int]]
    temperature: float
    """Log-probabilities and entropies are those of logits / temperature."""

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
    """(N, T) float32, 0 at missing tokens."""
    entropies: Tensor
    """(N, T) float32 nats over the full vocabulary, 0 at missing tokens. With gradient only if the batch requests
    it."""


@dataclass(frozen=True, slots=True)
class Batch:
    sequences: Sequences
    tensors: Mapping[str, Tensor]
    """Constants of the loss, (N,) or (N, T)."""
    needs_gradient: Tensor
    """(N,) bool. Rows that cannot move the policy (advantage 0, no KL) get at most a forward pass."""
    denominator: float
    """Σ count over the whole batch; divides the sum of losses."""
    skipped: Tensor | None = None
    """(N,) bool: rows without a forward pass; their scores stay 0."""
    entropy_gradient: bool = False
    """Whether the loss needs entropies with gradient."""


@dataclass(frozen=True, slots=True)
class LossValue:
    total: Tensor
    """Scalar with gradient, not divided."""
    metrics: dict[str, SumCount]
    gradients: dict[str, float] = field(default_factory=dict)
    """∂ total / ∂ each of the loss's own parameters, not divided."""


LossFunction = Callable[[TokenScores, Mapping[str, Tensor]], LossValue]
"""Takes the scores with gradient and the batch's tensors of one micro-batch."""

ValueFunction = Callable[[Tensor, Mapping[str, Tensor]], LossValue]
"""Takes the values (n, T) with gradient and the batch's tensors of one micro-batch."""


@dataclass(frozen=True, slots=True)
class ForwardBackward:
    metrics: dict[str, SumCount]
    scores: TokenScores
    """Scores of all N rows under the weights before the update."""
    gradients: dict[str, float] = field(default_factory=dict)
    """∂ loss / ∂ each of the loss's own parameters, summed over the batch and divided by its denominator."""


@dataclass(frozen=True, slots=True)
class PolicyState:
    """Training state of an adapter as plain tensors and JSON."""

    adapter: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    facts: dict[str, Any] = field(default_factory=dict)
    reference: dict[str, Tensor] = field(default_factory=dict)
    """The reference's adapter weights; empty if the reference is the base model."""


class Policy(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def held_bytes(self) -> int:
        """Bytes of weights (with the base model), gradients and optimizer state; without activations."""

    def log_probs(self, sequences: Sequences) -> TokenScores:
        """Scores under the current weights, without gradient."""

    def reference_log_probs(self, sequences: Sequences) -> Tensor:
        """(N, T) under the base model or the reference of `refresh_reference`, without gradient."""

    def refresh_reference(self, mixup: float) -> None:
        """The new reference: `mixup` · adapter + (1 - `mixup`) · old reference."""

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
        """AdamW on the clipped gradient; drops the gradient. Returns the norm before clipping; if it is not finite,
        nothing is updated."""

    def state(self) -> PolicyState: ...

    def load_state(self, state: PolicyState) -> None: ...

    def export(self, folder: Path, *, base_model: str) -> None:
        """Write a PEFT directory that `PeftModel.from_pretrained` loads."""


class Critic(Protocol):
    """Value model: predicts the remaining reward before each completion token."""

    @property
    def held_bytes(self) -> int:
        """Like `Policy.held_bytes`; without the base model if the policy uses the same."""

    def values(self, sequences: Sequences) -> Tensor:
        """(N, T) float32, without gradient; 0 at missing tokens."""

    def forward_backward(self, batch: Batch, loss: ValueFunction) -> dict[str, SumCount]:
        """Add the gradient of Σ total / denominator to the critic's gradients, skipping rows without gradient."""

    def optimizer_step(
        self,
        *,
        learning_rate: float,
        betas: tuple[float, float],
        eps: float,
        weight_decay: float,
        clip_norm: float,
    ) -> float:
        """See `Policy.optimizer_step`."""

    def state(self) -> PolicyState: ...

    def load_state(self, state: PolicyState) -> None: ...


class PolicyHost(Protocol):
    """One base model on its devices; policies are adapters on it."""

    def create_policy(
        self, name: str, *, rank: int, alpha: float, targets: str | list[str], seed: int
    ) -> Policy: ...

    def activate(self, policy: str | None) -> AbstractContextManager[None]:
        """Compute as this policy (None: the base model) inside the context."""

    @property
    def facts(self) -> dict[str, Any]:
        """Architecture, parameters, device, precision: for the log and the job page."""


def empty_scores(rows: int, tokens: int) -> TokenScores:
    return TokenScores(torch.zeros(rows, tokens), torch.zeros(rows, tokens))
