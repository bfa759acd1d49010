"""Aggregation of per-token losses x: Σ weight·x / Σ count."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from worker.algorithm.loss.length_preference import length_factors
from worker.algorithm.plugin_functions import check_finite, check_shape, check_type
from worker.algorithm.rows import PartSettings, lookup


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTokens:
    mask: Tensor
    """(N, T) bool: tokens in the loss."""
    sampled: Tensor | None = None
    """(N, T) bool: tokens that the policy sampled, also in dropped rows."""
    group: Tensor | None = None
    parameters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenWeights:
    weights: Tensor
    """(N, T) float32, 0 outside the mask."""
    counts: Tensor
    """(N,) float32: each row's share of the denominator."""
    slopes: Mapping[str, Tensor] = field(default_factory=dict)
    """∂ weights / ∂ parameter, (N, T) float32."""


def seq_mean(tokens: BatchTokens) -> TokenWeights:
    """Mean over the tokens of a completion, then over completions (GRPO)."""
    lengths = tokens.mask.sum(1, dtype=torch.float32)
    return TokenWeights(tokens.mask / lengths.clamp(min=1)[:, None], (lengths > 0).float())


def token_mean(tokens: BatchTokens, *, denominator: str = "kept") -> TokenWeights:
    """Mean over all tokens of the optimizer batch (DAPO eq. 8).

    denominator: `all` also counts tokens of dropped rows (GFPO, arXiv 2508.09726). Raises ValueError for `all`
    without `sampled`.
    """
    counted = tokens.mask if denominator == "kept" else tokens.sampled
    if counted is None:
        raise ValueError("token_mean with denominator 'all' needs the mask of all sampled tokens")
    return TokenWeights(tokens.mask.float(), counted.sum(1, dtype=torch.float32))


def constant(tokens: BatchTokens, *, length: int) -> TokenWeights:
    """Sum over tokens ÷ (completions × a constant length) (Dr. GRPO)."""
    return TokenWeights(tokens.mask.float(), tokens.mask.any(1).float() * length)


def seq_sum_mean(tokens: BatchTokens) -> TokenWeights:
    """Sum over the tokens of a completion, then mean over completions (verl `seq-mean-token-sum`; LUSPO)."""
    return TokenWeights(tokens.mask.float(), tokens.mask.any(1).float())


def learnable_lambda(tokens: BatchTokens, *, r: float = 1 / 9) -> TokenWeights:
    """Token mean with row i's tokens weighted by f_i = G·softmax_i(h_i^λ) (λ-GRPO; see `length_preference`).

    Raises ValueError without groups or without the parameter `lambda`.
    """
    if tokens.group is None or "lambda" not in tokens.parameters:
        raise ValueError("aggregation 'lambda' needs the group of every row and the parameter lambda")
    lengths = tokens.mask.sum(1)
    factors, slopes = length_factors(lengths, tokens.group, tokens.parameters["lambda"], r)
    return TokenWeights(
        tokens.mask * factors.float()[:, None],
        lengths.float(),
        {"lambda": tokens.mask * slopes.float()[:, None]},
    )


AGGREGATIONS: dict[str, Callable[..., TokenWeights]] = {
    "seq_mean": seq_mean,
    "token_mean": token_mean,
    "constant": constant,
    "seq_sum_mean": seq_sum_mean,
    "lambda": learnable_lambda,
}

NOT_OF_THE_WEIGHTS: Mapping[str, frozenset[str]] = {"lambda": frozenset({"initial", "learning_rate"})}


def token_weights(
    settings: PartSettings,
    mask: Tensor,
    *,
    sampled: Tensor | None = None,
    group: Tensor | None = None,
    parameters: Mapping[str, float] | None = None,
) -> TokenWeights:
    function, params = lookup(AGGREGATIONS, settings, "aggregation")
    beside = NOT_OF_THE_WEIGHTS.get(settings["type"], frozenset())
    params = {key: value for key, value in params.items() if key not in beside}
    tokens = BatchTokens(mask=mask, sampled=sampled, group=group, parameters=parameters or {})
    result = function(tokens, **params)
    if (kind := settings["type"]) not in AGGREGATIONS:
        check_type(result, TokenWeights, "aggregation", kind)
        check_shape(result.weights, mask.shape, "weights", "aggregation", kind)
        check_shape(result.counts, mask.shape[:1], "counts", "aggregation", kind)
        check_finite(result.weights[mask], "weights", "aggregation", kind)
        check_finite(result.counts, "counts", "aggregation", kind)
    return result


def mean_over(chosen: Tensor, counts: Tensor) -> Tensor:
    """Float32 weights for which Σ weight·x / Σ counts is the mean of x over the `chosen` elements."""
    share = counts.sum(dtype=torch.float64) / chosen.sum().clamp(min=1)
    return chosen * share.float()
