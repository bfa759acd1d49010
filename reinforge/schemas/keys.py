"""API keys, their roles and scopes."""

from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from reinforge.schemas.common import Request, Response, Timestamp

Role = Literal["viewer", "editor", "owner"]
"""`viewer` reads, `editor` also changes things, `owner` also manages the project: its people, keys and budgets."""


def _renamed(value: Any) -> Any:
    return "editor" if value == "member" else value


RoleInput = Annotated[Role, BeforeValidator(_renamed)]
"""A role in a request: `member`, as editors were called before, is taken too."""

Scope = Literal["read", "data:write", "jobs:write", "inference", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
SCOPES_OF: dict[Role, tuple[Scope, ...]] = {
    "viewer": ("read",),
    "editor": ("read", "data:write", "jobs:write", "inference"),
    "owner": SCOPES,
}
"""Role → the scopes that a key of it may have; without any named it has them all."""


class ApiKeyCreate(Request):
    name: str = Field(min_length=1, max_length=100)
    role: RoleInput = "editor"
    """`viewer` reads, `editor` also changes things, `owner` also manages people and keys."""
    scopes: list[Scope] | None = Field(default=None, min_length=1)
    """What it may be used for, of what its role may; default all of that."""
    expires_in_days: int | None = Field(default=None, ge=1, le=3650)
    """Default: it works until it is revoked."""
    administrator: bool = False
    """It runs the platform: it makes projects and acts for any that `X-Reinforge-Project` names. An owner's key without
    scopes can be one, and only who runs the platform may ask for it."""


class ApiKey(Response):
    object: Literal["api_key"] = "api_key"
    id: str
    name: str
    role: Role
    scopes: list[Scope] | None = None
    """None: everything that its role may."""
    administrator: bool = False
    """It runs the platform, in every project."""
    prefix: str
    """The key's first characters, to recognise it by."""
    created_by: str | None = None
    maker: str | None = None
    """`user` of the member whose rights bound the key's: it ends when they are removed. None: the platform's."""
    created_at: Timestamp
    last_used_at: Timestamp | None = None
    expires_at: Timestamp | None = None


class ApiKeyCreated(ApiKey):
    key: str
    """The secret itself, shown this once."""
