"""Slot 1 in a specification: from the rewards of a completion to one number."""

from typing import Annotated, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class WeightedSum(SpecModel):
    """R_i = Σ_k weight_k · r_{i,k}; missing values are skipped, a row with none leaves its group."""

    type: Literal["weighted_sum"] = "weighted_sum"


Shaping = Annotated[WeightedSum, Field(discriminator="type")]
