"""Converts OpenAI's hyperparameters and our extensions to a job specification."""

from dataclasses import dataclass
from math import ceil
from typing import Any

from reinforge.base_models.learning_rate import (
    AUTO,
    auto_initial_learning_rate,
    auto_learning_rate,
    unknown_hidden_size,
)
from reinforge.errors import InvalidInput
from reinforge.parsing.suggestions import did_you_mean
from reinforge.schemas.openai_jobs import Hyperparameters
from reinforge.spec import EvaluationSpec, JobSpec, LimitsSpec, RolloutSpec

WHERE = "method.reinforcement.hyperparameters"
COMPLETIONS = RolloutSpec().completions_per_prompt
AUTO_BATCH = RolloutSpec().prompts_per_step
AUTO_STEPS = LimitsSpec().steps
AUTO_EVALUATIONS = AUTO_STEPS // EvaluationSpec().every_steps
AUTO_SAMPLES = EvaluationSpec().samples_per_row
MOST_EPOCHS = 50

OURS: dict[str, str] = {
    "algorithm": "algorithm",
    "checkpoint_every": "limits.checkpoint_every",
    "clip_norm": "optimizer.clip_norm",
    "columns": "data.columns",
    "completions_per_prompt": "rollout.completions_per_prompt",
    "error_share": "limits.error_share",
    "eval_rows": "evaluation.rows",
    "eval_temperature": "evaluation.temperature",
    "held_out_rows": "data.held_out_rows",
    "judge_budget": "limits.judge_budget",
    "learning_rate": "optimizer.learning_rate",
    "lora_alpha": "adapter.alpha",
    "lora_rank": "adapter.rank",
    "lora_targets": "adapter.targets",
    "max_completion_tokens": "rollout.max_completion_tokens",
    "max_prompt_tokens": "rollout.max_prompt_tokens",
    "max_seconds": "limits.max_seconds",
    "pass_above": "evaluation.pass_above",
    "prompt_template": "data.prompt_template",
    "sampling": "data.sampling",
    "schedule": "optimizer.schedule",
    "steps": "limits.steps",
    "stop": "rollout.stop",
    "system_prompt": "data.system_prompt",
    "temperature": "rollout.temperature",
    "top_p": "rollout.top_p",
    "warmup_steps": "optimizer.warmup_steps",
    "weight_decay": "optimizer.weight_decay",
}
"""Our extensions of `hyperparameters` → paths in the job specification."""
ALIASES = {"num_generations": "completions_per_prompt", "group_size": "completions_per_prompt"}
_THEIRS = {
    "rollout.prompts_per_step": "batch_size",
    "evaluation.every_steps": "eval_interval",
    "evaluation.samples_per_row": "eval_samples",
}
EITHER = {
    "completions_per_prompt": "compute_multiplier",
    "learning_rate": "learning_rate_multiplier",
    "steps": "n_epochs",
}
EITHER_MEANS = {
    "completions_per_prompt": f"completions_per_prompt is a number, compute_multiplier a multiple of {COMPLETIONS}.",
    "learning_rate": "learning_rate is a number, learning_rate_multiplier a multiple of the automatic one.",
    "steps": "n_epochs counts passes over the training rows, steps counts updates of the model.",
}


@dataclass(frozen=True)
class Resolved:
    spec: dict[str, Any]
    view: dict[str, Any]


def resolve(requested: Hyperparameters, rows: int, model: str, hidden_size: int | None) -> Resolved:
    ours = _ours(requested)
    batch = requested.batch_size or min(AUTO_BATCH, rows)
    if "steps" in ours:
        steps = ours["steps"]
    elif requested.n_epochs is None:
        steps = max(min(AUTO_STEPS, ceil(rows * MOST_EPOCHS / batch)), 1)
    else:
        steps = max(ceil(rows * requested.n_epochs / batch), 1)
    count = (
        steps if isinstance(steps, int) else AUTO_STEPS
    )  # validation of the specification refuses other values
    epochs = requested.n_epochs if "steps" not in ours else None
    every = requested.eval_interval or max(count // AUTO_EVALUATIONS, 1)
    updates = updates_of(ours.get("algorithm"))
    rate = _rate(requested.learning_rate_multiplier, model, hidden_size, updates)
    compute = requested.compute_multiplier or 1.0
    samples = requested.eval_samples or AUTO_SAMPLES
    group = max(round(COMPLETIONS * compute), 2)
    parts: dict[str, Any] = {
        "rollout.prompts_per_step": batch,
        "rollout.completions_per_prompt": group,
        "optimizer.learning_rate": rate,
        "evaluation.every_steps": every,
        "evaluation.samples_per_row": samples,
        "limits.steps": steps,
        "limits.checkpoint_every": every,
    }
    if rate != AUTO and hidden_size is not None:
        initial = auto_initial_learning_rate(hidden_size, updates) * (
            requested.learning_rate_multiplier or 1.0
        )
        parts["optimizer.initial_learning_rate"] = min(initial, 1.0)
    parts |= {OURS[name]: value for name, value in ours.items()}
    display = ours | {
        "batch_size": batch,
        "n_epochs": epochs or _epochs(count * batch, rows, most=None if "steps" in ours else MOST_EPOCHS),
        "eval_interval": every,
        "eval_samples": samples,
        "reasoning_effort": requested.reasoning_effort,
        "compute_multiplier": compute,
        "completions_per_prompt": parts["rollout.completions_per_prompt"],
        "steps": steps,
    }
    if isinstance(completions := ours.get("completions_per_prompt"), int):
        display["compute_multiplier"] = completions / COMPLETIONS
    display |= rates(parts["optimizer.learning_rate"], hidden_size, updates)
    if requested.learning_rate_multiplier is not None:
        display["learning_rate_multiplier"] = requested.learning_rate_multiplier
    return Resolved(_nested(parts), display)


def updates_of(algorithm: Any) -> int:
    """The algorithm's `updates_per_step`; 1 if missing or invalid."""
    value = algorithm.get("updates_per_step") if isinstance(algorithm, dict) else None
    return value if isinstance(value, int) and value > 0 else 1


def _rate(
    multiplier: float | None, model: str, hidden_size: int | None, updates_per_step: int
) -> float | str:
    if multiplier is None or multiplier == 1:
        return AUTO
    if hidden_size is None:
        raise unknown_hidden_size(model, f"{WHERE}.learning_rate_multiplier")
    return auto_learning_rate(hidden_size, updates_per_step) * multiplier


def rates(learning_rate: Any, hidden_size: int | None, updates_per_step: int) -> dict[str, float]:
    auto = None if hidden_size is None else auto_learning_rate(hidden_size, updates_per_step)
    value = auto if learning_rate == AUTO else learning_rate
    values = {"learning_rate_multiplier": 1.0} if learning_rate == AUTO else {}
    if isinstance(value, int | float):
        values["learning_rate"] = value
        if auto is not None and learning_rate != AUTO:
            values["learning_rate_multiplier"] = float(f"{value / auto:.6g}")
    return values


def _epochs(prompts: int, rows: int, *, most: int | None = None) -> int:
    epochs = max(ceil(prompts / rows), 1)
    return epochs if most is None else min(epochs, most)


def _ours(requested: Hyperparameters) -> dict[str, Any]:
    parts: dict[str, Any] = {}
    for field, value in (requested.model_extra or {}).items():
        name = ALIASES.get(field, field)
        if name not in OURS:
            raise _unknown(field)
        if name in parts:
            raise InvalidInput(
                f"{field} and {name} mean the same: remove one of them.",
                code="given_twice",
                param=f"{WHERE}.{field}",
            )
        theirs = EITHER.get(name)
        if theirs is not None and getattr(requested, theirs) is not None:
            raise InvalidInput(
                f"{field} and {theirs} set the same thing.",
                code="given_twice",
                param=f"{WHERE}.{field}",
                hint=f"Keep only one of them: {EITHER_MEANS[name]}",
            )
        parts[name] = {"preset": value} if name == "algorithm" and isinstance(value, str) else value
    return parts


def _unknown(name: str) -> InvalidInput:
    names = [*Hyperparameters.model_fields, *OURS]
    return InvalidInput(
        f"There is no hyperparameter {name[:100]!r}.",
        code="unknown_hyperparameter",
        param=f"{WHERE}.{name[:100]}",
        hint=did_you_mean(name, names) or f"Known: {', '.join(sorted(names))}.",
    )


def name_of(path: str) -> str | None:
    table = _THEIRS | {request_field: here for here, request_field in OURS.items()}
    for request_field, here in table.items():
        if path == request_field or path.startswith((f"{request_field}.", f"{request_field}[")):
            return f"{WHERE}.{here}{path.removeprefix(request_field)}"
    return None


def _nested(parts: dict[str, Any]) -> dict[str, Any]:
    spec: dict[str, Any] = {}
    for path, value in parts.items():
        *above, last = path.split(".")
        place = spec
        for part in above:
            place = place.setdefault(part, {})
        place[last] = value
    return spec


def of_spec(spec: JobSpec, rows: int | None = None, hidden_size: int | None = None) -> dict[str, Any]:
    batch, steps = spec.rollout.prompts_per_step, spec.limits.steps
    return {
        "batch_size": batch,
        "n_epochs": _epochs(steps * batch, rows) if rows else 1,
        "compute_multiplier": spec.rollout.completions_per_prompt / COMPLETIONS,
        "eval_interval": spec.evaluation.every_steps or steps,
        "eval_samples": spec.evaluation.samples_per_row,
        "reasoning_effort": "default",
        "completions_per_prompt": spec.rollout.completions_per_prompt,
        "steps": steps,
    } | rates(spec.optimizer.learning_rate, hidden_size, spec.algorithm.updates_per_step)
