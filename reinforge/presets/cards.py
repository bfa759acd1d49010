"""Views of presets: algorithm, single-turn support, job-file text."""

from typing import Any

import yaml
from pydantic_core import PydanticCustomError

from reinforge.algorithm.rules import SINGLE_TURN, JobFacts, turns_and_tools
from reinforge.algorithm.slots import Algorithm
from reinforge.presets import FAMILIES, Preset

_SINGLE = JobFacts(environment=SINGLE_TURN, rewards=(), completions_per_prompt=2, max_completion_tokens=1)


def algorithm_of(name: str, preset: Preset) -> Algorithm:
    return Algorithm.model_validate({"preset": name, **preset.slots})


def single_turn_refusal(name: str, preset: Preset) -> str | None:
    """Why a single-turn job cannot run it; None if it can."""
    try:
        turns_and_tools(algorithm_of(name, preset), _SINGLE)
    except PydanticCustomError as refusal:
        return refusal.message()
    return None


def runnable() -> dict[str, dict[str, Preset]]:
    families = {
        family: {
            name: preset for name, preset in members.items() if single_turn_refusal(name, preset) is None
        }
        for family, members in FAMILIES.items()
    }
    return {family: members for family, members in families.items() if members}


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
