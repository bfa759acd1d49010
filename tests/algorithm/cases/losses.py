"""Loss: worked cases by variant. Inputs and params distinguish several forms of a variant.

Every loss goes through `policy_loss`; a param that nothing here reads fails, so that no case passes by being ignored.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from tests.algorithm.cases.base import Adapter, Case, Outputs, all_rows, rows_of, tensor
from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.loss.aggregation import AGGREGATIONS, token_weights
from worker.algorithm.loss.entropy import quantile, top_entropy
from worker.algorithm.loss.hierarchy import hierarchy_correction
from worker.algorithm.loss.kl import KL_ESTIMATORS, k1
from worker.algorithm.loss.losses import LossParts, policy_loss
from worker.algorithm.loss.mismatch import mismatch_weights, off_policy_keep
from worker.algorithm.loss.optimizer_batch import OptimizerBatch, batch_constants, loss_inputs
from worker.algorithm.loss.ratios import RATIOS
from worker.algorithm.loss.surrogates import SURROGATES, Surrogate, Terms

Slots = dict[str, Any]


class Params:
    """A case's params, each to be read once."""

    def __init__(self, case: Case) -> None:
        self._left = dict(case["params"])

    def take(self, name: str, default: Any = None) -> Any:
        return self._left.pop(name, default)

    def done(self) -> None:
        if self._left:
            raise ValueError(f"unusable params: {self._left}")


AVERAGES = {
    "per-sequence mean, then mean over sequences": "seq_mean",
    "per-sequence mean": "seq_mean",
    "mean over sequences": "seq_mean",
    "token mean": "token_mean",
    "sum / (num_sequences * L_const)": "constant",
    "sum over tokens / horizon, mean over sequences": "constant",
    "sum over tokens, mean over sequences": "seq_sum_mean",
}
KL_NAMES = {"k2": "k2", "k3": "k3", "ratio*k3": "unbiased_k3", "w*k3": "unbiased_k3"}


def _average(params: Params, default: str) -> Slots:
    words = params.take("agg", default)
    kind = AVERAGES.get(words, words)
    if kind not in AGGREGATIONS:
        raise ValueError(f"unusable agg {words!r}")
    length = params.take("L_const", params.take("horizon"))
    return {"type": kind, "length": length} if kind == "constant" else {"type": kind}


def _kl(params: Params) -> Slots:
    return {"beta": params.take("beta", 0.0), "estimator": KL_NAMES[params.take("kl", "k3")]}


def _clip(params: Params) -> Slots:
    eps = params.take("eps", 0.2)
    return {
        "type": "ppo_clip",
        "eps_low": params.take("eps_low", eps),
        "eps_high": params.take("eps_high", eps),
        "delta": params.take("delta"),
        "dual_clip": params.take("c"),
    }


def _tensors(case: Case) -> dict[str, Tensor]:
    names = {"old_logp": "old_logprobs", "ref_logp": "reference_logprobs", "sampler_logp": "sampler_logprobs"}
    tensors = {names.get(key, key): tensor(value) for key, value in case["inputs"].items()}
    tensors["mask"] = tensors["mask"].bool()
    tensors["advantages"] = tensors.get("token_advantages", tensors["advantages"])
    return tensors


def run(case: Case, loss: Slots, **state: Any) -> tuple[LossParts, float, Outputs]:
    """The loss of a case as one optimizer batch: its parts, Σ count, and value and gradient as cases name them."""
    inputs = _tensors(case)
    group = inputs.get("group_id", torch.zeros(len(inputs["mask"]))).long()
    batch = OptimizerBatch(
        mask=inputs["mask"],
        group=group,
        entropies=inputs.get("entropy"),
        reference_logprobs=inputs.get("reference_logprobs"),
    )
    constants = batch_constants(loss, batch, state)
    logprobs = inputs["logp"].clone().requires_grad_()
    parts = policy_loss(logprobs, loss_inputs(inputs | constants), loss)
    denominator = float(constants["counts"].sum())
    torch.autograd.backward(parts.total / denominator)
    assert logprobs.grad is not None
    return parts, denominator, {"loss": parts.total.item() / denominator, "grad_logp": logprobs.grad.tolist()}


def loss_case(
    surrogate: Callable[[Params], Slots], *, level: str = "token", average: str = "seq_mean"
) -> Adapter:
    """A case that is a loss and its gradient; sequence ratios beside them."""

    def check(case: Case) -> Outputs:
        params = Params(case)
        loss = {
            "ratio_level": level,
            "surrogate": surrogate(params),
            "aggregation": _average(params, average),
            "kl": _kl(params),
        }
        params.done()
        _, _, outputs = run(case, loss)
        inputs = _tensors(case)
        gap = torch.where(inputs["mask"], inputs["logp"] - inputs["old_logprobs"], 0.0)
        ratio = RATIOS["sequence"](gap, inputs["mask"], None)[:, 0]
        return outputs | {"s_i": ratio.tolist()}

    return check


def _cispo(params: Params) -> Slots:
    clip = params.take("clip")
    if clip is None:
        return {"type": "cispo", "ratio_cap": params.take("ratio_cap")}
    return {"type": "cispo_two_sided", "eps_low": 1 - clip[0], "eps_high": clip[1] - 1}


def _named(kind: str, *names: str) -> Callable[[Params], Slots]:
    """A surrogate whose arguments the case names as we do."""

    def build(params: Params) -> Slots:
        values = {name: params.take(name) for name in names}
        return {"type": kind} | {name: value for name, value in values.items() if value is not None}

    return build


def _drpo_terms(case: Case) -> tuple[Tensor, Terms]:
    inputs = _tensors(case)
    logprobs = inputs["logp"].clone().requires_grad_()
    log_ratio = logprobs - inputs["old_logprobs"]
    terms = Terms(
        ratio=log_ratio.exp(),
        advantages=inputs["advantages"][:, None],
        logprobs=logprobs,
        log_ratio=log_ratio,
        mask=inputs["mask"],
        sampler_logprobs=inputs.get("sampler_logprobs", inputs["old_logprobs"]),
    )
    return logprobs, terms


def _with_sampler(case: Case) -> Case:
    """The old policy stands in for the sampler where a case has none."""
    inputs = case["inputs"]
    return case | {"inputs": {"sampler_logp": inputs["old_logp"]} | inputs}


def _drpo(case: Case) -> Outputs:
    params = Params(case)
    slot = _named("drpo", "delta", "mu_weighted")(params)
    loss = {
        "ratio_level": "token",
        "surrogate": slot,
        "aggregation": _average(params, "constant"),
        "kl": _kl(params),
    }
    params.done()
    _, _, outputs = run(_with_sampler(case), loss)
    logprobs, terms = _drpo_terms(case)
    losses = SURROGATES["drpo"](terms, **{key: slot[key] for key in slot if key != "type"}).losses
    (slope,) = torch.autograd.grad(losses.sum(), logprobs)
    weight = slope / (-terms.advantages * terms.behaviour()[0].detach())
    return outputs | {"per_token_loss": losses.tolist(), "gradient_weight": weight.tolist()}


def _dppo(case: Case) -> Outputs:
    params = Params(case)
    slot = _named("dppo", "delta", "divergence", "ratio_cap")(params)
    params.done()
    _, terms = _drpo_terms(case)
    surrogate: Surrogate = SURROGATES["dppo"](terms, **{key: slot[key] for key in slot if key != "type"})
    keep = terms.mask & ~(surrogate.clipped_low | surrogate.clipped_high)
    return {"keep_mask": keep.double().tolist()}


def _tic(case: Case) -> Outputs:
    params = Params(case)
    loss = {
        "ratio_level": "trajectory",
        "surrogate": {"type": "upper_only", "ratio_cap": params.take("ratio_cap")},
        "aggregation": _average(params, "seq_mean"),
        "kl": _kl(params),
    }
    eps = params.take("eps", 1e-8)
    params.done()
    _, _, outputs = run(case, loss)
    inputs = _tensors(case)
    gap = torch.where(inputs["mask"], inputs["logp"] - inputs["old_logprobs"], 0.0)
    ratio = RATIOS["trajectory"](gap, inputs["mask"], None)[:, 0]
    rewards = inputs["outcome_rewards"]
    rows = rows_of([[value] for value in rewards.tolist()], mask=inputs["mask"])
    advantages = ADVANTAGES["length_corrected"](rows, rewards, all_rows(len(rewards)), eps=eps)
    return {
        "trajectory_ratio": ratio.tolist(),
        "loss_with_given_advantages": outputs["loss"],
        "grad_logp": outputs["grad_logp"],
        "length_corrected_advantages": advantages.tolist(),
    }


def _lambda(case: Case) -> Outputs:
    params = Params(case)
    average = {"type": "lambda", "r": params.take("r", 1 / 9), "initial": 0.0, "learning_rate": 0.1}
    exponent = params.take("lambda")
    loss = {
        "ratio_level": "token",
        "surrogate": _clip(params),
        "aggregation": average,
        "kl": _kl(params),
    }
    params.done()
    parts, denominator, outputs = run(case, loss, parameters={"lambda": exponent})
    inputs = _tensors(case)
    lengths = inputs["mask"].sum(1)
    if "lengths" in inputs and not torch.equal(lengths, inputs["lengths"].long()):
        raise ValueError("unusable lengths: they are not those of the mask")

    def factors(value: float) -> list[float]:
        group = inputs.get("group_id", torch.zeros(len(lengths))).long()
        weights = token_weights(average, inputs["mask"], group=group, parameters={"lambda": value})
        return (weights.weights.sum(1) / lengths).tolist()

    return outputs | {
        "weights": factors(exponent),
        "weights_lambda0": factors(0.0),
        "dloss_dlambda": parts.gradients["lambda"] / denominator,
    }


def _averages(case: Case) -> Outputs:
    params = Params(case)
    mask, losses = tensor(case["inputs"]["mask"]).bool(), tensor(case["inputs"]["per_token_loss"])
    lengths = {"constant": {"length": params.take("L_const")}}
    params.done()
    outputs = {}
    for kind in ("seq_mean", "token_mean", "constant", "seq_sum_mean"):
        weights = token_weights({"type": kind} | lengths.get(kind, {}), mask)
        outputs[kind] = ((losses * weights.weights).sum() / weights.counts.sum()).item()
    return outputs


def _kl_estimators(case: Case) -> Outputs:
    Params(case).done()
    reference = tensor(case["inputs"]["ref_logp"])
    estimators: dict[str, Callable[[Tensor], Tensor]] = {"k1": k1}
    for name in ("k2", "k3"):
        estimators[name] = lambda x, name=name: KL_ESTIMATORS[name](x, torch.ones_like(x))
    outputs: Outputs = {}
    for name, estimator in estimators.items():
        logprobs = tensor(case["inputs"]["logp"]).requires_grad_()
        values = estimator(logprobs - reference)
        (slope,) = torch.autograd.grad(values.sum(), logprobs)
        outputs |= {name: values.tolist(), f"grad_{name}": slope.tolist()}
    return outputs


def _mismatch(case: Case) -> Outputs:
    params = Params(case)
    bounds = {"ratio_max": params.take("C_max"), "ratio_min": params.take("C_min")}
    surrogate, average, kl = _clip(params), _average(params, "seq_mean"), _kl(params)
    params.done()
    inputs = _tensors(case)
    old, sampler, mask = inputs["old_logprobs"], inputs["sampler_logprobs"], inputs["mask"]
    outputs: Outputs = {}
    for level in ("token", "sequence"):
        free = {"mode": f"{level}_truncate", "ratio_max": torch.inf}
        outputs[f"{level}_ratio"] = mismatch_weights(free, old, sampler, mask).tolist()
        for beyond in ("truncate", "mask"):
            slot = {"type": "importance", "mode": f"{level}_{beyond}"} | bounds
            loss = {
                "ratio_level": "token",
                "surrogate": surrogate,
                "aggregation": average,
                "kl": kl,
                "mismatch": slot,
            }
            _, _, ran = run(case, loss)
            name = slot["mode"]
            outputs |= {f"loss_{name}": ran["loss"], f"grad_{name}": ran["grad_logp"]}
            outputs[name] = mismatch_weights(slot, old, sampler, mask).tolist()
    return outputs


def _off_policy(case: Case) -> Outputs:
    params = Params(case)
    delta = params.take("delta")
    params.done()
    inputs = _tensors(case)
    sampler = inputs.get("sampler_logprobs", inputs["old_logprobs"])
    keep = off_policy_keep(delta, inputs["advantages"][:, None], inputs["logp"], sampler, inputs["mask"])
    return {"sequence_keep": keep[:, 0].double().tolist()}


def _top_entropy(case: Case) -> Outputs:
    params = Params(case)
    share = params.take("rho")
    params.done()
    entropies, mask = tensor(case["inputs"]["entropy"]), tensor(case["inputs"]["mask"]).bool()
    keep = top_entropy(entropies, mask, share)
    return {"keep": keep.double().tolist(), "threshold": quantile(entropies[mask], 1 - share).item()}


def _hierarchy(case: Case) -> Outputs:
    """One token per row. On the policy, so that the ratio is 1; beside it the same with two separate heads."""
    params, inputs = Params(case), case["inputs"]
    weight, average = params.take("lambda"), _average(params, "token mean")
    if params.take("ratio", 1.0) != 1.0:
        raise ValueError("unusable ratio: the case is one on the policy")
    params.done()
    logits = tensor(inputs["logits"]).requires_grad_()
    actions, tool = torch.tensor(inputs["actions"])[:, None], inputs["tool_token"]
    scores = logits.log_softmax(1)
    shape = {"mask": torch.ones_like(actions, dtype=torch.bool), "advantages": tensor(inputs["advantages"])}
    executed = actions == tool
    own = {"execute_logits": logits[:, [tool]], "execute_logprobs": scores[:, [tool]], "executed": executed}

    def total(by: float) -> Tensor:
        loss = {
            "ratio_level": "token",
            "surrogate": {"type": "ppo_clip"},
            "aggregation": average,
            "kl": {"beta": 0.0},
            "aux": {"type": "hierarchy", "weight": by},
        }
        constants = batch_constants(loss, OptimizerBatch(mask=shape["mask"]), {})
        chosen = scores.gather(1, actions)
        parts = policy_loss(chosen, loss_inputs(shape | own | constants), loss)
        return parts.total / constants["counts"].sum()

    correction = hierarchy_correction(logits[:, [tool]], scores[:, [tool]], executed)[:, 0]
    losses = -shape["advantages"]
    (ascent,) = torch.autograd.grad(-total(1.0) * len(actions), logits, retain_graph=True)
    rest = logits.masked_fill(torch.arange(logits.shape[1]) == tool, -torch.inf)
    margin = logits[:, tool] - rest.logsumexp(1).detach()
    execute = torch.nn.functional.logsigmoid(torch.where(executed[:, 0], margin, -margin))
    word = torch.where(executed, 0.0, rest.log_softmax(1).gather(1, actions).masked_fill(executed, 0.0))[:, 0]
    (explicit,) = torch.autograd.grad(
        (shape["advantages"] * (execute + word)).sum(), logits, retain_graph=True
    )
    return {
        "gamma": (1 - scores[:, tool].exp()).tolist(),
        "correction_c": correction.tolist(),
        "c_loss": (correction * losses).mean().item(),
        "pg_loss": losses.mean().item(),
        "total_loss": total(weight).item(),
        "implicit_gradient_lambda1": ascent.tolist(),
        "explicit_hierarchy_gradient": explicit.tolist(),
    }


CASES: dict[str, Adapter] = {
    "GRPO": loss_case(_clip),
    "GRPO + KL": loss_case(_clip),
    "DeepSeek-V3.2 KL": loss_case(_clip),
    "DAPO": loss_case(_clip, average="token_mean"),
    "Dr. GRPO": loss_case(_clip, average="constant"),
    "two-sided clip": loss_case(_clip),
    "dual-clip PPO": loss_case(_clip, average="token_mean"),
    "GSPO": loss_case(_clip, level="sequence"),
    "GSPO-token": loss_case(_clip, level="gspo_token"),
    "LUSPO": loss_case(_clip, level="sequence", average="seq_sum_mean"),
    "CISPO": loss_case(_cispo, average="token_mean"),
    "SAPO": loss_case(_named("sapo", "tau_pos", "tau_neg")),
    "VESPO": loss_case(_named("vespo", "k_pos", "lambda_pos", "k_neg", "lambda_neg"), average="token_mean"),
    "GMPO (extra)": loss_case(_named("gmpo", "log_clip")),
    "TIC-GRPO": _tic,
    "DRPO": _drpo,
    "DPPO (for DRPO comparison)": _dppo,
    "lambda-GRPO": _lambda,
    "aggregation": _averages,
    "KL": _kl_estimators,
    "TIS": _mismatch,
    "DeepSeek-V3.2 off-policy mask": _off_policy,
    "80/20 entropy mask": _top_entropy,
    "IH-GRPO": _hierarchy,
}
