"""Hyperparameter sweeps and their trials."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class SweepRow(Created, Base):
    __tablename__ = "sweep"
    __table_args__ = (
        CheckConstraint(
            "status IN ('running', 'cancelling', 'succeeded', 'failed', 'cancelled')", name="status"
        ),
        Index("ix_sweep_list", "project_id", "created_at", "id"),
        Index("ix_sweep_open", "created_at", postgresql_where=text("status IN ('running', 'cancelling')")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    status: Mapped[str] = mapped_column(default="running")
    reason: Mapped[str | None]
    notice: Mapped[str | None]
    spec: Mapped[dict[str, Any]]
    warnings: Mapped[list[str]] = mapped_column(default=list)
    gpu_hour_price: Mapped[float | None]
    created_by: Mapped[str | None]
    finished_at: Mapped[datetime | None]


class SweepTrialRow(Created, Base):
    """A trial is stored before its job."""

    __tablename__ = "sweep_trial"
    __table_args__ = (
        CheckConstraint("state IN ('pending', 'submitted', 'refused', 'skipped')", name="state"),
        CheckConstraint("ended_by IN ('halving', 'budget', 'sweep_cancelled')", name="ended_by"),
        Index("ix_sweep_trial_job_id", "job_id", unique=True),
    )

    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweep.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    setting: Mapped[int]
    name: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    seed: Mapped[int | None]
    state: Mapped[str] = mapped_column(default="pending")
    job_id: Mapped[str | None] = mapped_column(ForeignKey("job.id", ondelete="SET NULL"))
    error: Mapped[dict[str, Any] | None]
    ended_by: Mapped[str | None]
