"""`optimizer.learning_rate: auto`: the rule that makes it a number, in this place only.

The rate that suits an adapter falls as the model gets wider. The rule was tried at a hidden size of 128 only
(`benchmarks/defaults.py`, docs/learning-rate.md); for wide models it stays between two rates that are common for LoRA.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from reinforge.errors import InvalidInput

AUTO: Literal["auto"] = "auto"
SCALE = 0.08
"""Learning rate × hidden size, with a LoRA adapter."""
MEASURED = frozenset({128})
"""Hidden sizes that the rule was measured at."""
BOUNDED_ABOVE = 512
LOWEST, HIGHEST = 2e-5, 1e-4
"""Bounds for a hidden size above `BOUNDED_ABOVE`."""
_DIGITS = 3


class AutoLearningRate(BaseModel):
    """What `auto` is for one base model."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    value: float
    hidden_size: int
    measured: bool
    """The rule was measured at this size."""
    reason: str
    """How the value was found, in one sentence."""


def auto_learning_rate(hidden_size: int) -> float:
    """The learning rate that `auto` stands for, for a LoRA adapter on a model of this hidden size.

    0.08 ÷ hidden size, rounded to three digits: 128 → 6.25e-4. Measured at a hidden size of 128
    (`benchmarks/defaults.py`). Above 512 the value stays within 2e-5 and 1e-4.
    """
    rate = float(f"{SCALE / hidden_size:.{_DIGITS}g}")
    return rate if hidden_size <= BOUNDED_ABOVE else min(max(rate, LOWEST), HIGHEST)


def explained(hidden_size: int) -> AutoLearningRate:
    """The same, with how it was found."""
    value, measured = auto_learning_rate(hidden_size), hidden_size in MEASURED
    reason = f"{SCALE:g} ÷ hidden size {hidden_size:,}"
    if not measured:
        bounded = value != float(f"{SCALE / hidden_size:.{_DIGITS}g}")
        reason += f", kept within {LOWEST:g} and {HIGHEST:g}" if bounded else ""
        reason += "; not measured at this size"
    return AutoLearningRate(value=value, hidden_size=hidden_size, measured=measured, reason=f"{reason}.")


def unknown_hidden_size(model: str, param: str = "optimizer.learning_rate") -> InvalidInput:
    """The refusal of `auto` for a model whose configuration does not say its hidden size."""
    return InvalidInput(
        f"The configuration of {model} has no hidden size, which the automatic learning rate is computed from.",
        code="hidden_size_unknown",
        param=param,
        hint="Set optimizer.learning_rate to a number, such as 5e-5 for a model of 1.5 billion parameters.",
    )
