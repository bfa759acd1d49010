"""A step's metrics under OpenAI's names; native metrics are under `reinforge`."""

from collections.abc import Mapping
from typing import Any

Values = Mapping[str, float | None]


def payload(
    step: int, total: int, train: Values, held_out: Values, evaluated: int | None, graders: Mapping[str, str]
) -> dict[str, Any]:
    reward, valid = train.get("reward/mean"), held_out.get("held_out/reward_mean")
    errors, valid_errors = train.get("reward/error_share"), held_out.get("held_out/error_share")
    length, valid_length = train.get("completions/length_mean"), held_out.get("held_out/length_mean")
    return {
        "step": step,
        "total_steps": total,
        "train_mean_reward": reward,
        "full_valid_mean_reward": valid,
        "full_valid_mean_parse_error": valid_errors,
        "mean_unresponsive_rewards": errors,
        "completion_tokens_mean": length,
        "reasoning_tokens_mean": length,
        "valid_reasoning_tokens_mean": valid_length,
        "scores": {
            "train_reward_mean": reward,
            "valid_reward_mean": valid,
            "graders": _scores(train, valid, graders),
        },
        "usage": {
            "samples": {
                "train_reasoning_tokens_mean": length,
                "valid_reasoning_tokens_mean": valid_length,
            },
            "graders": _judges(train),
        },
        "errors": {"graders": _errors(errors, valid_errors, graders)},
        "timing": {
            "step": {
                "sampling": train.get("time/generate"),
                "grading": train.get("time/score"),
                "training": train.get("time/update"),
                "full_iteration": train.get("time/step"),
            }
        },
        "reinforge": {"train": dict(train), "held_out": dict(held_out), "evaluated_step": evaluated},
    }


def message(data: Mapping[str, Any]) -> str:
    parts = [f"Step {data['step']}/{data['total_steps']}"]
    for key, name in (
        ("train_mean_reward", "train mean reward"),
        ("full_valid_mean_reward", "full validation mean reward"),
        ("full_valid_mean_parse_error", "full validation mean parse error"),
    ):
        if data[key] is not None:
            parts.append(f"{name}={data[key]:.6g}")
    return ", ".join(parts)


def _scores(train: Values, valid: float | None, graders: Mapping[str, str]) -> list[dict[str, Any]]:
    scores = []
    for name, type in graders.items():
        alone = len(graders) == 1
        mean = train.get(f"reward/{name}/mean", train.get("reward/mean") if alone else None)
        scores.append(_score(name, type, mean, valid if alone else None))
        start = f"reward/{name}/part/"
        for key, value in train.items():
            part = key.removeprefix(start)
            if key.startswith(start) and "/" not in part:
                scores.append(_score(part, "part", value, None))
    return scores


def _score(name: str, type: str, train: float | None, valid: float | None) -> dict[str, Any]:
    return {"name": name, "type": type, "train_reward_mean": train, "valid_reward_mean": valid}


def _judges(train: Values) -> list[dict[str, Any]]:
    if train.get("judge/calls") is None:
        return []
    return [
        {
            "name": "judges",
            "type": "score_model",
            "model": None,
            "train_prompt_tokens_count": train.get("judge/input_tokens"),
            "train_completion_tokens_count": train.get("judge/output_tokens"),
        }
    ]


def _errors(train: float | None, valid: float | None, graders: Mapping[str, str]) -> list[dict[str, Any]]:
    if len(graders) != 1:
        return []
    ((name, type),) = graders.items()
    return [{"name": name, "type": type, "train_other_error_mean": train, "valid_other_error_mean": valid}]
