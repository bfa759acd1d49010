"""Fields common to all rewards of a job."""

from typing import Annotated, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]{0,63}$")]


class RewardBase(SpecModel):
    type: str = ""
    """Kind of reward."""
    name: Name = "reward"
    """Name in metrics and completions."""
    weight: float = 1.0
    """Factor in the sum of rewards. Negative: a penalty; 0: only displayed."""
    on_error: Literal["drop", "zero", "pause"] = "drop"
    """Effect of an error: exclude the completion from group statistics and loss, count as 0, or pause
    the job. Errors of judges and endpoints never count as 0.
    """
