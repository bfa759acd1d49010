"""Settings of a running job that can be changed between two steps."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from reinforge.errors import InvalidInput
from reinforge.spec import JobSpec

SETTINGS: Mapping[str, str] = {
    "optimizer.learning_rate": "learning rate",
    "rollout.temperature": "temperature",
    "algorithm.loss.kl.beta": "KL β",
    "algorithm.shaping.kl.beta": "KL β in the reward",
    "algorithm.loss.surrogate.eps_low": "clip range below",
    "algorithm.loss.surrogate.eps_high": "clip range above",
    "algorithm.loss.surrogate.ratio_cap": "ratio cap",
    "algorithm.loss.surrogate.log_clip": "clip range of the log-ratio",
}
"""Dotted path in the job's specification → label. A job has only the settings of the parts that it uses."""


def live_settings(spec: JobSpec) -> dict[str, float]:
    dumped = spec.model_dump()
    settings = {path: _value(dumped, path) for path in SETTINGS if _refusal(dumped, path) is None}
    return {path: float(value) for path, value in settings.items() if value is not None}


def with_setting(spec: JobSpec, path: str, value: float) -> JobSpec:
    """Return the specification with one setting changed. Raises InvalidInput: `unknown_setting`,
    `invalid_value`, or `setting_follows` if the job adapts the setting itself.
    """
    dumped = spec.model_dump()
    if path not in SETTINGS or _value(dumped, path) is None:
        raise InvalidInput(
            f"A job like this has no setting {path!r} that can be changed while it runs.",
            code="unknown_setting",
            param="setting",
            hint=f"These can be changed: {', '.join(live_settings(spec))}. For any other, start a new job.",
        )
    if refusal := _refusal(dumped, path):
        raise InvalidInput(
            refusal, code="setting_follows", param="setting", hint="Start a new job with another target."
        )
    *parents, last = path.split(".")
    part = dumped
    for parent in parents:
        part = part[parent]
    part[last] = value
    if path == "optimizer.learning_rate":
        dumped["optimizer"]["initial_learning_rate"] = None  # the new rate holds at once
    try:
        return JobSpec.model_validate(dumped)
    except ValidationError as error:
        first = error.errors()[0]
        where = first.get("ctx", {}).get("param") or path
        raise InvalidInput(
            f"{where}: {first['msg']}",
            code="invalid_value",
            param="value",
            hint=f"The limits are those of a new job. The value is {_value(spec.model_dump(), path):g} now.",
        ) from error


def _value(dumped: Mapping[str, Any], path: str) -> float | None:
    part: Any = dumped
    for name in path.split("."):
        if not isinstance(part, Mapping) or part.get(name) is None:
            return None
        part = part[name]
    return float(part)


def _refusal(dumped: Mapping[str, Any], path: str) -> str | None:
    if not path.endswith("kl.beta"):
        return None
    part: Any = dumped
    for name in path.split(".")[:-1]:
        part = part.get(name) or {}
    return (
        f"{path} cannot be set, because the job adapts it to the measured KL (`adaptive`)."
        if part.get("adaptive")
        else None
    )
