"""Converts an OpenAI grader to a job's reward."""

import re
from typing import Any

from reinforge.grading.multi import Grader
from reinforge.grading.source import parse_grader
from reinforge.grading.types import PythonGrader
from reinforge.schemas.resources import written

WHERE = "method.reinforcement.grader"
_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def parse(grader: dict[str, Any]) -> Grader:
    return parse_grader(written(None, grader), WHERE)


def reward_name(text: str) -> str:
    name = _NOT_A_NAME.sub("_", text).strip("_.-")
    return (name if name[:1].isalpha() else f"grader_{name}".rstrip("_"))[:64]


def as_reward(grader: dict[str, Any]) -> dict[str, Any]:
    """Convert to an entry of `JobSpec.rewards` with `on_error: zero`. Raises InvalidInput if invalid."""
    parsed = parse(grader)
    named = {"name": reward_name(parsed.name), "on_error": "zero"}
    if isinstance(parsed, PythonGrader):
        return parsed.model_dump(exclude={"image_tag", "name"}, exclude_none=True) | named
    return parsed.model_dump(mode="json", exclude={"name"}, exclude_none=True) | named
