"""Projects, members, API keys and invitations. Secrets are stored as SHA-256 only."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class Project(Created, Base):
    __tablename__ = "project"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    served_at: Mapped[datetime | None]
    """When a worker last took one of its jobs: projects take turns."""


class ApiKey(Created, Base):
    __tablename__ = "api_key"

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), index=True)
    name: Mapped[str]
    role: Mapped[str]
    scopes: Mapped[list[str] | None]
    """What it may be used for; None for everything that its role may."""
    administrator: Mapped[bool] = mapped_column(default=False, server_default="false")
    """Asked for by whoever runs the platform: it may also make projects and act for any of them."""
    sha256: Mapped[str] = mapped_column(unique=True)
    prefix: Mapped[str]
    """The key's first characters, to recognise it by."""
    created_by: Mapped[str | None]
    maker_id: Mapped[str | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="CASCADE"), index=True
    )
    """The person whose rights bound the key's: it was made by them or with a key of theirs. None: the platform's."""
    last_used_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    @property
    def maker(self) -> str | None:
        return self.maker_id


class Member(Created, Base):
    """A user's membership and role in a project."""

    __tablename__ = "member"
    __table_args__ = (UniqueConstraint("project_id", "user_id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    user_id: Mapped[str] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    role: Mapped[str]


class Invitation(Created, Base):
    """A one-time link for joining a project."""

    __tablename__ = "invitation"

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), index=True)
    sha256: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    note: Mapped[str | None]
    """For whom it is, as its maker wrote it."""
    created_by: Mapped[str | None]
    maker_id: Mapped[str | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="CASCADE"), index=True
    )
    """Who has to be an owner still when it is accepted. None: the platform."""
    expires_at: Mapped[datetime]


class IdempotencyKey(Created, Base):
    """The stored response to a POST with an `Idempotency-Key`; expires after a day."""

    __tablename__ = "idempotency_key"

    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[str]
    status: Mapped[int | None]
    """HTTP status of the answer; None while the first request is under way."""
    body: Mapped[str | None]
    """The answer's JSON text."""
