"""Projects and their API keys."""

from typing import Literal

from pydantic import Field

from reinforge.schemas.common import Request, Response, Timestamp

Role = Literal["viewer", "member", "owner"]


class Project(Response):
    object: Literal["project"] = "project"
    id: str
    name: str
    created_at: Timestamp


class ApiKeyCreate(Request):
    name: str = Field(min_length=1, max_length=100)
    role: Role = "member"
    """`viewer` reads, `member` also changes things, `owner` also manages keys."""


class ApiKey(Response):
    object: Literal["api_key"] = "api_key"
    id: str
    name: str
    role: Role
    prefix: str
    """The key's first characters, to recognise it by."""
    created_at: Timestamp
    last_used_at: Timestamp | None = None


class ApiKeyCreated(ApiKey):
    key: str
    """The secret itself, shown this once."""
