"""Checkpoints (servable), resume states (private), and adapters (from succeeded jobs or uploaded)."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class Checkpoint(Created, Base):
    __tablename__ = "checkpoint"
    __table_args__ = (UniqueConstraint("job_id", "step"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"))
    step: Mapped[int]
    attempt: Mapped[int]
    sha256: Mapped[str] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    bytes: Mapped[int]
    held_out_reward: Mapped[float | None]
    best: Mapped[bool] = mapped_column(default=False)
    final: Mapped[bool] = mapped_column(default=False)


class CheckpointPermission(Created, Base):
    __tablename__ = "checkpoint_permission"
    __table_args__ = (UniqueConstraint("checkpoint_id", "project_id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    checkpoint_id: Mapped[str] = mapped_column(ForeignKey("checkpoint.id", ondelete="CASCADE"))
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    created_by: Mapped[str | None]


class ResumeState(Created, Base):
    __tablename__ = "resume_state"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    attempt: Mapped[int]
    sha256: Mapped[str] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    bytes: Mapped[int]


class Adapter(Created, Base):
    __tablename__ = "adapter"
    __table_args__ = (Index("ix_adapter_list", "project_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    job_id: Mapped[str | None] = mapped_column(ForeignKey("job.id"), index=True)
    """Job that trained the adapter; None if it was uploaded."""
    checkpoint_id: Mapped[str | None] = mapped_column(ForeignKey("checkpoint.id"), index=True)
    step: Mapped[int]
    model_id: Mapped[str]
    model_key: Mapped[str] = mapped_column(ForeignKey("base_model.key"), index=True)
    model_sha256: Mapped[str | None]
    lora: Mapped[dict[str, Any] | None]
    sha256: Mapped[str] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    """SHA-256 of an uncompressed tar of the PEFT directory."""
    bytes: Mapped[int]
    held_out_reward: Mapped[float | None]
    deleted_at: Mapped[datetime | None]
    """Time of deletion; the row stays for other rows that refer to it."""
