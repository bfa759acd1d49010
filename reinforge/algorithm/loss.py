"""Slot 4 in a specification: what is minimised."""

from typing import Annotated, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class PpoClip(SpecModel):
    """-min(w·A, clip(w, 1 - eps_low, 1 + eps_high)·A) per token."""

    type: Literal["ppo_clip"] = "ppo_clip"
    eps_low: float = Field(default=0.2, gt=0, le=1)
    """Below ratio 1 - eps_low a bad completion's tokens are pushed no further."""
    eps_high: float = Field(default=0.2, gt=0, le=100)
    """Above ratio 1 + eps_high a good completion's tokens are pushed no further."""


Surrogate = Annotated[PpoClip, Field(discriminator="type")]


class SeqMean(SpecModel):
    """Mean over tokens inside a completion, then over completions (GRPO)."""

    type: Literal["seq_mean"] = "seq_mean"


class Constant(SpecModel):
    """Sum over tokens divided by completions × a constant length (Dr. GRPO)."""

    type: Literal["constant"] = "constant"
    length: int | None = Field(default=None, ge=1)
    """Tokens; default `rollout.max_completion_tokens`."""


Aggregation = Annotated[SeqMean | Constant, Field(discriminator="type")]


class KlPenalty(SpecModel):
    """β · KL(policy ‖ reference), added to the loss per token. The reference runs only when beta > 0."""

    beta: float = Field(default=0.0, ge=0, le=10)
    """Weight of the penalty; 0 for none."""
    estimator: Literal["k2", "k3"] = "k3"
    """Per token, of x = log policy - log reference: k2 is x² / 2, k3 is exp(-x) - 1 + x."""


class Loss(SpecModel):
    """Slot 4, the only differentiable one."""

    ratio_level: Literal["token"] = "token"
    """Compare new and old policy token by token."""
    surrogate: Surrogate = PpoClip()
    """Objective per token."""
    aggregation: Aggregation = SeqMean()
    """How tokens and completions are averaged."""
    kl: KlPenalty = KlPenalty()
    """Penalty for leaving the base model."""
