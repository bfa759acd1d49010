"""Projects."""

from typing import Annotated, ClassVar, Literal

from pydantic import StringConstraints

from reinforge.schemas.common import Editable, Request, Timestamp
from reinforge.schemas.keys import Role

ProjectName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class Project(Editable):
    EDITS: ClassVar = frozenset({"name"})

    object: Literal["project"] = "project"
    id: str
    name: str
    created_at: Timestamp


class ProjectAccess(Project):
    """A project with what the asker is in it."""

    role: Role
    current: bool
    """The one that requests without `X-Reinforge-Project` are about."""


class ProjectCreate(Request):
    name: ProjectName
    with_key: bool = False
    """Answer an owner's API key of the new project too, for the command line."""


class ProjectCreated(Project):
    key: str | None = None
    """The secret of an owner's API key, shown this once."""


class ProjectUpdate(Request):
    name: ProjectName


class ProjectDelete(Request):
    name: str
    """The project's name, to be sure."""
