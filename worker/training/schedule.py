import math

from reinforge.base_models.learning_rate import SETTLING_STEPS
from reinforge.spec import Optimizer


def learning_rate(optimizer: Optimizer, step: int, steps: int) -> float:
    """Learning rate of a 1-based step: linear warm-up to the initial rate, then exponential approach to
    `optimizer.rate`, times a schedule that is constant or falls to 0.
    """
    initial = optimizer.initial_learning_rate or optimizer.rate
    if step <= optimizer.warmup_steps:
        return initial * step / optimizer.warmup_steps
    past = step - 1 - optimizer.warmup_steps
    excess = (initial / optimizer.rate - 1) * math.exp(-past / SETTLING_STEPS)
    return (1 + excess) * optimizer.rate * _share(optimizer, past / max(1, steps - optimizer.warmup_steps))


def _share(optimizer: Optimizer, done: float) -> float:
    if optimizer.schedule == "linear":
        return 1 - done
    if optimizer.schedule == "cosine":
        return (1 + math.cos(math.pi * done)) / 2
    return 1.0
