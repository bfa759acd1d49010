"""Sign-in, own account, browser sessions."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, SecretStr, StringConstraints, model_validator

from reinforge.schemas.common import Editable, Request, Response, Timestamp
from reinforge.schemas.keys import Role, Scope
from reinforge.schemas.members import PersonName

Email = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True, to_lower=True, max_length=254, pattern=r"^[^@\s\x00]+@[^@\s\x00]+$"
    ),
]
"""Lower-cased. Only its format is checked: no mail is sent."""
Password = Annotated[SecretStr, Field(min_length=10, max_length=200)]


class SignIn(Request):
    """A token, or an e-mail address and a password."""

    token: str | None = Field(default=None, min_length=8, max_length=200)
    """A one-time sign-in token, or an API key."""
    email: Email | None = None
    password: SecretStr | None = Field(default=None, max_length=200)

    @model_validator(mode="after")
    def one_way(self) -> Self:
        if (self.token is None) != (self.email is not None and self.password is not None):
            raise ValueError("give a `token`, or `email` and `password`")
        return self


class Me(Editable):
    """The requesting user or key, and its project."""

    EDITS: ClassVar = frozenset({"key", "name", "email", "has_password"})

    object: Literal["me"] = "me"
    key: str
    """Id of the user or API key."""
    name: str
    role: Role
    scopes: list[Scope] | None = None
    """Scopes of a key with fewer rights than its role."""
    project: str
    project_name: str
    version: str
    member: str | None = None
    """Id of the membership; None for API keys, and for administrators who are not members."""
    user: str | None = None
    email: str | None = None
    has_password: bool = False
    administrator: bool = False
    """Whether the user or key may create projects, and act as owner of each."""


class AccountUpdate(Request):
    name: PersonName | None = None
    email: Email | None = None
    password: Password | None = None
    """New password; signs out the user's other browsers."""
    current_password: SecretStr | None = Field(default=None, max_length=200)
    """Needed to change the e-mail address or password of an account with a password."""


class PasswordReset(Request):
    token: str = Field(min_length=8, max_length=200)
    password: Password
    email: Email | None = None
    """E-mail address; needed if the account has none."""


class InvitationAccept(Request):
    """Signed-in users need only the token; others give their name."""

    token: str = Field(min_length=8, max_length=200)
    name: PersonName | None = None
    email: Email | None = None
    password: Password | None = None


class BrowserSession(Response):
    object: Literal["browser_session"] = "browser_session"
    id: str
    agent: str | None = None
    current: bool
    created_at: Timestamp
    last_seen_at: Timestamp
    expires_at: Timestamp


class OneTimeAddress(Response):
    object: Literal["one_time_address"] = "one_time_address"
    url: str
    """Address that works once; shown only once."""
