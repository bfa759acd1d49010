"""Graders as rewards, with the fields of the grader and of `RewardBase`."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from reinforge.grading.multi import GRADER, Grader, Multi, judges
from reinforge.grading.own_types import Classifier, ProgramTests, RankingJudge, ReferenceLogprob, RewardModel
from reinforge.grading.types import EndpointGrader, LabelModel, ScoreModel, StringCheck, TextSimilarity
from reinforge.reward_spec.base import Name, RewardBase
from reinforge.reward_spec.python import PythonReward


class StoredGrader(RewardBase):
    """A grader in JSON. Set exactly one of `reward` (stored), `grader` (inline) or `path` (offline)."""

    type: Literal["grader"] = "grader"
    name: Name = "grader"
    """Name in metrics and completions."""
    reward: str | None = None
    """Id of a stored grader (`rew_…`)."""
    revision: int | None = Field(default=None, ge=1)
    """Revision of the stored grader; default: the newest when the job is created."""
    grader: Grader | None = None
    """Inline grader."""
    path: str | None = None
    """A `.json` file, relative to the job file; only for `reinforge train` and the command line."""

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if sum(x is not None for x in (self.reward, self.grader, self.path)) != 1:
            raise ValueError("give exactly one of `reward` (an id), `grader` (JSON) or `path` (a .json file)")
        if self.revision is not None and self.reward is None:
            raise ValueError("`revision` needs `reward`")
        return self


class StringCheckReward(StringCheck, RewardBase):
    name: Name = "string_check"
    """Name in metrics and completions."""


class TextSimilarityReward(TextSimilarity, RewardBase):
    name: Name = "text_similarity"
    """Name in metrics and completions."""


class ScoreModelReward(ScoreModel, RewardBase):
    name: Name = "score_model"
    """Name in metrics and completions."""


class LabelModelReward(LabelModel, RewardBase):
    name: Name = "label_model"
    """Name in metrics and completions."""


class MultiReward(Multi, RewardBase):
    name: Name = "multi"
    """Name in metrics and completions."""


class EndpointReward(EndpointGrader, RewardBase):
    name: Name = "endpoint"
    """Name in metrics and completions."""


class ClassifierReward(Classifier, RewardBase):
    name: Name = "classifier"
    """Name in metrics and completions."""


class RewardModelReward(RewardModel, RewardBase):
    name: Name = "reward_model"
    """Name in metrics and completions."""


class ReferenceLogprobReward(ReferenceLogprob, RewardBase):
    name: Name = "reference_logprob"
    """Name in metrics and completions."""


class ProgramTestsReward(ProgramTests, RewardBase):
    name: Name = "program_tests"
    """Name in metrics and completions."""


class RankingJudgeReward(RankingJudge, RewardBase):
    name: Name = "ranking_judge"
    """Name in metrics and completions."""


_OF_REWARDS = frozenset(RewardBase.model_fields) - {"type"}


def grader_of(reward: Any) -> Grader | None:
    """The reward's grader; None for code and graders stored elsewhere."""
    if isinstance(reward, StoredGrader):
        return reward.grader
    if reward.type == "python":
        return None
    fields = reward.model_dump(exclude=_OF_REWARDS)
    return GRADER.validate_python(fields | {"name": reward.name})


def judges_of(reward: Any, grader: Grader | None = None) -> frozenset[str]:
    """Names of the judges a reward calls. grader: the reward's grader, if stored elsewhere."""
    if isinstance(reward, PythonReward):
        return frozenset(declared.model for declared in reward.judges.values())
    resolved = grader or grader_of(reward)
    return frozenset() if resolved is None else judges(resolved)
