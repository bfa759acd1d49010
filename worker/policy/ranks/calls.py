"""Messages of rank 0 to the other ranks, and their replies."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from torch import Tensor

from worker.policy.base import Batch, LossFunction, Sequences, ValueFunction

Model = Literal["policy", "critic"]


@dataclass(frozen=True, slots=True)
class PutWeights:
    """Announces a broadcast of all trained weights of `model`. No reply."""

    model: Model
    reference: Mapping[str, Tensor] | None
    """Weights of the reference; None if unchanged, empty for the base model."""
    facts: Mapping[str, Any]
    """Sizes of micro-batches that rank 0 chose after running out of memory."""


@dataclass(frozen=True, slots=True)
class ScoreRows:
    kind: Literal["policy", "reference", "base", "values"]
    sequences: Sequences


@dataclass(frozen=True, slots=True)
class AddGradient:
    model: Model
    batch: Batch
    loss: LossFunction | ValueFunction


@dataclass(frozen=True, slots=True)
class ReduceGradient:
    """Announces a reduction of all gradients of `model`. No reply."""

    model: Model


@dataclass(frozen=True, slots=True)
class RankWork:
    seconds: float = 0.0
    """Processor time for the rank's shares."""
    tokens: int = 0
    peak_bytes: int = 0
    """Peak memory of the GPU, or of the process if there is no GPU."""


@dataclass(frozen=True, slots=True)
class RankReply:
    value: Any = None
    error: Exception | None = None
    work: RankWork = RankWork()
    notes: list[str] = field(default_factory=list)
    """Messages about memory for the job's log."""
