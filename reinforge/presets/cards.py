"""Derives a preset's algorithm, single-turn support and job-file text."""

from dataclasses import replace
from typing import Any

import yaml
from pydantic_core import PydanticCustomError

from reinforge.algorithm.rules import SINGLE_TURN, JobFacts, turns_and_tools
from reinforge.algorithm.slots import Algorithm
from reinforge.presets import FAMILIES, Preset

_SINGLE = JobFacts(environment=SINGLE_TURN, rewards=(), completions_per_prompt=2, max_completion_tokens=1)
_TOOLS = replace(_SINGLE, environment="tools")


def algorithm_of(name: str, preset: Preset) -> Algorithm:
    return Algorithm.model_validate({"preset": name, **preset.slots})


def single_turn_refusal(name: str, preset: Preset) -> str | None:
    """Why a single-turn job cannot use the preset; None if it can."""
    return _refusal(name, preset, _SINGLE)


def _refusal(name: str, preset: Preset, job: JobFacts) -> str | None:
    try:
        turns_and_tools(algorithm_of(name, preset), job)
    except PydanticCustomError as refusal:
        return refusal.message()
    return None


def runnable() -> dict[str, dict[str, Preset]]:
    """Presets by family that a single-turn job or a job with tools can use."""
    families = {
        family: {name: preset for name, preset in members.items() if _runs(name, preset)}
        for family, members in FAMILIES.items()
    }
    return {family: members for family, members in families.items() if members}


def _runs(name: str, preset: Preset) -> bool:
    return any(_refusal(name, preset, job) is None for job in (_SINGLE, _TOOLS))


def job_yaml(name: str, preset: Preset) -> str:
    return as_yaml({**preset.job, "algorithm": {"preset": name, **preset.slots}})


def rate_note(preset: Preset) -> str:
    if preset.published_rate is None:
        return ""
    return (
        f"The source trains {preset.published_rate_trains} with a learning rate of {preset.published_rate:g}. "
        "It is not filled in: `auto` fits the rate to the adapter and to your model's size."
    )


def as_yaml(value: dict[str, Any]) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
