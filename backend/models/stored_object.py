"""Immutable objects in the object store, named by the SHA-256 of their content."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class JobObject(Base):
    __tablename__ = "job_object"

    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), primary_key=True)
    sha256: Mapped[str] = mapped_column(
        ForeignKey("stored_object.sha256", ondelete="CASCADE"), primary_key=True, index=True
    )


class StoredObject(Created, Base):
    """The row is written before the file."""

    __tablename__ = "stored_object"
    __table_args__ = (CheckConstraint("state IN ('writing', 'stored')", name="state"),)

    sha256: Mapped[str] = mapped_column(primary_key=True)
    key: Mapped[str]
    bytes: Mapped[int]
    kind: Mapped[str]
    state: Mapped[str] = mapped_column(default="writing")
    touched_at: Mapped[datetime] = mapped_column(index=True)
    """Time of the last write; an unreferenced object is deleted 24 h later."""
