"""Base model and field types of a job's specification."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError


class SpecModel(BaseModel):
    """Base model of all parts: immutable; rejects unknown fields, infinity and NaN."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


Probability = Annotated[float, Field(ge=0, le=1)]


def fault_at(param: str, message: str) -> PydanticCustomError:
    """Error for fields that contradict each other. param: dotted path of the field to change."""
    return PydanticCustomError("fields_disagree", "{fault}", {"fault": message, "param": param})
