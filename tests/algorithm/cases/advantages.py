"""Advantage: worked cases by variant. Inputs and params distinguish several forms of a variant."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from tests.algorithm.cases.base import (
    Adapter,
    Case,
    Outputs,
    all_rows,
    group_rows,
    in_groups,
    rows_of,
    std_of,
    take,
    tensor,
)
from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.advantages.entropy import grpo_s_rewards, gtpo_rewards, sides
from worker.algorithm.advantages.process import normalised_steps
from worker.algorithm.advantages.turns import turn_credit
from worker.algorithm.loss.aggregation import token_weights
from worker.algorithm.loss.losses import LossInputs, policy_loss
from worker.algorithm.loss.ratios import RATIOS
from worker.algorithm.rows import Rows, Steps, Turns


def _groups(rewards: list[Any]) -> list[list[float]]:
    """A single group may be written without its own brackets."""
    return rewards if rewards and isinstance(rewards[0], list) else [rewards]


def _rows(case: Case, **more: Any) -> tuple[Rows, Tensor]:
    inputs = case["inputs"]
    if "lengths" in inputs and "lengths" not in more:
        more["lengths"] = [int(length) for length in _flat(inputs["lengths"])]
    return group_rows(_groups(inputs["rewards"]), **more)


def _flat(values: list[Any]) -> list[float]:
    return [float(part) for group in _groups(values) for part in group]


def _cut(values: Tensor, case: Case) -> list[Any]:
    """(N,) values in the form of the case's rewards: groups, or one group without its own brackets."""
    rewards = case["inputs"]["rewards"]
    cut = in_groups(values, _groups(rewards))
    return cut if isinstance(rewards[0], list) else cut[0]


def _padded(rows: Rows, width: int) -> Rows:
    mask = torch.zeros((len(rows.mask), max(width, rows.mask.shape[1])), dtype=torch.bool)
    mask[:, : rows.mask.shape[1]] = rows.mask
    return replace(rows, mask=mask)


def _estimate(kind: str, rows: Rows, rewards: Tensor, **params: Any) -> Tensor:
    return ADVANTAGES[kind](rows, rewards, all_rows(len(rewards)), **params)


def outcome(kind: str, params: Callable[[dict[str, Any]], dict[str, Any]] = lambda _: {}) -> Adapter:
    """Estimators of one number per completion; `params` picks their arguments from the case's params."""

    def check(case: Case) -> Outputs:
        rows, flat = _rows(case)
        return {"advantages": _cut(_estimate(kind, rows, flat, **params(case["params"])), case)}

    return check


def _std_eps(params: dict[str, Any]) -> dict[str, Any]:
    return {"std": std_of(params), "eps": params["eps"]}


def _rloo(case: Case) -> Outputs:
    rows, flat = _rows(case)
    count = torch.tensor([float(len(group)) for group in _groups(case["inputs"]["rewards"]) for _ in group])
    centred = _estimate("dr_grpo", rows, flat) * count / (count - 1)
    expected_names = outcome("rloo")(case)
    return expected_names | {"identity_G_over_Gm1_times_centered": _cut(centred, case)}


def _reinforce_pp(case: Case) -> Outputs:
    inputs, params = case["inputs"], case["params"]
    rows, flat = _rows(case)
    rows = _padded(rows, inputs.get("T", 0))
    if params.get("kl_coef"):
        penalty = params["kl_coef"] * (tensor(inputs["old_logp"]) - tensor(inputs["ref_logp"]))
        last = torch.zeros_like(penalty).scatter_(1, (rows.lengths - 1)[:, None], flat[:, None])
        rows = replace(rows, token_rewards=torch.where(rows.mask, last - penalty, 0.0))
    credit = _estimate("reinforce_pp", rows, flat, gamma=params["gamma"], std=std_of(params))
    return {"token_advantages": credit.tolist()}


def _reinforce_pp_baseline(case: Case) -> Outputs:
    params = case["params"]
    rows, flat = _rows(case)
    rows = _padded(rows, case["inputs"].get("T", 0))
    token = _estimate("reinforce_pp_baseline", rows, flat, level="token", std=std_of(params))
    outputs = {"token_advantages": token.tolist()} if "lengths" in case["inputs"] else {}
    more = {"eps": params["eps"]} if "eps" in params else {}
    sequence = _estimate("reinforce_pp_baseline", rows, flat, level="sequence", std=std_of(params), **more)
    return outputs | {"advantages": _cut(sequence, case)}


def _process(case: Case) -> Outputs:
    rows_steps = case["inputs"]["steps"]
    lengths = [max((step["end_token_1based"] for step in steps), default=0) for steps in rows_steps]
    flat = [(row, step) for row, steps in enumerate(rows_steps) for step in steps]
    steps = Steps(
        row=torch.tensor([row for row, _ in flat]),
        end=torch.tensor([step["end_token_1based"] for _, step in flat]),
        values=tensor([step["reward"] for _, step in flat]),
    )
    rows = rows_of([[0.0]] * len(rows_steps), lengths=lengths, steps=steps)
    keep = all_rows(len(rows_steps))

    def tokens(std: str, eps: float) -> list[list[float]]:
        credit = _estimate("process", rows, rows.values[:, 0], std=std, eps=eps)
        return [row[:length].tolist() for row, length in zip(credit, lengths, strict=True)]

    std, eps = std_of(case["params"]), case["params"]["eps"]
    values = normalised_steps(
        rows, steps, keep, std="population" if std == "population" else "sample", eps=eps
    )
    return {
        "normalised_step_rewards": [part.tolist() for part in values.split([len(s) for s in rows_steps])],
        "token_advantages": tokens(std, eps),
        "token_advantages_sample_std_eps1e-8": tokens("sample", 1e-8),
    }


def _eda(case: Case) -> Outputs:
    entropies = tensor(_flat(case["inputs"]["mean_token_entropy"])).reshape(-1, 1)
    rows, flat = _rows(case, entropies=entropies)
    eps = case["params"]["eps"]
    return {
        "grpo_advantages": _cut(_estimate("grpo", rows, flat, eps=eps), case),
        "advantages": _cut(_estimate("eda", rows, flat, eps=eps), case),
    }


def _entropy_rows(case: Case) -> tuple[Rows, Tensor]:
    mask = tensor(case["inputs"]["mask"]).bool()
    return _rows(case, mask=mask, entropies=tensor(case["inputs"]["entropy"]))


def _gtpo(case: Case) -> Outputs:
    rows, flat = _entropy_rows(case)
    params = case["params"]
    slot = {"base": params["alpha1"], "entropy_weight": params["alpha2"]}
    which = sides(rows, flat, all_rows(len(flat)), 0.5)
    separate = _estimate("gtpo", rows, flat, norm_scope="separate", **slot)
    right = separate[rows.mask & which.correct[:, None]]
    return {
        "shaped_rewards": gtpo_rewards(rows, which, **slot).tolist(),
        "advantages_separate": separate.tolist(),
        "advantages_joint_option": _estimate("gtpo", rows, flat, norm_scope="joint", **slot).tolist(),
        "mean_positive_advantage_separate": right.mean().item(),
    }


def _grpo_s(case: Case) -> Outputs:
    rows, flat = _entropy_rows(case)
    params = case["params"]
    slot = {"base": params["beta1"], "entropy_weight": params["beta2"]}
    which = sides(rows, flat, all_rows(len(flat)), 0.5)
    outputs = {
        "mean_entropy": rows.row_mean(tensor(case["inputs"]["entropy"])).tolist(),
        "shaped_rewards": grpo_s_rewards(rows, which, **slot).tolist(),
    }
    for scope in ("separate", "joint"):
        outputs[f"advantages_{scope}"] = _estimate("grpo_s", rows, flat, norm_scope=scope, **slot).tolist()
    loss = {key: tensor(value) for key, value in case["loss_tensors"].items()}
    inside = loss["mask"].bool()
    ratio = RATIOS["arithmetic"](torch.where(inside, loss["logp"] - loss["old_logp"], 0.0), inside, None)
    outputs["arithmetic_mean_ratio_for_loss_tensors"] = ratio[:, 0].tolist()
    return outputs


def _trajectories(case: Case) -> tuple[Rows, Tensor, list[str]]:
    """Rows with one token per turn, and the states in the order of their numbers."""
    paths = case["inputs"]["trajectories"]
    flat = [
        (row, at, reward, state)
        for row, path in enumerate(paths)
        for at, (reward, state) in enumerate(zip(path["r"], path["s"], strict=True))
    ]
    names = sorted({state for _, _, _, state in flat})
    turns = Turns(
        row=torch.tensor([row for row, _, _, _ in flat]),
        start=torch.tensor([at for _, at, _, _ in flat]),
        end=torch.tensor([at + 1 for _, at, _, _ in flat]),
        rewards=tensor([reward for _, _, reward, _ in flat]),
        states=torch.tensor([names.index(state) for _, _, _, state in flat]),
    )
    rewards = [sum(path["r"]) for path in paths]
    rows = rows_of(
        [[reward] for reward in rewards],
        [path["g"] for path in paths],
        lengths=[len(path["r"]) for path in paths],
        turns=turns,
    )
    return rows, tensor(rewards), names


def _gagpo(case: Case) -> Outputs:
    params = case["params"]
    rows, flat, names = _trajectories(case)
    assert rows.turns is not None
    slot = {
        "gamma": params["gamma"],
        "lam": params["lambda"],
        "state_scope": "batch" if "batch" in params["state_scope"] else "group",
    }
    credit = turn_credit(rows, rows.turns, all_rows(len(flat)), **slot)
    tokens = _estimate("gagpo", rows, flat, eps=params["eps"], **slot)
    sizes = rows.lengths.tolist()
    outputs: Outputs = {
        "V": {
            names[state]: value
            for state, value in zip(rows.turns.states.tolist(), credit.values.tolist(), strict=True)
        },
        "raw_advantages": [part.tolist() for part in credit.advantages.split(sizes)],
    }
    for number in rows.group.unique().tolist():
        members = (rows.group == number).nonzero().squeeze(1).tolist()
        outputs[f"group{number}_normalised"] = [tokens[row, : sizes[row]].tolist() for row in members]
    return outputs


def _lampo(case: Case) -> Outputs:
    likely = tensor(_flat(case["inputs"]["old_seq_logp_per_token"])).reshape(-1, 1)
    rows, flat = _rows(case, old_logprobs=likely)
    outputs = {
        f"{weight}_weight": _cut(
            _estimate("lampo", rows, flat, weight=weight, tau=case["params"]["tau"]), case
        )
        for weight in ("lambda", "confidence", "uniform")
    }
    return outputs | {"rloo_identity": _cut(_estimate("rloo", rows, flat), case)}


def _two_is_dpo(case: Case) -> Outputs:
    """Two completions of one token each; DPO's gradient by its definition, GRPO's by the product's loss."""
    inputs, beta = case["inputs"], case["inputs"]["dpo_beta"]
    rows, flat = _rows(case)
    outputs: Outputs = {}
    for std in ("population", "sample"):
        values = _estimate("grpo", rows, flat, std=std, eps=0.0)
        outputs[f"advantages_{std}"] = values.tolist()
        outputs[f"grpo_ascent_grad_{std}"] = _ascent(tensor(inputs["logp"]), values)
    best, worst = int(flat.argmax()), int(flat.argmin())
    leaf = tensor(inputs["logp"]).requires_grad_()
    margin = leaf - tensor(inputs["ref_logp"])
    torch.autograd.backward(torch.nn.functional.logsigmoid(beta * (margin[best] - margin[worst])))
    assert leaf.grad is not None
    ratio = leaf.grad[best].item() / outputs["grpo_ascent_grad_population"][best]
    outputs |= {"dpo_ascent_grad_at_zero_margin": leaf.grad.tolist(), "ratio_dpo_over_grpo_population": ratio}
    identity = case["expected"].get("binary_group_identity")
    if identity:
        outputs["binary_group_identity"] = _binary_group(identity["p"], identity["G"])
    return outputs


def _ascent(logprobs: Tensor, values: Tensor) -> list[float]:
    leaf = logprobs[:, None].clone().requires_grad_()
    mask = torch.ones(leaf.shape, dtype=torch.bool)
    weights = token_weights({"type": "seq_mean"}, mask)
    inputs = LossInputs(mask=mask, advantages=values, token_weights=weights.weights, counts=weights.counts)
    loss = {
        "ratio_level": "token",
        "surrogate": {"type": "ppo_clip", "eps_low": 0.2, "eps_high": 0.2},
        "kl": {"beta": 0.0, "estimator": "k3"},
    }
    torch.autograd.backward(policy_loss(leaf, inputs, loss).total / weights.counts.sum())
    assert leaf.grad is not None
    return [-value for value in leaf.grad[:, 0].tolist()]


def _binary_group(p: float, size: int) -> Outputs:
    """G completions of which p·G are right: their two advantages, and the weight of the contrast between them."""
    right = round(p * size)
    rows, flat = group_rows([[1.0] * right + [0.0] * (size - right)])
    values = _estimate("grpo", rows, flat, std="population", eps=0.0)
    scale = (values[:right].sum() / size).item()
    return {
        "p": p,
        "G": size,
        "adv_pos": values[0].item(),
        "adv_neg": values[-1].item(),
        "contrast_scale_sqrt_p_1mp": scale,
    }


CASES: dict[str, Adapter] = {
    "GRPO": outcome("grpo", _std_eps),
    "Dr. GRPO": outcome("dr_grpo"),
    "RLOO": _rloo,
    "REINFORCE++": _reinforce_pp,
    "REINFORCE++-baseline": _reinforce_pp_baseline,
    "Lite-PPO style": outcome("grpo_batch_std", lambda params: take(params, "eps")),
    "OPO (extra)": outcome("opo"),
    "pass@k (best-minus-second)": outcome(
        "passk_max", lambda params: {"normalise": params["norm_by_std"], "eps": params["eps"]}
    ),
    "GRPO process supervision": _process,
    "TIC-GRPO": outcome("length_corrected", _std_eps),
    "EDGE-GRPO entropy-driven advantage": _eda,
    "GTPO": _gtpo,
    "GRPO-S": _grpo_s,
    "GAGPO": _gagpo,
    "LamPO": _lampo,
    "2-GRPO = DPO direction": _two_is_dpo,
}
