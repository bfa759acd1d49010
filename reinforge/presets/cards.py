"""What a preset comes to: its whole algorithm, whether a single-turn job can run it, and text for a job file."""

from typing import Any

import yaml
from pydantic_core import PydanticCustomError

from reinforge.algorithm.rules import SINGLE_TURN, Job, turns_and_tools
from reinforge.algorithm.slots import Algorithm
from reinforge.presets import FAMILIES, Preset

_SINGLE = Job(environment=SINGLE_TURN, rewards=(), completions_per_prompt=2, max_completion_tokens=1)


def algorithm_of(name: str, preset: Preset) -> Algorithm:
    """All four slots as the preset has them."""
    return Algorithm.model_validate({"preset": name, **preset.slots})


def single_turn_refusal(name: str, preset: Preset) -> str | None:
    """Why a job with one completion per prompt cannot run it; None when it can."""
    try:
        turns_and_tools(algorithm_of(name, preset), _SINGLE)
    except PydanticCustomError as refusal:
        return refusal.message()
    return None


def runnable() -> dict[str, dict[str, Preset]]:
    """The presets that a job can run today, by family: those that lists and forms show."""
    families = {
        family: {
            name: preset for name, preset in members.items() if single_turn_refusal(name, preset) is None
        }
        for family, members in FAMILIES.items()
    }
    return {family: members for family, members in families.items() if members}


def job_yaml(name: str, preset: Preset) -> str:
    """The part of a job file that the preset stands for, every slot that it fills written out."""
    return as_yaml({**preset.job, "algorithm": {"preset": name, **preset.slots}})


def rate_note(preset: Preset) -> str:
    """What a person should know about the learning rate of the source; empty where it gives none."""
    if preset.published_rate is None:
        return ""
    return (
        f"The source trains {preset.published_rate_trains} with a learning rate of {preset.published_rate:g}. "
        "It is not filled in: `auto` fits the rate to the adapter and to your model's size."
    )


def as_yaml(value: dict[str, Any]) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
