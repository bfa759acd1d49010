"""Audit log: append-only, deleted with the project."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, now


class AuditEntry(Base):
    __tablename__ = "audit_entry"
    __table_args__ = (Index("ix_audit_entry_list", "project_id", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    created_at: Mapped[datetime] = mapped_column(default=now)
    actor: Mapped[str]
    actor_name: Mapped[str]
    action: Mapped[str]
    target: Mapped[str | None]
    details: Mapped[dict[str, Any]]
