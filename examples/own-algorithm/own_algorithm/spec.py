"""What a job's specification says about the estimator. The web server loads this: no torch here."""

from typing import Literal

from pydantic import Field

from reinforge.plugin import AdvantageModel


class CentredRank(AdvantageModel):
    """A_i by the rank of R_i in its group, from -1 for the worst to 1 for the best: only the order counts."""

    type: Literal["centred_rank"] = "centred_rank"
    power: float = Field(default=1.0, gt=0, le=10)
    """Ranks in the middle count less the larger it is; 1 spaces all evenly."""
