"""Members and invitations of a project."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from reinforge.schemas.common import Editable, Request, Response, Timestamp
from reinforge.schemas.keys import Role, RoleInput

PersonName = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]


class MemberCreate(Request):
    name: PersonName
    role: RoleInput = "editor"


class MemberUpdate(Request):
    role: RoleInput


class Member(Editable):
    EDITS: ClassVar = frozenset({"role"})

    object: Literal["member"] = "member"
    id: str
    user: str
    name: str
    email: str | None = None
    role: Role
    created_at: Timestamp
    last_seen_at: Timestamp | None = None


class MemberInvited(Member):
    url: str
    """One-time address, valid for 24 hours, shown only once."""


class InvitationCreate(Request):
    role: RoleInput = "editor"
    note: str | None = Field(default=None, max_length=200)
    expires_in_days: int = Field(default=7, ge=1, le=90)


class Invitation(Response):
    object: Literal["invitation"] = "invitation"
    id: str
    role: Role
    note: str | None = None
    created_by: str | None = None
    created_at: Timestamp
    expires_at: Timestamp


class InvitationMade(Invitation):
    url: str
    """One-time address to join the project, shown only once."""


class InvitationToken(Request):
    token: str = Field(min_length=8, max_length=200)


class InvitationOffer(Response):
    object: Literal["invitation.offer"] = "invitation.offer"
    project_name: str
    role: Role
    expires_at: Timestamp
    signed_in_as: str | None = None
    """Name of the user who would join; None for a new one."""


class ProjectCounts(Response):
    object: Literal["project.counts"] = "project.counts"
    datasets: int
    rewards: int
    jobs: int
    unfinished_jobs: int
    adapters: int
    models: int
    demo_job: str | None = None
