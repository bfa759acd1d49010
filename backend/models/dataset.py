"""Metadata of datasets; their files are stored objects."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class Dataset(Created, Base):
    __tablename__ = "dataset"
    __table_args__ = (
        Index("ix_dataset_list", "project_id", "created_at", "id"),
        Index("ix_dataset_expires", "expires_at", postgresql_where=text("expires_at IS NOT NULL")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    filename: Mapped[str]
    format: Mapped[str]
    bytes: Mapped[int]
    rows: Mapped[int]
    sha256: Mapped[str] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    columns: Mapped[list[dict[str, Any]]]
    warnings: Mapped[list[str]]
    preview: Mapped[list[dict[str, Any]]]
    prompt_view: Mapped[dict[str, Any]] = mapped_column(default=dict, server_default="{}")
    skipped: Mapped[dict[str, Any] | None]
    created_by: Mapped[str | None]
    expires_at: Mapped[datetime | None]
    """Time after which the dataset is deleted once no unfinished job needs it."""
    deleted_at: Mapped[datetime | None]
    """Time of deletion; the row stays for other rows that refer to it."""
