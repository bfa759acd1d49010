"""What every part of a job's specification is made of."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class SpecModel(BaseModel):
    """Base of every part of a specification: closed, immutable, numbers finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


Probability = Annotated[float, Field(ge=0, le=1)]


def fault_at(param: str, message: str) -> PydanticCustomError:
    """A fault between fields; `param` is the one to look at, as a dotted path from the job's root."""
    return PydanticCustomError("fields_disagree", "{fault}", {"fault": message, "param": param})
