"""Base classes of OpenAI's requests and responses. Times are Unix seconds."""

from typing import Generic, Literal, TypeVar

from reinforge.schemas.common import Response

T = TypeVar("T")


class WireObject(Response):
    id: str


class WireList(Response, Generic[T]):
    """One page of a list; request the next with `after=<last_id>`."""

    object: Literal["list"] = "list"
    data: list[T]
    has_more: bool
    first_id: str | None = None
    last_id: str | None = None


class Deleted(WireObject):
    object: str
    deleted: Literal[True] = True
