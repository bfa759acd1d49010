"""Experiment trackers, and the export of jobs to them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class TrackerRow(Created, Base):
    __tablename__ = "tracker"
    __table_args__ = (
        UniqueConstraint("project_id", "name", name="uq_tracker_project_id_name"),
        CheckConstraint("kind IN ('wandb', 'mlflow')", name="kind"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    kind: Mapped[str]
    url: Mapped[str]
    destination: Mapped[str]
    entity: Mapped[str | None]
    username: Mapped[str | None]
    key_sealed: Mapped[str | None]
    every_job: Mapped[bool]
    created_by: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class ExportRow(Created, Base):
    __tablename__ = "job_export"
    __table_args__ = (
        UniqueConstraint("job_id", "tracker_id"),
        CheckConstraint("state IN ('pending', 'live', 'done', 'failed')", name="state"),
        Index("ix_job_export_due", "next_at", postgresql_where=text("state IN ('pending', 'live')")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    tracker_id: Mapped[str] = mapped_column(ForeignKey("tracker.id", ondelete="CASCADE"), index=True)
    state: Mapped[str] = mapped_column(default="pending")
    step: Mapped[int] = mapped_column(default=-1)
    run_id: Mapped[str | None]
    run_url: Mapped[str | None]
    tries: Mapped[int] = mapped_column(default=0)
    next_at: Mapped[datetime] = mapped_column(default=now)
    error: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)
