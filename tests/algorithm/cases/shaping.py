"""Slot 1: worked cases by variant. A variant with several unlike forms is told apart by inputs and params."""

from tests.algorithm.cases.base import Adapter, Case, Found, all_rows, in_groups, rows_of
from worker.algorithm.advantages import ADVANTAGES
from worker.algorithm.shaping import shape


def _weighted_sum(case: Case) -> Found:
    groups = case["inputs"]["rewards_per_func"]
    flat = [row for group in groups for row in group]
    numbers = [number for number, group in enumerate(groups) for _ in group]
    rows = rows_of(flat, numbers, case["params"]["weights"])
    rewards = shape({"type": "weighted_sum"}, rows, {}).rewards
    keep = all_rows(len(rewards)) & ~rewards.isnan()
    advantages = ADVANTAGES["grpo"](rows, rewards, keep, eps=case["params"]["eps"])
    return {"reward": in_groups(rewards, groups), "grpo_advantages": in_groups(advantages, groups)}


def _missing_rewards(case: Case) -> Found:
    rows = rows_of(case["inputs"]["rewards_per_func"])
    rewards = shape({"type": "weighted_sum"}, rows, {}).rewards
    keep = all_rows(len(rewards)) & ~rewards.isnan()
    return {"advantages": ADVANTAGES["grpo"](rows, rewards, keep, eps=case["params"]["eps"]).tolist()}


CASES: dict[str, Adapter] = {
    "weighted sum": _weighted_sum,
    "missing rewards": _missing_rewards,
}

LATER: frozenset[str] = frozenset(
    {
        "reward.mo_grpo",
        "reward.gdpo",
        "reward.soft_overlong",
        "reward.soft_overlong.dapo_scale",
        "reward.repetition",
        "kl.in_reward",
        "adv.vpo",
        "reward.pow3r",
    }
)
"""Ids whose functions are still to come."""
