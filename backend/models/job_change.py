"""Changes requested while a job runs; append-only."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created


class JobChange(Created, Base):
    __tablename__ = "job_change"

    id: Mapped[str] = mapped_column(primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("job.id", ondelete="CASCADE"), index=True)
    change: Mapped[dict[str, Any]]
    created_by: Mapped[str | None]
    applied_at: Mapped[datetime | None]
    applied_step: Mapped[int | None]
