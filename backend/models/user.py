"""Users, browser sessions, one-time links, failed sign-in attempts.

Tokens are stored as SHA-256.
"""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class User(Created, Base):
    __tablename__ = "user_account"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    email: Mapped[str | None] = mapped_column(unique=True)
    confirmed_email: Mapped[str | None]
    """Address that was confirmed through a link; valid while it equals `email`."""
    password: Mapped[str | None]
    """argon2id hash; None for users of one-time links only."""
    administrator: Mapped[bool] = mapped_column(default=False, server_default="false")
    last_seen_at: Mapped[datetime | None]


class SignInToken(Created, Base):
    __tablename__ = "sign_in_token"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    purpose: Mapped[str] = mapped_column(default="sign_in", server_default="sign_in")
    """`sign_in`, `start` (printed at start-up) or `reset` (of a password)."""
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    user_id: Mapped[str | None] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    key_id: Mapped[str | None] = mapped_column(ForeignKey("api_key.id", ondelete="CASCADE"))
    maker_id: Mapped[str | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="CASCADE"), index=True
    )
    """User who must still be an owner when another user opens the link; None if the platform made it."""
    bound: Mapped[bool] = mapped_column(default=False, server_default="false")
    """Whether the link works only while `project_id` is the only project of its user."""
    expires_at: Mapped[datetime]


class BrowserSession(Created, Base):
    __tablename__ = "browser_session"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    key_id: Mapped[str | None] = mapped_column(ForeignKey("api_key.id", ondelete="CASCADE"))
    user_id: Mapped[str | None] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    agent: Mapped[str | None]
    last_seen_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]


class SignInFailure(Base):
    __tablename__ = "sign_in_failure"
    __table_args__ = (
        Index("ix_sign_in_failure_email", "email", "at"),
        Index("ix_sign_in_failure_ip", "ip", "at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    ip: Mapped[str]
    at: Mapped[datetime] = mapped_column(default=now)
