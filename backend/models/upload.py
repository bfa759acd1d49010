"""Files that arrive in parts over OpenAI's `/v1/uploads`, until they are datasets."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class Upload(Created, Base):
    __tablename__ = "upload"
    __table_args__ = (
        CheckConstraint("status IN ('pending', 'completed', 'cancelled', 'expired')", name="status"),
    )

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    filename: Mapped[str]
    bytes: Mapped[int]
    """As announced; a file of another size is refused at the end."""
    status: Mapped[str] = mapped_column(default="pending")
    expires_at: Mapped[datetime]
    file_seconds: Mapped[int | None]
    """How long the file is to be kept from its creation on; None for ever."""
    dataset_id: Mapped[str | None] = mapped_column(ForeignKey("dataset.id", ondelete="SET NULL"), index=True)
    created_by: Mapped[str | None]


class UploadPart(Created, Base):
    """Gone once its upload has ended; the object goes with the sweep."""

    __tablename__ = "upload_part"

    id: Mapped[str] = mapped_column(primary_key=True)
    upload_id: Mapped[str] = mapped_column(ForeignKey("upload.id", ondelete="CASCADE"), index=True)
    sha256: Mapped[str] = mapped_column(ForeignKey("stored_object.sha256"), index=True)
    bytes: Mapped[int]
