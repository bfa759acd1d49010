"""Estimators of KL(policy ‖ reference) per token, with x = log policy - log reference.

k1 is not offered: in a loss its expected gradient is zero. k2 has the gradient of the reverse KL; k3 has an
unbiased value but another gradient (Schulman 2020, Approximating KL divergence).
"""

from collections.abc import Callable

from torch import Tensor

MAX_LOG_RATIO = 20.0
"""Log-ratios are clamped to ± this before `exp`, so that nothing overflows."""


def k2(logprobs: Tensor, reference: Tensor) -> Tensor:
    """x² / 2."""
    return (logprobs - reference) ** 2 / 2


def k3(logprobs: Tensor, reference: Tensor) -> Tensor:
    """exp(-x) - 1 + x."""
    log_ratio = (reference - logprobs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return log_ratio.exp() - 1 - log_ratio


KL_ESTIMATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {"k2": k2, "k3": k3}
