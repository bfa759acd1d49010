"""Python code as a reward."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from reinforge.grading.types import LabelModel, ScoreModel
from reinforge.reward_spec.base import Name, RewardBase

DeclaredJudge = Annotated[ScoreModel | LabelModel, Field(discriminator="type")]


class PythonReward(RewardBase):
    """Python code run in the sandbox. Set exactly one of `reward` (stored), `source` (inline) or `path`
    (offline).
    """

    type: Literal["python"] = "python"
    reward: str | None = None
    """Id of a stored reward (`rew_…`)."""
    revision: int | None = Field(default=None, ge=1)
    """Revision of the stored reward; default: the newest when the job is created."""
    source: str | None = Field(default=None, max_length=262_144)
    """Inline code."""
    path: str | None = None
    """A `.py` file, relative to the job file; only for `reinforge train` and the command line."""
    entry: str | None = None
    """Function to call; required if there are several and none is called `grade`."""
    granularity: Literal["sample", "group", "batch"] = "sample"
    """Input of one call: a completion, all completions of a prompt, or a batch."""
    isolate: Literal["batch", "sample"] = "batch"
    """`sample` scores each completion in its own process, for rewards that execute completions."""
    timeout_seconds: float = Field(default=2.0, gt=0, le=60)
    """Wall-clock limit for one completion."""
    judges: dict[Name, DeclaredJudge] = Field(default_factory=dict, max_length=8)
    """Judges called before the code for each completion; their replies are in `sample["judges"]`."""

    @model_validator(mode="after")
    def one_origin(self) -> Self:
        if sum(x is not None for x in (self.reward, self.source, self.path)) != 1:
            raise ValueError("give exactly one of `reward` (an id), `source` (code) or `path` (a .py file)")
        if self.revision is not None and self.reward is None:
            raise ValueError("`revision` needs `reward`")
        return self
