"""Learning rate by step."""

import math

from reinforge.spec import Optimizer


def learning_rate(optimizer: Optimizer, step: int, steps: int) -> float:
    """For a 1-based step of `steps`: linear warm-up, then constant, or falling to 0 behind the last step."""
    if step <= optimizer.warmup_steps:
        return optimizer.rate * step / optimizer.warmup_steps
    done = (step - 1 - optimizer.warmup_steps) / max(1, steps - optimizer.warmup_steps)
    if optimizer.schedule == "linear":
        return optimizer.rate * (1 - done)
    if optimizer.schedule == "cosine":
        return optimizer.rate * (1 + math.cos(math.pi * done)) / 2
    return optimizer.rate
