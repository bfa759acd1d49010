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
    required_card: Mapped[str | None]
    """Conditions that a report card has to meet before an alias may point to its adapter."""


class ApiKey(Created, Base):
    __tablename__ = "api_key"

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), index=True)
    name: Mapped[str]
    role: Mapped[str]
    scopes: Mapped[list[str] | None]
    administrator: Mapped[bool] = mapped_column(default=False, server_default="false")
    """Whether the key may also create projects and act for any project."""
    sha256: Mapped[str] = mapped_column(unique=True)
    prefix: Mapped[str]
    created_by: Mapped[str | None]
    maker_id: Mapped[str | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="CASCADE"), index=True
    )
    """User whose rights limit the key's rights; None if the platform made it."""
    last_used_at: Mapped[datetime | None]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]

    @property
    def maker(self) -> str | None:
        return self.maker_id


class Member(Created, Base):
    __tablename__ = "member"
    __table_args__ = (UniqueConstraint("project_id", "user_id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    user_id: Mapped[str] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    role: Mapped[str]
    mail_events: Mapped[list[str]] = mapped_column(default=list, server_default="[]")


class Invitation(Created, Base):
    __tablename__ = "invitation"

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), index=True)
    sha256: Mapped[str] = mapped_column(unique=True)
    role: Mapped[str]
    note: Mapped[str | None]
    created_by: Mapped[str | None]
    maker_id: Mapped[str | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="CASCADE"), index=True
    )
    """User who must still be an owner when the invitation is accepted; None if the platform made it."""
    expires_at: Mapped[datetime]


class IdempotencyKey(Created, Base):
    __tablename__ = "idempotency_key"

    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"), primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    request_sha256: Mapped[str]
    status: Mapped[int | None]
    body: Mapped[str | None]
