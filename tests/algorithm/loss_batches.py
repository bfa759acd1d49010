"""Random optimizer batches for the loss, and every kind of loss slot to run on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from worker.algorithm.loss.losses import LossParts, policy_loss
from worker.algorithm.loss.optimizer_batch import OptimizerBatch, batch_constants, loss_inputs

Slots = dict[str, Any]
LEAVES = ("logprobs", "entropies", "execute_logits", "execute_logprobs")
"""Tensors that carry gradient."""
STATE = {"parameters": {"lambda": 0.7}, "entropy": {"coefficient": 0.01, "measured": 0.1}}

CLIP = {"type": "ppo_clip", "eps_low": 0.2, "eps_high": 0.28}


def slots(surrogate: Slots = CLIP, average: str = "seq_mean", level: str = "token", **more: Any) -> Slots:
    aggregation: Slots = {"type": average} | ({"length": 7} if average == "constant" else {})
    if average == "lambda":
        aggregation |= {"r": 1 / 9, "initial": 0.0, "learning_rate": 0.1}
    return {
        "ratio_level": level,
        "surrogate": surrogate,
        "aggregation": aggregation,
        "kl": {"beta": 0.0, "estimator": "k3"},
    } | more


LEVELS = ("token", "sequence", "gspo_token", "arithmetic", "trajectory", "action")
SURROGATES: dict[str, Slots] = {
    "ppo_clip": CLIP,
    "ppo_clip.delta": CLIP | {"delta": 1.5},
    "ppo_clip.dual_clip": CLIP | {"dual_clip": 1.5},
    "upper_only": {"type": "upper_only"},
    "cispo": {"type": "cispo", "ratio_cap": 1.2},
    "cispo_two_sided": {"type": "cispo_two_sided"},
    "sapo": {"type": "sapo"},
    "drpo": {"type": "drpo", "delta": 0.2},
    "drpo.spo": {"type": "drpo", "delta": 0.2, "mu_weighted": False},
    "dppo": {"type": "dppo", "delta": 0.05},
    "dppo.kl": {"type": "dppo", "delta": 0.01, "divergence": "binary_kl"},
    "reinforce": {"type": "reinforce"},
    "reinforce.weighted": {"type": "reinforce", "weighted": True},
    "gmpo": {"type": "gmpo"},
    "vespo": {"type": "vespo"},
}
AVERAGES = ("seq_mean", "token_mean", "constant", "seq_sum_mean", "lambda")
MODES = ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")

VARIANTS: dict[str, Slots] = (
    {f"surrogate {name}": slots(slot) for name, slot in SURROGATES.items()}
    | {f"level {level}": slots(level=level) for level in LEVELS}
    | {f"average {average}": slots(average=average) for average in AVERAGES}
    | {
        f"mismatch {mode}": slots(mismatch={"type": "importance", "mode": mode, "ratio_max": 1.1})
        for mode in MODES
    }
    | {
        f"kl {estimator} {level}": slots(
            average="token_mean", kl={"beta": 0.1, "estimator": estimator, "level": level}
        )
        for estimator, level in [
            ("k2", "token"),
            ("k3", "token"),
            ("unbiased_k3", "token"),
            ("k3", "sequence"),
        ]
    }
    | {
        "vespo corrected": slots(
            {"type": "vespo"}, mismatch={"type": "importance", "mode": "token_mask", "ratio_max": 1.2}
        ),
        "token_mean over all": slots(average="token_mean")
        | {"aggregation": {"type": "token_mean", "denominator": "all"}},
        "top entropy": slots(average="token_mean", policy_tokens={"type": "top_entropy", "share": 0.4}),
        "off-policy mask": slots(off_policy_mask={"type": "sequence", "delta": 0.02}),
        "entropy bonus": slots(entropy={"type": "static", "coefficient": 0.01}),
        "adaptive entropy of top tokens": slots(
            entropy={"type": "adaptive", "target": 0.2, "initial": 0.0, "step": 0.005, "maximum": 1.0},
            policy_tokens={"type": "top_entropy", "share": 0.4},
        ),
        "dpo pair": slots(aux={"type": "dpo_pair", "weight": 0.3, "beta": 0.4}),
        "hierarchy": slots(average="token_mean", aux={"type": "hierarchy", "weight": 0.1}),
    }
)
TRAINED_WITHOUT_ADVANTAGE = ("kl ", "entropy bonus", "adaptive entropy", "dpo pair")
"""Variants whose loss has a part that advantages do not scale."""


@dataclass(frozen=True, slots=True)
class LossBatch:
    """An optimizer batch of N rows: tensors by the names of `LossInputs`, and what its constants come from."""

    tensors: dict[str, Tensor]
    rewards: Tensor
    group: Tensor

    def take(self, rows: Sequence[int]) -> "LossBatch":
        picked = {name: tensor[list(rows)] for name, tensor in self.tensors.items()}
        return LossBatch(picked, self.rewards[list(rows)], self.group[list(rows)])

    def constants(self, loss: Slots) -> dict[str, Tensor]:
        tensors = self.tensors
        batch = OptimizerBatch(
            mask=tensors["mask"],
            sampled=tensors["mask"] | (torch.arange(tensors["mask"].shape[1]) == 0),
            group=self.group,
            rewards=self.rewards,
            entropies=tensors["entropies"],
            logprobs=tensors["logprobs"],
            reference_logprobs=tensors["reference_logprobs"],
        )
        return batch_constants(loss, batch, STATE)


def draw(seed: int, rows: int, width: int, *, on_policy: bool = False, spread: float = 0.4) -> LossBatch:
    """A batch with rows of any length, 0 included, NaN and inf outside the mask, and a sampler that missed a token."""
    source = torch.Generator().manual_seed(seed)

    def noise(scale: float) -> Tensor:
        return scale * torch.randn((rows, width), generator=source, dtype=torch.float64)

    mask = torch.arange(width)[None, :] < torch.randint(0, width + 1, (rows, 1), generator=source)
    logprobs = -noise(1.0).abs() - 0.05
    old = logprobs if on_policy else logprobs + noise(spread)
    group = torch.randint(0, 3, (rows,), generator=source)
    sampler = old if on_policy else old + noise(0.2)
    if not on_policy:
        sampler = torch.where(torch.rand((rows, width), generator=source) < 0.1, torch.nan, sampler)
    tensors = {
        "logprobs": logprobs,
        "old_logprobs": old,
        "reference_logprobs": old + noise(0.4),
        "sampler_logprobs": sampler,
        "entropies": noise(1.0).abs(),
        "execute_logits": noise(1.0),
        "execute_logprobs": -noise(1.0).abs() - 0.01,
    }
    outside = torch.where(torch.rand((rows, width), generator=source) < 0.5, torch.nan, torch.inf)
    tensors = {name: torch.where(mask, tensor, outside) for name, tensor in tensors.items()}
    return LossBatch(
        tensors
        | {
            "mask": mask,
            "advantages": torch.randn(rows, generator=source, dtype=torch.float64),
            "actions": torch.where(mask, torch.arange(width)[None, :] // 2, -1),
            "executed": torch.rand((rows, width), generator=source) < 0.3,
        },
        rewards=torch.randint(0, 3, (rows,), generator=source).double(),
        group=group,
    )


@dataclass(frozen=True, slots=True)
class Ran:
    value: Tensor
    gradients: dict[str, Tensor]
    """By the names of `LEAVES`, (N, T)."""
    own: dict[str, float]
    """Of the loss's own parameters."""
    metrics: dict[str, tuple[float, float]]


def run(batch: LossBatch, loss: Slots, micro_batches: Sequence[Sequence[int]] | None = None) -> Ran:
    """The loss of an optimizer batch, in one piece or in micro-batches of the given rows."""
    leaves = {name: batch.tensors[name].clone().requires_grad_() for name in LEAVES}
    constants = batch.constants(loss)
    everything = batch.tensors | leaves | constants
    denominator = float(constants["counts"].sum()) or 1.0
    value, own, metrics = (
        torch.zeros((), dtype=torch.float64),
        dict[str, float](),
        dict[str, tuple[float, float]](),
    )
    for rows in micro_batches or [range(len(batch.rewards))]:
        part = {name: tensor[list(rows)] for name, tensor in everything.items()}
        parts: LossParts = policy_loss(part["logprobs"], loss_inputs(part), loss)
        torch.autograd.backward(parts.total / denominator)
        value = value + parts.total.detach() / denominator
        for name, gradient in parts.gradients.items():
            own[name] = own.get(name, 0.0) + gradient / denominator
        for name, (total, count) in parts.metrics.items():
            before = metrics.get(name, (0.0, 0.0))
            metrics[name] = (before[0] + total, before[1] + count)
    gradients = {
        name: torch.zeros_like(leaf) if leaf.grad is None else leaf.grad for name, leaf in leaves.items()
    }
    return Ran(value, gradients, own, metrics)
