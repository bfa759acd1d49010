"""Users, browser sessions, one-time links, and failed sign-in attempts.

Tokens are stored as SHA-256, passwords as argon2 hashes.
"""

from datetime import datetime

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class User(Created, Base):
    """A person, of any number of projects."""

    __tablename__ = "user_account"

    id: Mapped[str] = mapped_column(primary_key=True)
    name: Mapped[str]
    email: Mapped[str | None] = mapped_column(unique=True)
    """In lower case; what they sign in with beside a password."""
    password: Mapped[str | None]
    """argon2id, with its parameters; None for those who sign in with one-time addresses only."""
    administrator: Mapped[bool] = mapped_column(default=False, server_default="false")
    """Runs the platform: owner of every project."""
    last_seen_at: Mapped[datetime | None]


class SignInToken(Created, Base):
    """A one-time link of a user or of an API key's holder."""

    __tablename__ = "sign_in_token"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    purpose: Mapped[str] = mapped_column(default="sign_in", server_default="sign_in")
    """`sign_in`, `start` (the address that start-up prints) or `reset` (of a password)."""
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    user_id: Mapped[str | None] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    key_id: Mapped[str | None] = mapped_column(ForeignKey("api_key.id", ondelete="CASCADE"))
    maker_id: Mapped[str | None] = mapped_column(
        ForeignKey("user_account.id", ondelete="CASCADE"), index=True
    )
    """Who has to be an owner still when it is used, unless it is for themselves. None: the platform."""
    bound: Mapped[bool] = mapped_column(default=False, server_default="false")
    """Made by an owner for somebody else: it opens `project_id` alone, and nothing once the user is of others, too."""
    expires_at: Mapped[datetime]


class BrowserSession(Created, Base):
    """A signed-in browser: of a user, or with an API key."""

    __tablename__ = "browser_session"

    sha256: Mapped[str] = mapped_column(primary_key=True)
    id: Mapped[str] = mapped_column(unique=True)
    """What lists call it."""
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    """The project that it looks at; a user may switch it."""
    key_id: Mapped[str | None] = mapped_column(ForeignKey("api_key.id", ondelete="CASCADE"))
    user_id: Mapped[str | None] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    agent: Mapped[str | None]
    """What the browser says it is."""
    last_seen_at: Mapped[datetime] = mapped_column(default=now)
    expires_at: Mapped[datetime]


class SignInFailure(Base):
    """A wrong password; several block the sender for a while."""

    __tablename__ = "sign_in_failure"
    __table_args__ = (
        Index("ix_sign_in_failure_email", "email", "at"),
        Index("ix_sign_in_failure_ip", "ip", "at"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    email: Mapped[str]
    ip: Mapped[str]
    at: Mapped[datetime] = mapped_column(default=now)
