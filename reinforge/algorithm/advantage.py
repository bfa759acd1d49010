"""Slot 3 in a specification: how much better a completion is than the others of its group."""

from typing import Annotated, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class GrpoAdvantage(SpecModel):
    """A_i = (R_i - mean_g) / (std_g + eps), sample standard deviation; a uniform group gets exactly 0."""

    type: Literal["grpo"] = "grpo"
    eps: float = Field(default=1e-4, gt=0, le=1)
    """Added to the standard deviation, against division by nearly 0."""


class DrGrpoAdvantage(SpecModel):
    """A_i = R_i - mean_g: no division by the standard deviation."""

    type: Literal["dr_grpo"] = "dr_grpo"


Advantage = Annotated[GrpoAdvantage | DrGrpoAdvantage, Field(discriminator="type")]
