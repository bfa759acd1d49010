"""Rollouts that external programs run, and model requests that wait for an attempt's trainer."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class AgentRollout(Created, Base):
    __tablename__ = "agent_rollout"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'taken', 'ended')", name="state"),
        Index("ix_agent_rollout_job", "job_id", "attempt", "state", "created_at"),
        Index("ix_agent_rollout_key", "key_sha256", unique=True),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    task: Mapped[dict[str, Any]]
    limits: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default="waiting")
    try_no: Mapped[int] = mapped_column(default=0)
    """How often a runner has taken the rollout."""
    key_sha256: Mapped[str | None]
    """SHA-256 of the key of the current try."""
    runner: Mapped[str | None]
    heartbeat_at: Mapped[datetime | None]
    deadline: Mapped[datetime | None]
    outcome: Mapped[dict[str, Any] | None]


class QueuedModelCall(Created, Base):
    __tablename__ = "model_call"
    __table_args__ = (
        CheckConstraint("state IN ('waiting', 'taken', 'answered')", name="state"),
        Index("ix_model_call_job", "job_id", "attempt", "state", "created_at"),
        Index("ix_model_call_caller", "caller"),
        Index("ix_model_call_deadline", "deadline"),
        {"prefixes": ["UNLOGGED"]},
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    attempt: Mapped[int]
    kind: Mapped[str]
    """Protocol of the payload."""
    caller: Mapped[str]
    """Who waits for the answer, such as a rollout; waiting requests are limited per caller."""
    payload: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(default="waiting")
    deadline: Mapped[datetime]
    result: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
