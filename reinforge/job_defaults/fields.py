"""Job fields with suggested values, and access to fields by path."""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

from reinforge.job_defaults.values import JobDefault
from reinforge.presets import PRESETS

ENGINE = "rollout.engine"
LENGTH = "rollout.max_completion_tokens"
GROUP = "rollout.completions_per_prompt"
PROMPTS = "rollout.prompts_per_step"
STEPS = "limits.steps"
RATE = "optimizer.learning_rate"
UPDATES = "algorithm.updates_per_step"
SIZE_FIELDS = (LENGTH, GROUP, PROMPTS, STEPS)


def stated(raw: dict[str, Any], path: str) -> Any:
    value: Any = raw
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def of_preset(raw: dict[str, Any], path: str) -> Any:
    name = stated(raw, "algorithm.preset")
    preset = PRESETS.get(name) if isinstance(name, str) else None
    return None if preset is None else stated(preset.job, path)


def filled(raw: dict[str, Any], defaults: Iterable[JobDefault]) -> dict[str, Any]:
    return completed(raw, {default.field: default.value for default in defaults if default.becomes is None})


def completed(raw: dict[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    spec = deepcopy(raw)
    for path, value in values.items():
        if stated(spec, path) is not None:
            continue
        *parts, last = path.split(".")
        place = spec
        for part in parts:
            place = place.setdefault(part, {})
        place[last] = value
    return spec
