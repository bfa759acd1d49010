"""Rewards in a job: Python code, a stored grader, or an inline grader."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from reinforge.reward_spec.base import Name, RewardBase
from reinforge.reward_spec.graders import (
    ClassifierReward,
    EndpointReward,
    LabelModelReward,
    MultiReward,
    ProgramTestsReward,
    RankingJudgeReward,
    ReferenceLogprobReward,
    RewardModelReward,
    ScoreModelReward,
    StoredGrader,
    StringCheckReward,
    TextSimilarityReward,
    grader_of,
    judges_of,
)
from reinforge.reward_spec.judges import Judge
from reinforge.reward_spec.python import PythonReward


def _type_by_default(value: Any) -> Any:
    """Set a missing `type` to `python` or `grader`: pydantic's discriminators ignore defaults."""
    if not isinstance(value, dict) or "type" in value:
        return value
    stored = "grader" in value or str(value.get("path") or "").endswith(".json")
    return {"type": "grader" if stored else "python", **value}


GraderReward = (
    StoredGrader
    | StringCheckReward
    | TextSimilarityReward
    | ScoreModelReward
    | LabelModelReward
    | MultiReward
    | EndpointReward
    | ClassifierReward
    | RewardModelReward
    | ReferenceLogprobReward
    | ProgramTestsReward
    | RankingJudgeReward
)
Reward = Annotated[
    Annotated[PythonReward | GraderReward, Field(discriminator="type")], BeforeValidator(_type_by_default)
]

__all__ = [
    "GraderReward",
    "Judge",
    "Name",
    "PythonReward",
    "Reward",
    "RewardBase",
    "StoredGrader",
    "grader_of",
    "judges_of",
]
