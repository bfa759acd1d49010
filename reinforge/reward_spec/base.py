"""Fields common to all rewards of a job."""

from typing import Annotated, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")]


class RewardBase(SpecModel):
    type: str = ""
    """Which kind; every kind has its own name here."""
    name: Name = "reward"
    """Names the reward's part in metrics and completions."""
    weight: float = 1.0
    """Factor in the sum; negative ones punish, 0 only shows it."""
    on_error: Literal["drop", "zero", "pause"] = "drop"
    """What an error does to its row: leave its group's statistics and the loss, count as 0, or pause the job. What a
    judge or endpoint did wrong is never counted as 0."""
