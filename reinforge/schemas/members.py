"""People of a project, and what a project holds."""

from typing import Annotated, Literal

from pydantic import StringConstraints

from reinforge.schemas.common import Request, Response, Timestamp
from reinforge.schemas.keys import Role


class MemberCreate(Request):
    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
    role: Role = "member"


class MemberUpdate(Request):
    role: Role


class Member(Response):
    object: Literal["member"] = "member"
    id: str
    name: str
    role: Role
    created_at: Timestamp
    last_seen_at: Timestamp | None = None


class MemberInvited(Member):
    url: str
    """One-time sign-in address, valid for 24 hours; shown this once."""


class ProjectCounts(Response):
    object: Literal["project.counts"] = "project.counts"
    datasets: int
    rewards: int
    jobs: int
    unfinished_jobs: int
    adapters: int
    models: int
    demo_job: str | None = None
    """The newest job that was started as the demo."""
