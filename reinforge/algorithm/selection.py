"""Slot 2 in a specification: which groups and completions are trained on."""

from typing import Annotated, Literal

from pydantic import Field

from reinforge.algorithm.base import SpecModel


class KeepAll(SpecModel):
    """Every group is trained on."""

    type: Literal["keep_all"] = "keep_all"


Selection = Annotated[KeepAll, Field(discriminator="type")]
