"""API keys, their roles and scopes."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from reinforge.schemas.common import Request, Response, Timestamp

Role = Literal["viewer", "editor", "owner"]


def _renamed(value: Any) -> Any:
    return "editor" if value == "member" else value


RoleInput = Annotated[Role, BeforeValidator(_renamed)]
"""Accepts `member`, the former name of `editor`."""

Scope = Literal["read", "data:write", "jobs:write", "inference", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
SCOPES_OF: dict[Role, tuple[Scope, ...]] = {
    "viewer": ("read",),
    "editor": ("read", "data:write", "jobs:write", "inference"),
    "owner": SCOPES,
}


class ApiKeyCreate(Request):
    name: str = Field(min_length=1, max_length=100)
    role: RoleInput = "editor"
    """`viewer` reads, `editor` also changes things, `owner` also manages people, keys and budgets."""
    scopes: list[Scope] | None = Field(default=None, min_length=1)
    """Allowed uses; default everything that the role may do."""
    expires_in_days: int | None = Field(default=None, ge=1, le=3650)
    """Default: valid until revoked."""
    administrator: bool = False
    """Whether the key may create projects, and act for any project, named in `X-Reinforge-Project`. Only
    administrators may request it, for keys of role `owner` without scopes.
    """


class ApiKey(Response):
    object: Literal["api_key"] = "api_key"
    id: str
    name: str
    role: Role
    scopes: list[Scope] | None = None
    """None: everything that the key's role may do."""
    administrator: bool = False
    prefix: str
    """First characters of the key."""
    created_by: str | None = None
    maker: str | None = None
    """Id of the user whose role in the project limits the key; the key ends with the user's membership. None:
    a key of the platform.
    """
    created_at: Timestamp
    last_used_at: Timestamp | None = None
    expires_at: Timestamp | None = None


class ApiKeyCreated(ApiKey):
    key: str
    """The secret, shown only once."""
