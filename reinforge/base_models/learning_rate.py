"""The rule that resolves `optimizer.learning_rate: auto` to a number (docs/learning-rate.md).

It was fitted to small models (`benchmarks/defaults.py`). Above hidden size 512 it stays within common
LoRA rates.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from reinforge.errors import InvalidInput

AUTO: Literal["auto"] = "auto"
SCALE = 0.16
"""Learning rate × hidden size, for LoRA."""
INITIAL = 3.0
"""The first step's rate as a multiple of the final one."""
SETTLING_STEPS = 6.0
"""Steps in which the difference from the final rate falls by a factor of e."""
INITIAL_WIDTHS = range(128, 257)
"""Hidden sizes whose initial rate is higher. At 64 that destroyed a model; above 256 it was not measured."""
NARROWEST = 128
"""Smaller hidden sizes get this size's rate: at 64, twice that rate learned more slowly."""
MEASURED = frozenset({64, 128, 256, 512})
MEASURED_WITH_UPDATES = frozenset({128})
"""Hidden sizes at which several updates per step were measured."""
BOUNDED_ABOVE = 512
LOWEST, HIGHEST = 2e-5, 1e-4
"""Bounds of the learning rate for hidden sizes above `BOUNDED_ABOVE`."""
_DIGITS = 3


class AutoLearningRate(BaseModel):
    """Learning rate that `auto` becomes for one base model and number of updates per step."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    value: float
    initial: float
    """The first step's rate, which falls to `value`."""
    hidden_size: int
    measured: bool
    """Whether the rule was measured at this hidden size."""
    reason: str


def auto_learning_rate(hidden_size: int, updates_per_step: int = 1) -> float:
    """The `auto` rate: 0.16 ÷ max(hidden size, 128) ÷ updates per step, to three significant digits.

    Clamped to 2e-5…1e-4 above hidden size 512.
    """
    rate = _by_size(hidden_size, updates_per_step)
    return rate if hidden_size <= BOUNDED_ABOVE else min(max(rate, LOWEST), HIGHEST)


def auto_initial_learning_rate(hidden_size: int, updates_per_step: int = 1) -> float:
    """Rate of the first step: three times the final one at hidden sizes from 128 to 256, else the same."""
    rate = auto_learning_rate(hidden_size, updates_per_step)
    return float(f"{INITIAL * rate:.{_DIGITS}g}") if hidden_size in INITIAL_WIDTHS else rate


def _by_size(hidden_size: int, updates_per_step: int) -> float:
    return float(f"{SCALE / max(hidden_size, NARROWEST) / updates_per_step:.{_DIGITS}g}")


def explained(hidden_size: int, updates_per_step: int = 1) -> AutoLearningRate:
    value = auto_learning_rate(hidden_size, updates_per_step)
    initial = auto_initial_learning_rate(hidden_size, updates_per_step)
    updates = f" ÷ {updates_per_step} updates per step" if updates_per_step > 1 else ""
    measured = hidden_size in (MEASURED_WITH_UPDATES if updates else MEASURED)
    reason = f"{SCALE:g} ÷ hidden size {hidden_size:,}{updates}"
    if hidden_size < NARROWEST:
        reason = f"{SCALE:g} ÷ {NARROWEST}{updates}, because hidden size {hidden_size} is below {NARROWEST}"
    if not measured:
        bounded = value != _by_size(hidden_size, updates_per_step)
        reason += f", kept within {LOWEST:g} and {HIGHEST:g}" if bounded else ""
    if initial > value:
        reason += f"; the first steps use more, from {initial:g} down"
    if not measured:
        reason += f"; not measured at this size{' with several updates per step' if updates else ''}"
    return AutoLearningRate(
        value=value, initial=initial, hidden_size=hidden_size, measured=measured, reason=f"{reason}."
    )


def unknown_hidden_size(model: str, param: str = "optimizer.learning_rate") -> InvalidInput:
    return InvalidInput(
        f"The automatic learning rate needs a hidden size, which the configuration of {model} lacks.",
        code="hidden_size_unknown",
        param=param,
        hint="Set optimizer.learning_rate to a number, such as 5e-5 for a model of 1.5 billion parameters.",
    )
