"""Selection: worked cases by variant. Inputs and params distinguish several forms of a variant."""

import math
from typing import Any

import torch

from tests.algorithm.cases.base import Adapter, Case, Outputs, group_rows, std_of
from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.rows import Rows
from worker.algorithm.selection import Branch, select
from worker.algorithm.selection.axpo import split_credit
from worker.algorithm.selection.gfpo import token_efficiency


def _dynamic_sampling(case: Case) -> Outputs:
    if case["params"]["rule"] != "keep if 0 < #correct < G":
        raise ValueError(f"unusable rule {case['params']['rule']!r}")
    rows, rewards = group_rows(case["inputs"]["rewards"])
    selection = select({"type": "dynamic_sampling"}, rows, rewards, {})
    groups = range(len(case["inputs"]["rewards"]))
    return {
        "keep_prompt": [bool(selection.keep[rows.group == number].all()) for number in groups],
        "frac_zero_std": selection.metrics["select/uniform_share"],
    }


def _gfpo(case: Case) -> Outputs:
    lengths, params = case["inputs"]["lengths"], case["params"]
    rows, rewards = group_rows([case["inputs"]["rewards"]], lengths=lengths)
    outputs: Outputs = {"token_efficiency": token_efficiency(rows, rewards).tolist()}
    for metric, name in (("length", "shortest"), ("token_efficiency", "token_efficiency")):
        chosen = select({"type": "gfpo", "metric": metric, "keep": params["k"]}, rows, rewards, {})
        values = ADVANTAGES["grpo"](rows, rewards, chosen.keep, std=std_of(params), eps=0.0)
        outputs |= {f"{name}_mask": chosen.keep.tolist(), f"{name}_advantages": values.tolist()}
        assert chosen.counted is not None
        outputs["token_norm_denominator"] = int(rows.lengths[chosen.counted].sum())
    ranking = {"length": "shortest", "reward/length": "token_efficiency"}[
        params.get("metric", "reward/length")
    ]
    return outputs | {"mask": outputs[f"{ranking}_mask"], "advantages": outputs[f"{ranking}_advantages"]}


def _gfpo_adaptive(case: Case) -> Outputs:
    """One step per group: enough rows that every size can be told, with the group's mean as each one's reward."""
    params = case["params"]
    sizes = {f"keep_{name}": params[f"k_{short}"] for short, name in _DIFFICULTIES.items()}
    slot = {"type": "gfpo_adaptive", "warmup": params["warmup"], **sizes}
    state: dict[str, Any] = {}
    counts = []
    for mean in case["inputs"]["group_mean_rewards_in_order"]:
        rows, rewards = group_rows([[mean] * (max(sizes.values()) + 1)])
        chosen = select(slot, rows, rewards, state)
        state = chosen.state
        counts.append(int(chosen.keep.sum()))
    return {"k": counts}


_DIFFICULTIES = {"easy": "easy", "med": "medium", "hard": "hard", "very_hard": "very_hard"}


def _axpo(case: Case) -> Outputs:
    rewards, params = case["inputs"]["rewards"], case["params"]
    used = [bool(flag) for flag in case["inputs"]["uses_tool"]]
    likely = {int(row): value for row, value in case["inputs"]["mean_tool_token_prob"].items()}
    spans = torch.tensor([[1, 2] if flag else [-1, -1] for flag in used])
    old = torch.tensor([[0.0, math.log(likely.get(row, 1.0)), 0.0] for row in range(len(rewards))])
    rows, flat = group_rows(
        [rewards], lengths=[3] * len(rewards), tool_spans=spans, old_logprobs=old.double()
    )
    # The worked prompt stands for a batch whose budget reaches it; alone it would have a quarter of 8 rows for 4.
    slot = {"type": "axpo", "branches": params["K"], "extra": params["K"] / len(rewards)}
    plan = select(slot, rows, flat, {})
    outputs: Outputs = {"triggered": bool(plan.metrics["select/triggered_share"])}
    eps = {"eps": params["eps"]}
    outputs["original_advantages"] = ADVANTAGES["grpo"](rows, flat, ~flat.isnan(), **eps).tolist()
    if not plan.again:
        return outputs | dict.fromkeys(_WHEN_TRIGGERED)
    branch = plan.again[0]
    assert isinstance(branch, Branch)
    grown, outcome = _with_branches(rows, spans, rewards, branch.row, case["inputs"]["resampled_rewards"])
    credit = split_credit(grown, outcome, ~outcome.isnan(), **eps)
    return outputs | {
        "selected_source": branch.row,
        "recovery_reward": credit.recovery[branch.row].item(),
        "prefix_advantage": credit.advantages[branch.row, 0].item(),
        "continuation_advantages": credit.advantages[len(rewards) :, -1].tolist(),
    }


_WHEN_TRIGGERED = ("selected_source", "recovery_reward", "prefix_advantage", "continuation_advantages")


def _with_branches(
    rows: Rows, spans: torch.Tensor, rewards: list[float], row: int, outcomes: list[float]
) -> tuple[Rows, torch.Tensor]:
    extra = len(outcomes)
    source = torch.tensor([-1] * len(rewards) + [row] * extra)
    spans = torch.cat([spans, torch.tensor([[-1, -1]] * extra)])
    grown, outcome = group_rows(
        [[*rewards, *outcomes]], lengths=[3] * (len(rewards) + extra), tool_spans=spans, source=source
    )
    return grown, outcome


CASES: dict[str, Adapter] = {
    "DAPO dynamic sampling": _dynamic_sampling,
    "GFPO": _gfpo,
    "GFPO adaptive difficulty": _gfpo_adaptive,
    "AXPO": _axpo,
}
