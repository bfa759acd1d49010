"""Requests and responses of aliases: names that point to an adapter and can be moved to another."""

from typing import ClassVar, Literal

from pydantic import Field

from reinforge.schemas.common import Editable, Request, Response, Timestamp
from reinforge.schemas.report_card import CardRequirement


class AliasSet(Request):
    adapter: str = Field(min_length=1, max_length=100)
    """Id of the adapter, `adp_…`."""
    require: str | None = Field(default=None, min_length=1, max_length=1000)
    """Conditions that the report card of the adapter's job has to meet, besides the project's."""


class AliasInfo(Editable):
    EDITS: ClassVar = frozenset({"adapter", "updated_at"})

    object: Literal["alias"] = "alias"
    id: str
    name: str
    adapter: str
    adapter_name: str
    job: str | None = None
    """Job that trained the adapter; None if it was uploaded."""
    step: int
    model: str
    """Base model."""
    updated_by: str | None = None
    updated_at: Timestamp
    created_at: Timestamp


class AliasList(Response):
    object: Literal["list"] = "list"
    data: list[AliasInfo]


class AliasChange(Response):
    name: str
    adapter: str | None = None
    """Adapter after the change; None if the alias was deleted."""
    previous: str | None = None
    """Adapter before the change."""
    job: str | None = None
    requirement: CardRequirement | None = None
    """Requirement that the report card met."""
    created_by: str | None = None
    created_at: Timestamp


class AliasChangeList(Response):
    object: Literal["list"] = "list"
    data: list[AliasChange]
