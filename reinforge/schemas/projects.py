"""Requests and responses about projects."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from reinforge.schemas.common import Editable, Request, Timestamp
from reinforge.schemas.keys import Role

ProjectName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class Project(Editable):
    EDITS: ClassVar = frozenset({"name", "required_card"})

    object: Literal["project"] = "project"
    id: str
    name: str
    required_card: str | None = None
    """Conditions that the report card has to meet when an adapter is promoted."""
    created_at: Timestamp


class ProjectAccess(Project):
    role: Role
    current: bool
    """Whether requests without `X-Reinforge-Project` apply to this project."""


class ProjectCreate(Request):
    name: ProjectName
    with_key: bool = False
    """Also return an owner's API key, for the command line."""


class ProjectCreated(Project):
    key: str | None = None
    """Secret of the owner's API key, shown only once."""


class ProjectUpdate(Request):
    """Omitted fields are kept."""

    name: ProjectName | None = None
    required_card: str | None = Field(default=None, min_length=1, max_length=1000)
    """Conditions such as `held_out_gain.low>0, witnesses=0`; null requires nothing."""


class ProjectDelete(Request):
    name: str
    """The project's name, as confirmation."""
