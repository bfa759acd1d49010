"""Evaluations of what a job has stored, and labels that people give its completions."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class EvaluationRow(Created, Base):
    """One run over stored completions. The process that runs it touches it; untouched for long, it was interrupted."""

    __tablename__ = "evaluation"
    __table_args__ = (
        CheckConstraint("kind IN ('replay')", name="kind"),
        CheckConstraint("status IN ('running', 'succeeded', 'failed', 'cancelled')", name="status"),
        Index("ix_evaluation_list", "project_id", "created_at", "id"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    params: Mapped[dict[str, Any]]
    status: Mapped[str]
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    result: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    created_by: Mapped[str | None]
    touched_at: Mapped[datetime] = mapped_column(default=now)
    finished_at: Mapped[datetime | None]


class Label(Created, Base):
    """What a person says of a completion. A resume that takes the completion away takes its label."""

    __tablename__ = "label"
    __table_args__ = (
        ForeignKeyConstraint(
            ["job_id", "split", "step", "prompt_no", "sample_no"],
            [f"completion.{name}" for name in ("job_id", "split", "step", "prompt_no", "sample_no")],
            ondelete="CASCADE",
        ),
    )

    job_id: Mapped[str] = mapped_column(primary_key=True)
    split: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    prompt_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sample_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    right: Mapped[bool]
    created_by: Mapped[str | None]
