"""Deployments: named weights served over the API."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now
from reinforge.schemas.deployments import STATES

_STATES = ", ".join(f"'{state}'" for state in STATES)


class Deployment(Created, Base):
    """Refers to its weights by SHA-256, so that they outlive their checkpoint."""

    __tablename__ = "deployment"
    __table_args__ = (
        CheckConstraint(f"state IN ({_STATES})", name="state"),
        UniqueConstraint("project_id", "name", name="uq_deployment_project_id_name"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    model_id: Mapped[str]
    model_key: Mapped[str] = mapped_column(ForeignKey("base_model.key"), index=True)
    model_sha256: Mapped[str | None]
    job_id: Mapped[str | None] = mapped_column(ForeignKey("job.id", ondelete="SET NULL"), index=True)
    checkpoint_id: Mapped[str | None] = mapped_column(
        ForeignKey("checkpoint.id", ondelete="SET NULL"), index=True
    )
    adapter_id: Mapped[str | None] = mapped_column(ForeignKey("adapter.id", ondelete="SET NULL"), index=True)
    step: Mapped[int | None]
    rank: Mapped[int | None]
    sha256: Mapped[str | None] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    bytes: Mapped[int | None]
    environment: Mapped[dict[str, Any] | None]
    """The job's `tools` environment; None if the deployment runs no tools."""

    state: Mapped[str]
    error: Mapped[dict[str, Any] | None]
    requests: Mapped[int] = mapped_column(default=0)
    failed_requests: Mapped[int] = mapped_column(default=0)
    prompt_tokens: Mapped[int] = mapped_column(default=0)
    completion_tokens: Mapped[int] = mapped_column(default=0)
    last_used_at: Mapped[datetime | None]
    created_by: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)
