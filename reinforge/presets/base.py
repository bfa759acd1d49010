"""Helpers for defining presets."""

from typing import Any

from reinforge.algorithm.preset import Confidence, Preset

__all__ = ["TOKEN_MEAN", "Confidence", "Preset", "clip", "recipe"]


def recipe(
    *,
    group: int | None = None,
    prompts: int | None = None,
    updates: int | None = None,
    warmup: int | None = None,
    tokens: int | None = None,
) -> dict[str, Any]:
    """Published hyperparameters as job fields, without the learning rate, which fits only the model of the source."""
    places = {
        ("rollout", "completions_per_prompt"): group,
        ("rollout", "prompts_per_step"): prompts,
        ("rollout", "max_completion_tokens"): tokens,
        ("optimizer", "warmup_steps"): warmup,
        ("algorithm", "updates_per_step"): updates,
    }
    settings: dict[str, Any] = {}
    for (part, name), value in places.items():
        if value is not None:
            settings.setdefault(part, {})[name] = value
    return settings


TOKEN_MEAN: dict[str, Any] = {"type": "token_mean"}


def clip(low: float = 0.2, high: float = 0.2, **more: float) -> dict[str, Any]:
    return {"type": "ppo_clip", "eps_low": low, "eps_high": high, **more}
