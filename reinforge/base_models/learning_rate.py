"""`optimizer.learning_rate: auto`: the rule that makes it a number, in this place only.

The rate that suits an adapter falls as the model gets wider. Where it was measured to help, the first steps use a
higher rate: it teaches a model within a few steps to do more often what it does already, and kept up it would destroy
what takes many steps to learn. The rule was fitted to small models (`benchmarks/defaults.py`, docs/learning-rate.md);
for wide models it stays between two rates that are common for LoRA.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from reinforge.errors import InvalidInput

AUTO: Literal["auto"] = "auto"
SCALE = 0.16
"""Learning rate × hidden size, with a LoRA adapter."""
INITIAL = 3.0
"""The first step's rate, as a multiple of the rate that it falls to."""
SETTLING_STEPS = 6.0
"""Steps in which the difference between the two falls by a factor of e."""
INITIAL_WIDTHS = range(128, 257)
"""Hidden sizes at which the first steps use more. At 64 that destroyed a model; above 256 it was not measured."""
NARROWEST = 128
"""A narrower model has the learning rate of this hidden size: at 64 twice the rate was slower."""
MEASURED = frozenset({64, 128, 256, 512})
"""Hidden sizes that the rule was measured at."""
BOUNDED_ABOVE = 512
LOWEST, HIGHEST = 2e-5, 1e-4
"""Bounds for a hidden size above `BOUNDED_ABOVE`."""
_DIGITS = 3


class AutoLearningRate(BaseModel):
    """What `auto` is for one base model."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    value: float
    initial: float
    """The first step's rate, which falls to `value`."""
    hidden_size: int
    measured: bool
    """The rule was measured at this size."""
    reason: str
    """How the value was found, in one sentence."""


def auto_learning_rate(hidden_size: int) -> float:
    """The learning rate that `auto` stands for, for a LoRA adapter on a model of this hidden size.

    0.16 ÷ hidden size, rounded to three digits: 128 → 1.25e-3, which is also that of narrower models. Measured up to
    512 (`benchmarks/defaults.py`). Above 512 the value stays within 2e-5 and 1e-4.
    """
    rate = _by_size(hidden_size)
    return rate if hidden_size <= BOUNDED_ABOVE else min(max(rate, LOWEST), HIGHEST)


def auto_initial_learning_rate(hidden_size: int) -> float:
    """The rate of the first step: at hidden sizes from 128 to 256 three times the rate that it falls to."""
    rate = auto_learning_rate(hidden_size)
    return float(f"{INITIAL * rate:.{_DIGITS}g}") if hidden_size in INITIAL_WIDTHS else rate


def _by_size(hidden_size: int) -> float:
    return float(f"{SCALE / max(hidden_size, NARROWEST):.{_DIGITS}g}")


def explained(hidden_size: int) -> AutoLearningRate:
    """The learning rate with its derivation."""
    value, initial = auto_learning_rate(hidden_size), auto_initial_learning_rate(hidden_size)
    measured = hidden_size in MEASURED
    reason = f"{SCALE:g} ÷ hidden size {hidden_size:,}"
    if hidden_size < NARROWEST:
        reason = f"{SCALE:g} ÷ {NARROWEST}, because hidden size {hidden_size} is below {NARROWEST}"
    if not measured:
        bounded = value != _by_size(hidden_size)
        reason += f", kept within {LOWEST:g} and {HIGHEST:g}" if bounded else ""
    if initial > value:
        reason += f"; the first steps use more, from {initial:g} down"
    if not measured:
        reason += "; not measured at this size"
    return AutoLearningRate(
        value=value, initial=initial, hidden_size=hidden_size, measured=measured, reason=f"{reason}."
    )


def unknown_hidden_size(model: str, param: str = "optimizer.learning_rate") -> InvalidInput:
    """The refusal of `auto` for a model whose configuration does not say its hidden size."""
    return InvalidInput(
        f"The configuration of {model} has no hidden size, which the automatic learning rate is computed from.",
        code="hidden_size_unknown",
        param=param,
        hint="Set optimizer.learning_rate to a number, such as 5e-5 for a model of 1.5 billion parameters.",
    )
