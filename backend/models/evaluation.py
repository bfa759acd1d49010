"""Evaluations, and labels of a job's completions."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class EvaluationRow(Created, Base):
    __tablename__ = "evaluation"
    __table_args__ = (
        CheckConstraint("kind IN ('replay', 'stand_alone')", name="kind"),
        CheckConstraint("(kind = 'replay') = (job_id IS NOT NULL)", name="job"),
        CheckConstraint("status IN ('running', 'succeeded', 'failed', 'cancelled')", name="status"),
        Index("ix_evaluation_list", "project_id", "created_at", "id"),
        Index("ix_evaluation_running", "touched_at", postgresql_where=text("status = 'running'")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    job_id: Mapped[str | None] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), index=True)
    kind: Mapped[str]
    name: Mapped[str | None]
    params: Mapped[dict[str, Any]]
    status: Mapped[str]
    done: Mapped[int] = mapped_column(default=0)
    total: Mapped[int] = mapped_column(default=0)
    result: Mapped[dict[str, Any] | None]
    error: Mapped[dict[str, Any] | None]
    created_by: Mapped[str | None]
    touched_at: Mapped[datetime] = mapped_column(default=now)
    finished_at: Mapped[datetime | None]
    runner: Mapped[str | None]


class EvaluationCompletion(Base):
    __tablename__ = "evaluation_completion"

    evaluation_id: Mapped[str] = mapped_column(
        ForeignKey("evaluation.id", ondelete="CASCADE"), primary_key=True
    )
    row_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    sample_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    text: Mapped[str]
    tokens: Mapped[int]
    finish_reason: Mapped[str | None]
    result: Mapped[dict[str, Any]]


class EvaluationPromptRow(Base):
    __tablename__ = "evaluation_prompt"

    evaluation_id: Mapped[str] = mapped_column(
        ForeignKey("evaluation.id", ondelete="CASCADE"), primary_key=True
    )
    row_no: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    prompt: Mapped[str]
    answer: Mapped[str | None]


class Label(Created, Base):
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
