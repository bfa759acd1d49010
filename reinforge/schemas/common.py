"""Bases and lists."""

from datetime import datetime
from typing import Annotated, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, PlainSerializer

T = TypeVar("T")

Timestamp = Annotated[
    datetime, PlainSerializer(lambda t: t.isoformat().replace("+00:00", "Z"), return_type=str)
]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Response(BaseModel):
    model_config = ConfigDict(extra="ignore", from_attributes=True)


class Page(Response, Generic[T]):
    """One page of a list, newest first. `next_cursor` goes back as `after`."""

    object: Literal["list"] = "list"
    data: list[T]
    has_more: bool = False
    next_cursor: str | None = None
