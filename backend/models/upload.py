"""Uploads in parts, until they become datasets."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class Upload(Created, Base):
    __tablename__ = "upload"
    __table_args__ = (
        CheckConstraint(
            "status IN ('pending', 'completed', 'cancelled', 'expired', 'refused')", name="status"
        ),
        Index("ix_upload_content", "project_id", "sha256", postgresql_where=text("status = 'pending'")),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    filename: Mapped[str]
    name: Mapped[str | None]
    bytes: Mapped[int]
    sha256: Mapped[str | None]
    part_bytes: Mapped[int | None]
    """Bytes of every numbered part but the last; None for uploads through OpenAI's API."""
    bucket_upload: Mapped[str | None]
    status: Mapped[str] = mapped_column(default="pending")
    error: Mapped[dict[str, Any] | None]
    expires_at: Mapped[datetime]
    file_seconds: Mapped[int | None]
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("dataset.id", ondelete="SET NULL"), index=True)
    created_by: Mapped[str | None]


class UploadPart(Created, Base):
    __tablename__ = "upload_part"
    __table_args__ = (UniqueConstraint("upload_id", "number"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    upload_id: Mapped[str] = mapped_column(ForeignKey("upload.id", ondelete="CASCADE"), index=True)
    number: Mapped[int | None]
    sha256: Mapped[str | None] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    digest: Mapped[str | None]
    bytes: Mapped[int]
