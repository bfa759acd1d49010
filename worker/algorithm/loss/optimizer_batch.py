"""Constants of the loss that depend on the whole optimizer batch, named like the fields of `LossInputs`;
derivatives with respect to a loss parameter are named `slope.<parameter>`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.loss.aggregation import mean_over, token_weights
from worker.algorithm.loss.entropy import coefficient, policy_tokens
from worker.algorithm.loss.losses import NONE, LossInputs
from worker.algorithm.loss.state import loss_parameters
from worker.algorithm.loss.surrogates import READS_SAMPLER, SURROGATES
from worker.algorithm.pairs import dpo_pairs
from worker.algorithm.rows import State

SLOPE = "slope."
SUMMED_OVER_ROWS = frozenset({"counts", "row_weights", "pair_losses"})
"""Constants (N,) that the loss sums over rows: the sequences of a row share its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizerBatch:
    """N rows of one update, without gradient."""

    mask: Tensor
    """(N, T) bool: tokens in the loss."""
    sampled: Tensor | None = None
    """(N, T) bool: tokens of the policy, also of dropped rows."""
    group: Tensor | None = None
    rewards: Tensor | None = None
    """Reward of each row, (N,), NaN if missing."""
    entropies: Tensor | None = None
    """Token entropies before the update, (N, T) nats."""
    logprobs: Tensor | None = None
    """Log-probabilities before the update, (N, T)."""
    reference_logprobs: Tensor | None = None
    factors: Tensor | None = None
    """Factor of each row's loss, (N,); None for 1."""
    independent: Tensor | None = None
    """(N,) bool: rows that the denominator counts; None for all."""


def loss_reads(loss: Mapping[str, Any]) -> frozenset[str]:
    """Names of the inputs that the loss needs besides mask, advantages and log-probabilities with
    gradient.
    """
    aux, aggregation = loss.get("aux", NONE)["type"], loss["aggregation"]
    reads = {
        "sampler_logprobs": loss.get("mismatch", NONE)["type"] != "none"
        or loss.get("off_policy_mask", NONE)["type"] != "none"
        or loss["surrogate"]["type"] in READS_SAMPLER
        or loss["surrogate"]["type"] not in SURROGATES,  # a package's may: they cost nothing
        "reference_logprobs": loss["kl"]["beta"] > 0 or bool(loss["kl"].get("beta_by")) or aux == "dpo_pair",
        "actions": loss["ratio_level"] == "action",
        "entropies": loss.get("policy_tokens", {"type": "all"})["type"] == "top_entropy",
        "logprobs": aux == "dpo_pair",
        "entropy_gradient": loss.get("entropy", NONE)["type"] != "none",
        "execute_scores": aux == "hierarchy",
        "group": aux == "dpo_pair" or aggregation["type"] == "lambda",
        "rewards": aux == "dpo_pair",
        "sampled": aggregation.get("denominator") == "all",
    }
    return frozenset(name for name, is_read in reads.items() if is_read)


def batch_constants(loss: Mapping[str, Any], batch: OptimizerBatch, state: State) -> dict[str, Tensor]:
    """Weights, counts and other constants; the sum of `counts` is the loss's denominator. Raises ValueError naming
    what `batch` lacks.
    """
    weights = token_weights(
        loss["aggregation"],
        batch.mask,
        sampled=batch.sampled,
        group=batch.group,
        parameters=loss_parameters(loss, state),
    )
    counts = weights.counts if batch.independent is None else weights.counts * batch.independent
    weights = replace(weights, counts=counts)
    if batch.factors is not None:
        weights = replace(weights, weights=weights.weights * batch.factors.float()[:, None])
    out = {"token_weights": weights.weights, "counts": weights.counts}
    out |= {SLOPE + name: slope for name, slope in weights.slopes.items()}
    chosen = batch.mask
    tokens = loss.get("policy_tokens", {"type": "all"})
    if tokens["type"] != "all":
        chosen = out["policy_tokens"] = policy_tokens(tokens, batch.mask, batch.entropies)
    if loss["kl"].get("level", "token") == "sequence":
        out["row_weights"] = mean_over(batch.mask.any(1), weights.counts)
    entropy = loss.get("entropy", NONE)
    if entropy["type"] != "none":
        eta = coefficient(entropy, state.get("entropy", {}))
        out["entropy_weights"] = eta * mean_over(chosen, weights.counts)
    aux = loss.get("aux", NONE)
    if aux["type"] == "hierarchy":
        out["hierarchy_weights"] = aux["weight"] * mean_over(batch.mask, weights.counts)
    if aux["type"] == "dpo_pair":
        out |= _pairs(aux["weight"], aux["beta"], batch, weights.counts)
    return out


def _pairs(weight: float, beta: float, batch: OptimizerBatch, counts: Tensor) -> dict[str, Tensor]:
    tensors = (batch.logprobs, batch.reference_logprobs, batch.rewards, batch.group)
    logprobs, reference, rewards, group = tensors
    if logprobs is None or reference is None or rewards is None or group is None:
        raise ValueError("aux 'dpo_pair' needs logprobs, reference_logprobs, rewards and group")
    gains = torch.where(batch.mask, logprobs - reference, 0.0).sum(1, dtype=torch.float64)
    keep = batch.mask.any(1) & ~rewards.isnan()
    term = dpo_pairs(gains, rewards, group, keep, beta)
    share = weight * float(counts.sum(dtype=torch.float64)) / max(term.count, 1)
    return {"pair_losses": (share * term.losses).float(), "pair_slopes": (share * term.slopes).float()}


_FIELDS = frozenset(part.name for part in fields(LossInputs)) - {"weight_slopes"}


def loss_inputs(tensors: Mapping[str, Tensor]) -> LossInputs:
    inputs: dict[str, Any] = {name: value for name, value in tensors.items() if name in _FIELDS}
    slopes = {name.removeprefix(SLOPE): value for name, value in tensors.items() if name.startswith(SLOPE)}
    return LossInputs(**inputs, weight_slopes=slopes)
