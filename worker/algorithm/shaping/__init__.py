"""Shaping: turns several rewards into one outcome per completion."""

from collections.abc import Callable

from torch import Tensor

from worker.algorithm.plugin_functions import check_shape, check_type
from worker.algorithm.rows import PartSettings, Rows, State, lookup
from worker.algorithm.shaping.base import Combined, Shaped
from worker.algorithm.shaping.combine import gdpo, mo_grpo, weighted_sum
from worker.algorithm.shaping.reward_kl import on_sequence, on_tokens
from worker.algorithm.shaping.rubric import pow3r
from worker.algorithm.shaping.set_reward import vpo
from worker.algorithm.shaping.terms import cosine_length, repetition, soft_overlong

__all__ = ["COMBINATIONS", "TERMS", "Combined", "Shaped", "reads_reference", "shape"]

COMBINATIONS: dict[str, Callable[..., Combined]] = {
    "weighted_sum": weighted_sum,
    "mo_grpo": mo_grpo,
    "gdpo": gdpo,
    "pow3r": pow3r,
    "vpo": vpo,
}

TERMS: dict[str, Callable[..., Tensor]] = {
    "soft_overlong": soft_overlong,
    "repetition": repetition,
    "cosine_length": cosine_length,
}

COMMON = frozenset({*TERMS, "mask_truncated", "kl"})


def reads_reference(settings: PartSettings) -> bool:
    return float((settings.get("kl") or {}).get("beta", 0.0)) > 0


def shape(settings: PartSettings, rows: Rows, state: State) -> Shaped:
    own = {key: value for key, value in settings.items() if key not in COMMON}
    function, params = lookup(COMBINATIONS, own, "shaping")
    combined = function(rows, state, **params)
    if (kind := settings["type"]) not in COMBINATIONS:
        check_type(combined, Combined, "shaping", kind)
        check_shape(combined.rewards, rows.truncated.shape, "rewards", "shaping", kind)
    added = combined.rewards.new_zeros(len(combined.rewards))
    for name, compute in TERMS.items():
        term = dict(settings.get(name) or {})
        if weight := term.pop("weight", 0.0):
            added = added + weight * compute(rows, combined.rewards, **term)
    rewards = combined.rewards + added
    reported = rewards if combined.reported is None else combined.reported + added
    token_rewards = None
    if reads_reference(settings):
        beta = settings["kl"]["beta"]
        if settings["kl"]["level"] == "token":
            token_rewards = on_tokens(rows, rewards, beta)
        else:
            rewards = on_sequence(rows, rewards, beta)
    trained = ~rows.truncated if settings.get("mask_truncated") else rows.truncated | True
    return Shaped(
        rewards=rewards, reported=reported, trained=trained, state=combined.state, token_rewards=token_rewards
    )
