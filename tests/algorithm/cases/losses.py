"""Slot 4: worked cases by variant. A variant with several unlike forms is told apart by inputs and params."""

from typing import Any

import torch

from tests.algorithm.cases.base import Adapter, Case, Found, tensor
from worker.algorithm.aggregation import token_weights
from worker.algorithm.losses import LossInputs, policy_loss


def loss_of(case: Case, aggregation: dict[str, Any], loss: dict[str, Any]) -> Found:
    """Loss and gradient of a case with the inputs that all `loss.*` cases share."""
    inputs = {key: tensor(value) for key, value in case["inputs"].items()}
    mask = inputs["mask"].bool()
    weights = token_weights(aggregation, mask)
    logprobs = inputs["logp"].requires_grad_()
    parts = policy_loss(
        logprobs,
        LossInputs(
            mask=mask,
            advantages=inputs["advantages"],
            token_weights=weights.weights,
            counts=weights.counts,
            old_logprobs=inputs["old_logp"],
            reference_logprobs=inputs.get("ref_logp"),
        ),
        loss,
    )
    total = parts.total / weights.counts.sum()
    torch.autograd.backward(total)
    assert logprobs.grad is not None
    return {"loss": total.item(), "grad_logp": logprobs.grad.tolist()}


def _slot(params: dict[str, Any], **more: Any) -> dict[str, Any]:
    clip = {"type": "ppo_clip", "eps_low": params["eps_low"], "eps_high": params["eps_high"]}
    return {"ratio_level": "token", "surrogate": clip, "kl": {"beta": 0.0, "estimator": "k3"}} | more


def _grpo(case: Case) -> Found:
    return loss_of(case, {"type": "seq_mean"}, _slot(case["params"]))


def _dr_grpo(case: Case) -> Found:
    params = case["params"]
    return loss_of(case, {"type": "constant", "length": params["L_const"]}, _slot(params))


def _grpo_kl(case: Case) -> Found:
    params = case["params"]
    kl = {"beta": params["beta"], "estimator": params["kl"]}
    return loss_of(case, {"type": "seq_mean"}, _slot(params, kl=kl))


CASES: dict[str, Adapter] = {
    "GRPO": _grpo,
    "Dr. GRPO": _dr_grpo,
    "GRPO + KL": _grpo_kl,
}

LATER: frozenset[str] = frozenset(
    {
        "loss.dapo.clip_higher_token_mean",
        "loss.two_sided_delta",
        "loss.dual_clip",
        "loss.gspo",
        "loss.gspo_token",
        "loss.cispo.upper_only",
        "loss.cispo.two_sided",
        "loss.sapo",
        "loss.gmpo",
        "loss.tic_grpo",
        "loss.drpo",
        "loss.dppo_mask",
        "loss.lambda_grpo",
        "agg.modes",
        "kl.estimators",
        "loss.grpo_with_unbiased_kl",
        "loss.tis",
        "loss.off_policy_mask",
        "loss.top_entropy_mask",
        "loss.ih_grpo",
    }
)
"""Ids whose functions are still to come."""
