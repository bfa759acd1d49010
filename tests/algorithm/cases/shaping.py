"""Shaping: worked cases by variant. Inputs and params distinguish several forms of a variant."""

import torch
from torch import Tensor

from tests.algorithm.cases.base import Adapter, Case, Outputs, all_rows, in_groups, rows_of, std_of, tensor
from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.rows import Rows
from worker.algorithm.shaping import shape
from worker.algorithm.shaping.rubric import updated_alpha, variance, variance_ratio
from worker.algorithm.shaping.set_reward import set_reward


def _rows(case: Case) -> Rows:
    groups = case["inputs"]["rewards_per_func"]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    return rows_of([row for group in groups for row in group], numbers, case["params"].get("weights"))


def _weighted_sum(case: Case) -> Outputs:
    groups, rows = case["inputs"]["rewards_per_func"], _rows(case)
    rewards = shape({"type": "weighted_sum"}, rows, {}).rewards
    keep = all_rows(len(rewards)) & ~rewards.isnan()
    advantages = ADVANTAGES["grpo"](rows, rewards, keep, eps=case["params"]["eps"])
    return {"reward": in_groups(rewards, groups), "grpo_advantages": in_groups(advantages, groups)}


def _missing_rewards(case: Case) -> Outputs:
    rows = rows_of(case["inputs"]["rewards_per_func"], weights=case["params"].get("weights"))
    rewards = shape({"type": "weighted_sum"}, rows, {}).rewards
    advantages = ADVANTAGES["grpo"](rows, rewards, ~rewards.isnan(), eps=case["params"]["eps"])
    return {"advantages": advantages.tolist()}


def _shaped_advantages(slot: dict[str, object], case: Case) -> list[list[float]]:
    rows = _rows(case)
    rewards = shape(slot, rows, {}).rewards
    credit = ADVANTAGES["identity"](rows, rewards, ~rewards.isnan())
    return in_groups(credit, case["inputs"]["rewards_per_func"])


def _mo_grpo(case: Case) -> Outputs:
    slot = {"type": "mo_grpo", "std": std_of(case["params"]), "eps": case["params"]["eps"]}
    plain = {"type": "mo_grpo", "std": "population", "eps": 0.0}
    return {
        "advantages": _shaped_advantages(slot, case),
        "advantages_population_std_eps0": _shaped_advantages(plain, case),
    }


def _gdpo(case: Case) -> Outputs:
    return {"advantages": _shaped_advantages({"type": "gdpo", "eps": case["params"]["eps"]}, case)}


def _soft_overlong(case: Case) -> Outputs:
    lengths, params = case["inputs"]["lengths"], case["params"]
    rows = rows_of([[0.0]] * len(lengths), lengths=lengths)
    term = {"weight": 1.0, "limit": params["L_max"], "cache": params["L_cache"]}
    shaped = shape({"type": "weighted_sum", "soft_overlong": term}, rows, {}).rewards
    return {"penalty": shaped.tolist()}


def _repetition(case: Case) -> Outputs:
    ids, params = case["inputs"]["token_ids"], case["params"]
    width = max(len(row) for row in ids)
    padded = torch.tensor([[*row, *[-1] * (width - len(row))] for row in ids], dtype=torch.int64)
    rows = rows_of([[0.0]] * len(ids), lengths=[len(row) for row in ids], token_ids=padded)
    term = {"weight": -params["max_penalty"], "n": params["n"]}
    return {"penalty": shape({"type": "weighted_sum", "repetition": term}, rows, {}).rewards.tolist()}


def _kl_in_reward(case: Case) -> Outputs:
    inputs = case["inputs"]
    rows = rows_of(
        [[value] for value in inputs["outcome_rewards"]],
        mask=tensor(inputs["mask"]).bool(),
        old_logprobs=tensor(inputs["old_logp"]),
        reference_logprobs=tensor(inputs["ref_logp"]),
    )
    kl = {"beta": case["params"]["kl_coef"]}
    by_token = shape({"type": "weighted_sum", "kl": kl | {"level": "token"}}, rows, {})
    by_row = shape({"type": "weighted_sum", "kl": kl | {"level": "sequence"}}, rows, {})
    assert by_token.token_rewards is not None
    # The case shows verl's penalty on padding too, which nothing reads; the product has 0 there.
    assert (by_token.token_rewards[~rows.mask] == 0).all()
    padding = -kl["beta"] * (tensor(inputs["old_logp"]) - tensor(inputs["ref_logp"]))
    return {
        "token_rewards": torch.where(rows.mask, by_token.token_rewards, padding).tolist(),
        "masked_sequence_reward": by_row.rewards.tolist(),
    }


def _vpo(case: Case) -> Outputs:
    weights = tensor(case["inputs"]["scalarisation_weights_K_d"])
    sets = [tensor(vectors) for vectors in case["inputs"]["vector_rewards_G_m_d"]]
    scores = torch.stack([set_reward(vectors, weights) for vectors in sets])
    rows, keep = rows_of([[score] for score in scores.tolist()]), all_rows(len(scores))
    params = {"std": std_of(case["params"]), "eps": case["params"]["eps"]}
    return {
        "set_scores": scores.tolist(),
        "advantages_std": ADVANTAGES["grpo"](rows, scores, keep, **params).tolist(),
        "advantages_mean_only": ADVANTAGES["dr_grpo"](rows, scores, keep).tolist(),
    }


def _pow3r(case: Case) -> Outputs:
    """The whole slot, with the case's α as the state; its middle values from the functions that it is made of."""
    inputs, params = case["inputs"], case["params"]
    scores, weights = tensor(inputs["criterion_scores_G_J"]), tensor(inputs["human_weights"])
    category, before = torch.tensor(inputs["category"]), tensor(inputs["alpha_prev"])
    names = [f"c{number:04d}" for number in range(len(weights))]
    rows = rows_of(
        [[0.0]] * len(scores),
        criteria=tuple((dict(zip(names, row, strict=True)),) for row in scores.tolist()),
        names=("rubric",),
        prompts=("p",) * len(scores),
    )
    slot = {
        "type": "pow3r",
        "weights": dict(zip(names, weights.tolist(), strict=True)),
        "categories": dict(zip(names, map(str, inputs["category"]), strict=True)),
        "blend": params["lambda_blend"],
        "smoothing": params["beta_ema"],
        "alpha_min": params["alpha_min"],
        "alpha_max": params["alpha_max"],
    }
    factors = {f"rubric/{name}": value for name, value in zip(names, before.tolist(), strict=True)}
    shaped = shape(slot, rows, {"alpha": {"p": factors}})
    alpha = tensor([shaped.state["alpha"]["p"][f"rubric/{name}"] for name in names])
    torch.testing.assert_close(alpha, _alpha(scores, category, before, params))
    return {
        "static_reward": shaped.reported.tolist(),
        "pass_rate": scores.mean(0).tolist(),
        "variance": variance(scores).tolist(),
        "variance_ratio": variance_ratio(scores, category).tolist(),
        "alpha": alpha.tolist(),
        "effective_weights": (weights * alpha).tolist(),
        "pow3r_reward": shaped.rewards.tolist(),
    }


def _alpha(scores: Tensor, category: Tensor, before: Tensor, params: dict[str, float]) -> Tensor:
    return updated_alpha(
        scores,
        category,
        before,
        blend=params["lambda_blend"],
        smoothing=params["beta_ema"],
        low=params["alpha_min"],
        high=params["alpha_max"],
    )


CASES: dict[str, Adapter] = {
    "weighted sum": _weighted_sum,
    "missing rewards": _missing_rewards,
    "MO-GRPO": _mo_grpo,
    "GDPO": _gdpo,
    "DAPO soft overlong punishment": _soft_overlong,
    "repetition penalty": _repetition,
    "KL in reward": _kl_in_reward,
    "VPO": _vpo,
    "POW3R": _pow3r,
}
