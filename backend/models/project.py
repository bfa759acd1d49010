"""Projects, their members and API keys, browser sessions and one-time sign-in tokens.

Secrets are kept as SHA-256 only.
"""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class Project(Created, Base):
    __tablename__ = "project"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)


class ApiKey(Created, Base):
    __tablename__ = "api_key"

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), index=True)
    name: Mapped[str]
    role: Mapped[str]
    sha256: Mapped[str] = mapped_column(unique=True)
    prefix: Mapped[str]
    """The key's first characters, to recognise it by."""
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class Member(Created, Base):
    """A person who signs in to the page; removing one ends their sessions and takes back their address."""

    __tablename__ = "member"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    role: Mapped[str]
    last_seen_at: Mapped[datetime | None]


class SignInToken(Created, Base):
    __tablename__ = "sign_in_token"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    member_id: Mapped[str | None] = mapped_column(ForeignKey("member.id", ondelete="CASCADE"), index=True)
    """For whom it is; None for whoever started the platform, or for the holder of an API key."""
    role: Mapped[str]
    """Of what it opens; a member's is the member's own, whatever stands here."""
    expires_at: Mapped[datetime]


class BrowserSession(Created, Base):
    """A signed-in browser. It has the role of its member, or of the key or address that it signed in with."""

    __tablename__ = "browser_session"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    key_id: Mapped[str | None] = mapped_column(ForeignKey("api_key.id", ondelete="CASCADE"))
    """The API key it signed in with; None for a one-time token."""
    member_id: Mapped[str | None] = mapped_column(ForeignKey("member.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    role: Mapped[str]
    expires_at: Mapped[datetime]


class IdempotencyKey(Created, Base):
    """The stored answer to a POST that named an `Idempotency-Key`; kept for a day."""

    __tablename__ = "idempotency_key"

    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[str]
    status: Mapped[int | None]
    """HTTP status of the answer; None while the first request is under way."""
    body: Mapped[str | None]
    """The answer's JSON text."""
