"""Estimators of KL(policy ‖ reference), with x = log policy - log reference.

k3 is unbiased in value, but not in gradient (Schulman 2020).
"""

from collections.abc import Callable

from torch import Tensor

from worker.algorithm.loss.ratios import MAX_LOG_RATIO, row_mean
from worker.algorithm.rows import PartSettings


def k1(x: Tensor) -> Tensor:
    """Estimator k1: the log-ratio x itself. For the reward only: as a loss its mean gradient is zero."""
    return x


def k2(x: Tensor, ratio: Tensor) -> Tensor:
    """x² / 2 of the log-ratio x."""
    return x**2 / 2


def k3(x: Tensor, ratio: Tensor) -> Tensor:
    """exp(-x) - 1 + x of the log-ratio x."""
    x = x.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return (-x).exp() - 1 + x


def unbiased_k3(x: Tensor, ratio: Tensor) -> Tensor:
    """Policy ratio · k3: unbiased under the current policy in value and gradient (DeepSeek-V3.2; TRL
    `use_bias_correction_kl`).
    """
    return ratio * k3(x, ratio)


KL_ESTIMATORS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "k2": k2,
    "k3": k3,
    "unbiased_k3": unbiased_k3,
}


def kl_penalty(kl: PartSettings, logprobs: Tensor, reference: Tensor, mask: Tensor, ratio: Tensor) -> Tensor:
    """KL estimate of each token (N, T) at level `token`, or of each row's mean x (N, 1) at level
    `sequence`.
    """
    x, estimator = logprobs - reference, KL_ESTIMATORS[kl["estimator"]]
    if kl.get("level", "token") == "token":
        return estimator(x, ratio)
    return estimator(row_mean(x, mask), row_mean(ratio * mask, mask))
