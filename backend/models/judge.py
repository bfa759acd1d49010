"""Judges: chat-completions servers that graders call."""

from datetime import datetime

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from backend.models.base import Base, Created, now


class JudgeRow(Created, Base):
    __tablename__ = "judge"
    __table_args__ = (UniqueConstraint("project_id", "name", name="uq_judge_project_id_name"),)

    id: Mapped[str] = mapped_column(primary_key=True)
    project_id: Mapped[str] = mapped_column(ForeignKey("project.id"))
    name: Mapped[str]
    base_url: Mapped[str]
    model: Mapped[str]
    input_price: Mapped[float]
    output_price: Mapped[float]
    structured: Mapped[str]
    concurrency: Mapped[int]
    timeout_seconds: Mapped[float]
    retries: Mapped[int]
    key_sealed: Mapped[str | None]
    created_by: Mapped[str | None]
    updated_at: Mapped[datetime] = mapped_column(default=now)
