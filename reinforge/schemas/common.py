"""Base classes of requests, responses and editable objects, and pages of lists."""

import hashlib
from datetime import datetime
from typing import Annotated, Any, ClassVar, Generic, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, PlainSerializer, model_validator

T = TypeVar("T")

Timestamp = Annotated[
    datetime, PlainSerializer(lambda t: t.isoformat().replace("+00:00", "Z"), return_type=str)
]


class Request(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Response(BaseModel):
    model_config = ConfigDict(extra="ignore", from_attributes=True)


def _always_tagged(schema: dict[str, Any]) -> None:
    schema.setdefault("required", []).append("etag")
    schema["properties"]["etag"].pop("default")


class Editable(Response):
    """Object that people edit. `etag` names its state, so that an edit of an older state is refused."""

    model_config = ConfigDict(json_schema_extra=_always_tagged)

    EDITS: ClassVar[frozenset[str]]
    """Fields that the etag covers; others may change without changing it."""

    etag: str = ""
    """Send as `If-Match` with a change."""

    @model_validator(mode="after")
    def _tagged(self) -> Self:
        """Computes the etag on the server; clients receive it."""
        if not self.etag:
            text = self.model_dump_json(include={"id", *self.EDITS})
            self.etag = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self


class Page(Response, Generic[T]):
    """One page of a list, newest first. For the next, send `next_cursor` as `after`."""

    object: Literal["list"] = "list"
    data: list[T]
    has_more: bool = False
    next_cursor: str | None = None
