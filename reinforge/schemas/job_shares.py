"""Share links, which show a job without sign-in."""

from typing import Literal

from pydantic import Field

from reinforge.schemas.common import Request, Response, Timestamp


class JobShareCreate(Request):
    samples: int = Field(default=0, ge=0, le=50)
    """Prompts whose completions the link shows; 0 for none."""
    expires_in_days: int | None = Field(default=None, ge=1, le=3650)
    """Default: valid until revoked."""


class JobShare(Response):
    """Link that shows one job without sign-in: verdict, charts, held-out table, configuration, notes."""

    object: Literal["job_share"] = "job_share"
    id: str
    job: str
    samples: int
    created_by: str
    created_at: Timestamp
    expires_at: Timestamp | None = None
    active: bool
    """Whether the link works: it has not expired, and its creator may still change jobs of the project."""


class JobShareCreated(JobShare):
    url: str
    """Address of the link with its secret, which no other response contains."""


class JobShareList(Response):
    object: Literal["list"] = "list"
    data: list[JobShare]
