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
    """Factor in the sum; negative punishes, 0 only displays."""
    on_error: Literal["drop", "zero", "pause"] = "drop"
    """What an error does to its row: exclude it from group statistics and loss, count as 0, or pause
    the job. A judge's or endpoint's error never counts as 0.
    """
