"""Workers, and the RPCs that they answer."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class Worker(Base):
    __tablename__ = "worker"

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    hostname: Mapped[str]
    version: Mapped[str]
    jail: Mapped[str | None]
    jail_reasons: Mapped[list[str]]
    device: Mapped[str | None]
    answers: Mapped[list[str] | None]
    broker: Mapped[dict[str, Any] | None]
    engines: Mapped[list[str] | None]
    """Available rollout engines, first the one that `auto` selects; None if not reported."""
    waits_for: Mapped[str | None]
    process: Mapped[str | None]
    """Id of the process; a restart keeps the worker's id, but loses its running RPCs."""
    registered_at: Mapped[datetime] = mapped_column(default=now)
    last_seen_at: Mapped[datetime] = mapped_column(index=True)


class Call(Created, Base):
    __tablename__ = "call"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'taken', 'answered')", name="state"),
        Index("ix_call_waiting", "created_at", postgresql_where=text("state = 'waiting'")),
        Index("ix_call_deadline", "deadline"),
        Index("ix_call_project", "project_id", "state"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    project_id: Mapped[str | None]
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default="waiting")
    deadline: Mapped[datetime]
    trace_context: Mapped[str | None]
    """W3C `traceparent` of the request that waits for the result."""
    worker_id: Mapped[str | None]
    taken_at: Mapped[datetime | None]
    answered_at: Mapped[datetime | None]
    result: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]


class CallChunk(Base):
    __tablename__ = "call_chunk"

    call_id: Mapped[str] = mapped_column(ForeignKey("call.id", ondelete="CASCADE"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    events: Mapped[list[dict[str, Any]]]
