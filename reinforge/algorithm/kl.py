"""Adaptive KL coefficient β, in the loss or in the reward."""

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class AdaptiveKl(SpecModel):
    """The KL coefficient β rises while the KL is above `target` and falls while it is below, by at most about
    a fifth per `horizon` completions.
    """

    target: float = Field(default=0.05, gt=0, le=100)
    """Target of the KL, in mean nats per token; usually 0.01 to 0.1."""
    horizon: int = Field(default=10_000, ge=1, le=1_000_000_000)
    """Number of completions over which β changes by the relative error, KL / target - 1. verl: 10000."""
