"""Aliases: names that can move between adapters, and the history of their moves."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class AdapterAlias(Created, Base):
    __tablename__ = "adapter_alias"
    __table_args__ = (UniqueConstraint("project_id", "name"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    adapter_id: Mapped[str] = mapped_column(ForeignKey("adapter.id"), index=True)
    updated_by: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)


class AdapterAliasChange(Created, Base):
    """The row stays when the alias, the adapter or the job is deleted."""

    __tablename__ = "adapter_alias_change"
    __table_args__ = (Index("ix_adapter_alias_change_list", "project_id", "name", "created_at", "id"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    adapter_id: Mapped[str | None]
    """The new adapter; None if the alias was deleted."""
    previous_id: Mapped[str | None]
    job_id: Mapped[str | None]
    requirement: Mapped[dict[str, Any] | None]
    """`CardRequirement` that the adapter's report card met."""
    created_by: Mapped[str | None]
