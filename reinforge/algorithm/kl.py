"""A weight of the distance from the reference that follows the distance, for the loss and for the reward."""

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class AdaptiveKl(SpecModel):
    """β follows the distance: up by as much as a fifth while the KL is above `target`, down while it is below."""

    target: float = Field(default=0.05, gt=0, le=100)
    """Mean nats per token to keep to; 0.01 to 0.1 is usual."""
    horizon: int = Field(default=10_000, ge=1, le=1_000_000_000)
    """Completions over which β moves by the whole of its error. verl: 10000."""
