"""Adaptive KL coefficient of loss and reward."""

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class AdaptiveKl(SpecModel):
    """β follows the KL: up by at most a fifth above `target`, down below it."""

    target: float = Field(default=0.05, gt=0, le=100)
    """Mean nats per token; usually 0.01 to 0.1."""
    horizon: int = Field(default=10_000, ge=1, le=1_000_000_000)
    """Completions over which β changes by its whole error. verl: 10000."""
