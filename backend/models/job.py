"""Jobs, their pinned rewards, attempts, commands and live events."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, false, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now
from backend.models.reward import KINDS
from reinforge.states import JobStatus

_STATUSES = ", ".join(f"'{status}'" for status in JobStatus)


class Job(Created, Base):
    """The row lock serialises all changes."""

    __tablename__ = "job"
    __table_args__ = (
        CheckConstraint(f"status IN ({_STATUSES})", name="status"),
        CheckConstraint("purpose IN ('train', 'preflight')", name="purpose"),
        Index("ix_job_list", "project_id", "created_at", "id"),
        Index("ix_job_queue", "queued_at", postgresql_where=text("status = 'queued'")),
        Index("ix_job_lease", "lease_until", postgresql_where=text("lease_until IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    notes: Mapped[str] = mapped_column(default="", server_default="")
    tags: Mapped[list[str]] = mapped_column(default=list, server_default="[]")
    archived_at: Mapped[datetime | None]
    purpose: Mapped[str] = mapped_column(default="train")
    status: Mapped[str]
    reason: Mapped[str | None]
    error: Mapped[dict[str, Any] | None]

    spec: Mapped[dict[str, Any]]
    resolved_spec: Mapped[dict[str, Any]]
    model_id: Mapped[str]
    model_key: Mapped[str] = mapped_column(ForeignKey("base_model.key"), index=True)
    model_sha256: Mapped[str | None]
    dataset_id: Mapped[str] = mapped_column(ForeignKey("dataset.id"), index=True)
    held_out_dataset_id: Mapped[str | None] = mapped_column(ForeignKey("dataset.id"), index=True)
    start_sha256: Mapped[str | None] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    start: Mapped[dict[str, Any] | None]
    openai: Mapped[dict[str, Any] | None]
    forked_from_id: Mapped[str | None] = mapped_column(ForeignKey("job.id"), index=True)
    forked_step: Mapped[int | None]
    carried: Mapped[list[str] | None]
    warnings: Mapped[list[str]] = mapped_column(default=list)
    facts: Mapped[dict[str, Any]] = mapped_column(default=dict)
    jail: Mapped[str | None]
    created_by: Mapped[str | None]

    step: Mapped[int] = mapped_column(default=0)
    steps: Mapped[int]
    phase: Mapped[str | None]
    phase_step: Mapped[int | None]
    phase_done: Mapped[int | None]
    phase_total: Mapped[int | None]
    recent_step_seconds: Mapped[list[float]] = mapped_column(default=list)
    held_out_reward_before: Mapped[float | None]
    held_out_reward: Mapped[float | None]
    held_out_includes_shaping: Mapped[bool] = mapped_column(default=False, server_default=false())
    best_step: Mapped[int | None]
    verdict: Mapped[dict[str, Any] | None]
    adapter_id: Mapped[str | None]
    """Id of the job's adapter; a foreign key would be circular."""

    seq: Mapped[int] = mapped_column(default=0)
    """Sequence number of the newest event, increased under the row lock."""
    trace_context: Mapped[str | None]
    """W3C `traceparent` of the request that first queued the job."""
    attempt: Mapped[int] = mapped_column(default=0)
    lost_attempts: Mapped[int] = mapped_column(default=0)
    """Attempts lost or interrupted since the last resume state."""
    lease_until: Mapped[datetime | None]
    queued_at: Mapped[datetime | None]
    woken_at: Mapped[datetime | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class JobReward(Base):
    __tablename__ = "job_reward"
    __table_args__ = (
        CheckConstraint("(reward_id IS NULL) = (revision IS NULL)", name="pinned"),
        CheckConstraint("(reward_id IS NULL) <> (source IS NULL)", name="origin"),
        CheckConstraint(KINDS, name="kind"),
        Index("ix_job_reward_reward_id", "reward_id"),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]
    kind: Mapped[str] = mapped_column(default="python")
    reward_id: Mapped[str | None] = mapped_column(ForeignKey("reward.id"))
    revision: Mapped[int | None]
    source: Mapped[str | None]
    sha256: Mapped[str]


class Attempt(Base):
    __tablename__ = "attempt"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    worker_id: Mapped[str]
    token_sha256: Mapped[str] = mapped_column(index=True)
    resume_step: Mapped[int] = mapped_column(default=0)
    last_sequence: Mapped[int] = mapped_column(default=0)
    claimed_at: Mapped[datetime] = mapped_column(default=now)
    counted_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[str | None]
    reason: Mapped[str | None]


class JobCommand(Created, Base):
    __tablename__ = "job_command"
    __table_args__ = (Index("ix_job_command_job_id", "job_id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    kind: Mapped[str]
    applied_at: Mapped[datetime | None]
    applied_attempt: Mapped[int | None]
    applied_step: Mapped[int | None]


class Event(Base):
    """One live event, or `count` events in one row. A trigger deletes them with their job, as a foreign key
    would cost a lookup per event.
    """

    __tablename__ = "event"
    __table_args__ = (Index("ix_event_step", "job_id", "step", postgresql_where=text("step IS NOT NULL")),)

    job_id: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    count: Mapped[int] = mapped_column(default=1)
    type: Mapped[str]
    data: Mapped[dict[str, Any]]
    """Stored uncompressed (a migration sets STORAGE EXTERNAL): larger, but twice as fast to write."""
    step: Mapped[int | None]
    """Step of the event, if a resume from an earlier step deletes the event; otherwise None."""
    ts: Mapped[datetime] = mapped_column(default=now)
