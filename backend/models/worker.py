"""Workers and the calls lane."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class Worker(Base):
    __tablename__ = "worker"

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    """`trainer` or `calls`."""
    hostname: Mapped[str]
    version: Mapped[str]
    jail: Mapped[str | None]
    jail_reasons: Mapped[list[str]]
    device: Mapped[str | None]
    registered_at: Mapped[datetime] = mapped_column(default=now)
    last_seen_at: Mapped[datetime] = mapped_column(index=True)


class Call(Created, Base):
    """Something that the backend needs done now by a worker; deleted soon after its deadline."""

    __tablename__ = "call"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'taken', 'answered')", name="state"),
        Index("ix_call_waiting", "created_at", postgresql_where=text("state = 'waiting'")),
        Index("ix_call_deadline", "deadline"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default="waiting")
    deadline: Mapped[datetime]
    worker_id: Mapped[str | None]
    taken_at: Mapped[datetime | None]
    answered_at: Mapped[datetime | None]
    result: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
